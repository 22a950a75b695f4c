"""The OrangeFS driver without OrangeFS: its configuration file, its command lines, and what it reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fake_host import FakeHost
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.orangefs import config
from wavetank.cluster.filesystems.orangefs import driver as orangefs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError

# What pvfs2-viewdist 2.10.0 says of a file in two strips.
VIEWDIST = """dist_name = simple_stripe
dist_params:
strip_size:131072

Metadataserver: tcp://10.77.0.9:3334
Number of datafiles/servers = 2
Datafile 0 - tcp://10.77.0.4:3334, handle: 6148914691236517204 (5555555555555554.bstream)
Datafile 1 - tcp://10.77.0.3:3334, handle: 4611686018427387904 (4000000000000000.bstream)
"""


def spec(nodes: dict[str, int] | None = None, **file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate({
        "name": "lab", "instance": {"name": "x"}, "nodes": nodes or {"compute": 1, "io": 2, "head": 1},
        "file_system": {"kind": "orangefs", **file_system},
    })  # fmt: skip


def site(asked: ClusterSpec, answers: Mapping[str, str] | None = None) -> Site:
    def answer(host: FakeHost, argv: list[str]) -> str | None:
        name = Path(argv[0]).name
        return {"pvfs2-viewdist": None, **(answers or {})}.get(name, "")

    hosts = {
        name: FakeHost(name, f"10.77.0.{i + 1}", answer)
        for i, name in enumerate(asked.node_names())
    }
    pick = lambda names: tuple(hosts[name] for name in names)  # noqa: E731
    return Site(asked, pick(asked.server_names()), pick(asked.compute_names()), "/storage",
                pick(asked.metadata_names()))  # fmt: skip


def block(text: str, name: str) -> list[str]:
    return text.split(f"<{name}>\n")[1].split(f"</{name}>", maxsplit=1)[0].split("\n")


def lines_of(asked: ClusterSpec) -> list[str]:
    return [line.strip() for line in orangefs.configuration(site(asked)).splitlines()]


def test_every_server_is_named_with_a_range_of_handles_of_its_own() -> None:
    text = orangefs.configuration(site(spec(metadata_placement="head")))
    assert "Alias io1 tcp://10.77.0.2:3334" in text
    assert "Alias h1 tcp://10.77.0.4:3334" in text
    ranges = [
        (line.split()[1], *map(int, line.split()[2].split("-")))
        for part in ("MetaHandleRanges", "DataHandleRanges")
        for line in block(text, part)
        if "Range" in line
    ]
    assert [name for name, _, _ in ranges] == ["h1", "io1", "io2"]
    # one after the other, within what handles can be (3 to 2^63 - 3), with the root in the metadata's
    ends = [3, *(last + 1 for _, _, last in ranges)]
    assert all(first == end for (_, first, _), end in zip(ranges, ends, strict=False))
    assert ranges[-1][2] <= 2**63 - 3
    assert ranges[0][1] <= config.ROOT_HANDLE <= ranges[0][2]
    assert "TCPBindSpecific yes" in text


@pytest.mark.parametrize(
    ("stripe", "n_datafiles", "strip"),
    [
        ({}, 1, 65536),  # whole files, each on one server
        ({"kind": "sharded"}, 2, 65536),
        ({"kind": "sharded", "size": "1 MiB", "count": 1}, 1, 1048576),
    ],
)
def test_stripes_are_datafiles_and_strips(
    stripe: dict[str, Any], n_datafiles: int, strip: int
) -> None:
    lines = lines_of(spec(stripe=stripe))
    assert f"DefaultNumDFiles {n_datafiles}" in lines
    at = lines.index("Name simple_stripe")
    assert lines[at + 1 : at + 3] == ["Param strip_size", f"Value {strip}"]


def test_expert_options_reach_their_contexts() -> None:
    asked = spec(
        stripe={"kind": "sharded"},
        options={"TroveSyncData": True, "FlowBufferSizeBytes": 524288, "UnexpectedRequests": 20,
                 "TroveMethod": "directio", "distribution": "twod_stripe",
                 "distribution_params": "num_groups:2/strip_size:4096"},
    )  # fmt: skip
    assert orangefs.OrangeFS().check(asked) == []
    text = orangefs.configuration(site(asked))
    hints = [line.strip() for line in block(text, "StorageHints")]
    assert "TroveSyncData yes" in hints and "TroveMethod directio" in hints
    assert text.count("UnexpectedRequests") == 1 and "UnexpectedRequests 20" in text
    assert [line.strip() for line in block(text, "Distribution")][:5] == [
        "Name twod_stripe", "Param num_groups", "Value 2", "Param strip_size", "Value 4096",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file_system", "words"),
    [
        ({"options": {"TroveMetod": "x"}}, "has no such option"),
        ({"options": {"LogFile": "/etc/passwd"}}, "has no such option"),
        ({"options": {"TroveMethod": "x\n</Defaults>"}}, "write alt-aio or directio or dbpf or null-aio"),
        ({"options": {"UnexpectedRequests": "1\nLogFile /etc/passwd"}}, "write a whole number"),
        ({"options": {"UnexpectedRequests": True}}, "write a whole number"),
        ({"options": {"TroveSyncMeta": "maybe"}}, "write yes or no"),
        ({"options": {"PrecreateBatchSize": "0,x"}}, "write numbers like 0,1024"),
        ({"options": {"distribution": "mine"}}, "write simple_stripe or basic_dist"),
        ({"options": {"distribution_params": "strip_size=1"}}, "write e.g. strip_size:65536"),
        ({"options": {"distribution_params": "strip_size:4096"}, "stripe": {"kind": "sharded", "size": 4096}}, "give one"),
        ({"mount_options": {"umask": "0"}}, "has no such option"),
        ({"mount_options": {"client": "kernel"}}, "use fuse, or provider ssh"),
        ({"mount_options": {"max_read": "1,exec"}}, "write a whole number"),
    ],
)  # fmt: skip
def test_what_orangefs_does_not_have_is_refused(file_system: dict[str, Any], words: str) -> None:
    findings = orangefs.OrangeFS().check(spec(**file_system))
    assert len(findings) == 1 and words in findings[0]


def test_servers_make_their_storage_and_stay_in_the_foreground() -> None:
    where = site(spec(prefix="/opt/orangefs"))
    orangefs.OrangeFS().install(where)
    server = where.servers[1]
    assert isinstance(server, FakeHost)
    libraries = ["env", "LD_LIBRARY_PATH=/opt/orangefs/lib:/opt/orangefs/lib64"]
    program = [*libraries, "/opt/orangefs/sbin/pvfs2-server"]
    assert [*program, "-f", orangefs.CONFIGURATION, "-a", "io2"] in server.ran
    assert server.started == [
        [
            *program,
            "-d",
            "-p",
            "/run/wavetank-orangefs/server.pid",
            orangefs.CONFIGURATION,
            "-a",
            "io2",
        ]
    ]
    assert server.ran[-1] == [
        *libraries,
        "/opt/orangefs/bin/pvfs2-check-server", "-h", "10.77.0.3", "-f", "orangefs", "-n", "tcp", "-p", "3334",
    ]  # fmt: skip
    assert server.written[orangefs.CONFIGURATION] == orangefs.configuration(where)


def test_programs_on_the_path_keep_the_libraries_of_the_system() -> None:
    where = site(spec())
    orangefs.OrangeFS().install(where)
    server = where.servers[0]
    assert isinstance(server, FakeHost)
    assert server.started[0][0] == "pvfs2-server"


def test_clients_mount_through_fuse_from_the_metadata_server() -> None:
    where = site(
        spec(metadata_placement="head", mount_options={"noatime": True, "max_read": 65536})
    )
    orangefs.OrangeFS().mount(where)
    client = where.clients[0]
    assert isinstance(client, FakeHost)
    assert client.started[0][-5:] == [
        "pvfs2fuse", "/wavetank", "-f", "-o",
        "fs_spec=tcp://10.77.0.4:3334/orangefs,allow_other,noatime,max_read=65536",
    ]  # fmt: skip
    assert (
        client.written[orangefs.TAB]
        == "tcp://10.77.0.4:3334/orangefs /wavetank pvfs2 defaults,noauto 0 0\n"
    )


def test_the_kernels_client_is_mounted_where_it_is_asked_for() -> None:
    asked = spec(mount_options={"client": "kernel", "ro": True})
    where = site(asked)
    orangefs.OrangeFS().mount(where)
    client = where.clients[0]
    assert isinstance(client, FakeHost)
    assert client.started[0][-3:] == [
        "pvfs2-client-core",
        "-L",
        "/run/wavetank-orangefs/client.log",
    ]
    assert client.ran[-1] == [
        "mount", "-t", "pvfs2", "-o", "ro", "tcp://10.77.0.2:3334/orangefs", "/wavetank",
    ]  # fmt: skip
    needs = orangefs.OrangeFS().needs_of_clients(asked)
    assert "pvfs2-client-core" in needs.programs and "/dev/pvfs2-req" in needs.files


def test_a_layout_is_read_as_viewdist_says_it() -> None:
    layout = orangefs.file_layout(VIEWDIST)
    assert layout.servers == ("10.77.0.4", "10.77.0.3")
    assert str(layout) == "simple_stripe strip_size:131072, 2 datafiles on 10.77.0.4, 10.77.0.3"
    with pytest.raises(FileSystemError, match="says nothing of a layout"):
        orangefs.file_layout("Could not open /x\n")


def test_a_server_that_no_file_falls_on_is_said_and_the_tries_are_deleted() -> None:
    asked = spec().model_copy(update={"layout": "one-server-per-file"})
    where = site(asked, {"pvfs2-viewdist": VIEWDIST})  # always two servers
    with pytest.raises(FileSystemError, match="alone"):
        orangefs.OrangeFS().place_files(where, {"file": 1})
    client = where.clients[0]
    assert isinstance(client, FakeHost)
    made = [argv[1] for argv in client.ran if argv[0] == "touch"]
    assert len(made) == orangefs.PLACING_TRIES
    assert client.ran[-1] == ["rm", "-f", "--", *made]
