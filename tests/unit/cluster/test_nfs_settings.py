"""NFS: what is written into the server's configuration, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from wavetank.cluster.filesystems import nfs
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.host import Finished
from wavetank.cluster.spec import ClusterSpec


def spec(**file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "x"},
            "nodes": {"compute": 1, "io": 2},
            "file_system": {"kind": "nfs", "servers": 1, **file_system},
        }
    )


def wrong(**file_system: Any) -> str:
    return "\n".join(nfs._wrong_options(spec(**file_system)))


@pytest.fixture(autouse=True)
def fuse_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nfs, "has_kernel_client", lambda: False)


def test_the_server_listens_on_the_clusters_own_network_only() -> None:
    text = nfs.configuration(spec(), "10.77.0.3", "/storage/export")
    assert "Bind_addr = 10.77.0.3;" in text
    assert "Path = /storage/export;" in text


class Recorder:
    """A host that only notes what it is asked to run."""

    name, address = "io1", "10.77.0.3"

    def __init__(self) -> None:
        self.words: list[str] = []

    def run(self, argv: Sequence[str], **_: object) -> Finished:
        self.words += argv
        return Finished("", "", 0.0)

    def start(self, argv: Sequence[str], **_: object) -> None:
        self.words += argv


def test_a_servers_own_configuration_is_left_alone() -> None:
    # it may be a real host of somebody's, by provider ssh or null
    server = Recorder()
    nfs.NFS().install(Site(spec(), (server,), (), "/storage"))  # type: ignore[arg-type]
    assert "ganesha.nfsd" in server.words
    assert not [word for word in server.words if "/etc" in word]


def test_expert_options_reach_their_blocks() -> None:
    text = nfs.configuration(spec(options={"threads": 8, "write_size": 65536}), "a", "/e")
    core, _, rest = text.partition("MDCACHE")
    assert "Nb_Worker = 8;" in core
    assert "MaxWrite = 65536;" in rest
    assert text.count("MaxWrite") == 1


def test_an_option_that_nobody_reads_is_refused_with_those_that_there_are() -> None:
    said = wrong(options={"thread": 8}, mount_options={"rsise": 4096})
    assert (
        "file_system.options.thread: nfs has no such option here; it has attr_expiration_s" in said
    )
    assert "file_system.mount_options.rsise" in said


@pytest.mark.parametrize("value", ["8; } EXPORT { Path = /;", "a b", "1,exec", ""])
def test_a_value_cannot_write_configuration_of_its_own(value: str) -> None:
    assert "is no number or word" in wrong(options={"threads": value})
    assert "is no number or word" in wrong(mount_options={"rsize": value})


def test_what_nfs_cannot_do_is_refused() -> None:
    assert "has one data server, not 2" in wrong(servers=2)
    assert "cannot stripe" in wrong(stripe={"kind": "sharded", "size": 65536})
