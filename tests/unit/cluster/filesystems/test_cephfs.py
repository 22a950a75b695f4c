"""CephFS without a cluster: options, ceph.conf, and where bytes of a file go."""

from __future__ import annotations

import configparser
from typing import Any

import pytest

from fake_host import FakeHost
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.cephfs import clients, options
from wavetank.cluster.filesystems.cephfs.driver import CephFS
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError

KIB, MIB = 2**10, 2**20


def spec(memory: str = "1 GiB", storage: str = "1 GiB", **file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "t",
            "instance": {"name": "t.small", "memory": memory},
            "nodes": {"compute": 1, "io": 2},
            "storage": {"size": storage},
            "file_system": {"kind": "cephfs", **file_system},
        }
    )


def conf(of: ClusterSpec) -> configparser.ConfigParser:
    text = options.configuration(of, "io1", "10.0.0.2", "f-s-i-d", "10.0.0.1", 400 * MIB, "/storage/ceph")  # fmt: skip
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


def wrong(**more: Any) -> str:
    return "\n".join(CephFS().check(spec(**more)))


# --- layouts


@pytest.mark.parametrize(
    ("layout", "size", "held"),
    [
        # Without striping objects are filled one after another.
        (options.Layout(4 * MIB, 1, 4 * MIB), 10 * MIB, [4 * MIB, 4 * MIB, 2 * MIB]),
        # Units of 64 KiB in turn to two objects of 128 KiB: a set is 256 KiB; 5.5 units are 0+2, 1+3, then 4 and the half.
        (options.Layout(64 * KIB, 2, 128 * KIB), 352 * KIB, [128 * KIB, 128 * KIB, 64 * KIB, 32 * KIB]),
        # 2.5 units over three objects: one each for the first two, the half for the third.
        (options.Layout(64 * KIB, 3, 64 * KIB), 160 * KIB, [64 * KIB, 64 * KIB, 32 * KIB]),
        (options.Layout(), 0, []),
    ],
)  # fmt: skip
def test_bytes_of_each_object_follow_from_the_layout(
    layout: options.Layout, size: int, held: list[int]
) -> None:
    assert layout.object_bytes(size) == held
    assert sum(held) == size


def test_a_stripe_of_the_specification_is_the_size_of_objects() -> None:
    asked = spec(stripe={"kind": "sharded", "size": "1 MiB"}, options={"layout": "stripe_count=2"})
    assert options.default_layout(asked) == options.Layout(MIB, 2, MIB)


def test_directories_and_files_have_layouts_of_their_own() -> None:
    asked = spec(options={"layout:in/": "stripe_unit=64KiB object_size=1MiB", "layout:in/a.fq": "stripe_count=3"})  # fmt: skip
    assert CephFS().check(asked) == []
    assert options.layouts(asked) == {
        "in/": options.Layout(64 * KIB, 1, MIB),
        "in/a.fq": options.Layout(4 * MIB, 3, 4 * MIB),
    }


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("stripe_unit=100KiB", "no multiple of 64 KiB"),
        ("stripe_unit=128KiB object_size=192KiB", "no multiple of stripe_unit"),
        ("object_size=1GiB", "more than"),
        ("stripe_count=0", "not between 1 and 4096"),
        ("pool=secret", "write e.g."),
        ("stripe_count=2 stripe_count=3", "write e.g."),
    ],
)
def test_a_layout_that_ceph_would_refuse_is_found_before_anything_starts(
    text: str, finding: str
) -> None:
    assert finding in wrong(options={"layout": text})


@pytest.mark.parametrize("name", ["layout:/etc/", "layout:a/../b", "layouts", "layout:"])
def test_a_layout_of_a_place_outside_the_mount_is_refused(name: str) -> None:
    assert f"file_system.options.{name}" in wrong(options={name: "stripe_count=2"})


# --- options


def test_an_experts_options_reach_their_sections() -> None:
    options_ = {"osd.osd_max_write_size": 80, "mds.mds_log_max_segments": 16}
    parser = conf(spec(options=options_, mount_options={"client_oc_size": 1000}))
    assert parser["osd"]["osd_max_write_size"] == "80"
    assert parser["mds"]["mds_log_max_segments"] == "16"
    assert parser["client"]["client_oc_size"] == "1000"


def test_daemons_are_told_the_clusters_own_addresses_and_ask_for_no_keys() -> None:
    parser = conf(spec())
    assert parser["global"]["public_addr"] == "10.0.0.2"
    assert parser["global"]["mon_host"] == "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"
    assert {value for key, value in parser["global"].items() if key.startswith("auth_")} == {"none"}


def test_caches_are_an_eighth_of_a_nodes_memory() -> None:
    parser = conf(spec(memory="512 MiB", options={"osds_per_server": 2}))
    assert parser["client"]["client_oc_size"] == str(64 * MIB)
    assert parser["osd"]["bluestore_cache_size"] == str(32 * MIB)  # of each of two


def test_a_store_is_full_while_the_rest_holds_what_arrives_until_it_looks_again() -> None:
    def ratio(storage: str, **limits: str) -> float:
        body = spec(storage=storage).model_dump(exclude_unset=True)
        body["instance"] = {"name": "t.small", "memory": "1 GiB", **limits}
        return options.full_ratio(ClusterSpec.model_validate(body))

    # 1.5 s at 100 MB/s are 150 MB: 30 % of 500 MB; of 10 GB next to nothing; the slower of disk and network counts.
    assert ratio("1 GiB") == 0.85
    assert ratio("550 MB", disk_write="110 MB/s") == pytest.approx(0.7)
    assert ratio("550 MB", disk_write="1 GB/s", network="880 Mbit/s") == pytest.approx(0.7)
    assert ratio("10 GB", disk_write="100 MB/s") == 0.85
    assert ratio("550 MB", network="8 Gbit/s") == 0.6


@pytest.mark.parametrize(
    "name",
    ["osd.osd_data", "global.run_dir", "mon.mon_host", "global.auth_cluster_required", "osd.osd_class_dir",
     "global.crush_location_hook", "global.plugin_dir", "client.keyring", "mon.mgr_initial_modules_file"],
)  # fmt: skip
def test_options_that_name_files_programs_or_addresses_are_refused(name: str) -> None:
    assert "names a file, a program, a user or an address" in wrong(options={name: "x"})


@pytest.mark.parametrize("value", ["1\n[osd]\nx = 1", "/etc/passwd", "$(reboot)", "a;b", "#", ""])
def test_a_value_cannot_write_configuration_of_its_own(value: str) -> None:
    assert "is not possible: write letters" in wrong(options={"osd.osd_max_write_size": value})
    assert "is not possible: write letters" in wrong(mount_options={"client_oc_size": value})


@pytest.mark.parametrize(
    ("more", "finding"),
    [
        ({"options": {"objectstore": "filestore"}}, "bluestore or memstore"),
        ({"options": {"osds_per_server": 0}}, "1 to 8"),
        ({"options": {"osds_per_server": True}}, "1 to 8"),
        ({"options": {"pg_num": "many"}}, "1 to 256"),
        ({"options": {"threads": 8}}, "has no such option here; it has client, objectstore"),
        ({"mount_options": {"ro": True}}, "ceph-fuse has no such option"),
        ({"mount_options": {"client_mount_gid_path": "x"}}, "names a file"),
        ({"storage": "512 MiB", "options": {"osds_per_server": 2}}, "too small for bluestore"),
        ({"memory": "128 MiB"}, "memory of c1 is too small"),
    ],
)
def test_what_cephfs_cannot_do_is_said_before_anything_starts(
    more: dict[str, Any], finding: str
) -> None:
    assert finding in wrong(**more)


def in_guests(**more: Any) -> ClusterSpec:
    body = spec(**more).model_dump(exclude_unset=True)
    return ClusterSpec.model_validate({**body, "provider": "vm", "access": "client"})


@pytest.mark.parametrize(
    ("file_system", "client", "words"),
    [
        ({}, None, []),
        ({"options": {"client": "fuse"}}, "fuse", []),
        ({"mount_options": {"client_oc_size": 1000}}, "fuse", []),
        ({"mount_options": {"rsize": 65536, "wsync": True, "nocrc": False}}, "kernel", ["rsize=65536", "wsync"]),
        ({"options": {"client": "kernel"}}, "kernel", []),
    ],
)  # fmt: skip
def test_guests_have_the_kernels_client_unless_ceph_fuse_is_asked_for(
    file_system: dict[str, Any], client: str | None, words: list[str]
) -> None:
    asked = in_guests(**file_system)
    assert CephFS().check(asked) == []
    assert options.client_of(asked) == client
    assert options.kernel_mount_words(asked) == words
    in_conf = [name for name in conf(asked)["client"] if name in ("rsize", "wsync", "nocrc")]
    assert in_conf == []
    assert ("ceph-fuse" in CephFS().needs_of_clients(asked).programs) == (client != "kernel")


@pytest.mark.parametrize(
    ("options_", "mount_options", "finding"),
    [
        ({"client": "best"}, {}, "client: 'best' is not possible: write kernel or fuse"),
        ({"client": "kernel"}, {"client_oc_size": 1}, "the kernel's client of cephfs has no such option here; it has"),
        ({}, {"rsize": "1,secret=x"}, "rsize: '1,secret=x' is not possible: write a whole number"),
        ({}, {"rsize": True}, "rsize: True is not possible: write a whole number"),
        ({}, {"wsync": 1}, "wsync: 1 is not possible: write true or false"),
    ],
)  # fmt: skip
def test_options_of_the_kernels_client_are_checked_before_anything_starts(
    options_: dict[str, Any], mount_options: dict[str, Any], finding: str
) -> None:
    asked = in_guests(options=options_, mount_options=mount_options)
    assert finding in "\n".join(CephFS().check(asked))


def test_the_kernels_client_is_refused_where_nodes_share_this_machines_kernel() -> None:
    assert "client: kernel is for guests" in wrong(options={"client": "kernel"})
    assert "ceph-fuse has no such option" in wrong(mount_options={"rsize": 65536})


def guest_with(has_module: bool) -> FakeHost:
    """A guest whose kernel has the module ceph, or not."""

    def answer(host: FakeHost, argv: list[str]) -> str | None:
        if argv[-1] == clients.LOAD_CLIENT and not has_module:
            return None
        return "6.1.176\n" if argv[0] == "uname" else ""

    return FakeHost(answer=answer)


def test_a_guest_without_the_module_mounts_by_fuse_unless_the_kernel_is_asked_for() -> None:
    by_kernel = "mount -i -t ceph -o name=admin 10.0.0.1:6789:/ /at"
    for has_module, asked, ran in (
        (True, None, by_kernel), (False, None, "ceph-fuse"), (True, "fuse", "ceph-fuse"), (True, "kernel", by_kernel),
    ):  # fmt: skip
        guest = guest_with(has_module)
        of = in_guests(options={} if asked is None else {"client": asked})
        clients.mount(Site(of, (), (guest,), "/storage"), "10.0.0.1", "/at")
        *_, mounted, seen = guest.ran
        assert (" ".join(mounted) if mounted[0] == "mount" else mounted[0]) == ran and seen[
            0
        ] == "ls"
    asks = Site(in_guests(options={"client": "kernel"}), (), (guest_with(False),), "/storage")
    with pytest.raises(FileSystemError, match="on c1: its kernel has no module ceph"):
        clients.mount(asks, "10.0.0.1", "/at")


@pytest.mark.parametrize(
    ("mounted", "name", "has_socket"),
    [("/at ceph", "Linux 6.1.176", False), ("/at fuse.ceph-fuse", "ceph-fuse", True), ("", "none", False)],
)  # fmt: skip
def test_which_client_it_is_is_read_from_the_mount(
    mounted: str, name: str, has_socket: bool
) -> None:
    mounts = f"a {mounted} rw 0 0\n" if mounted else ""
    answers = {"cat": mounts, "uname": "6.1.176\n"}
    guest = FakeHost(answer=lambda host, argv: answers.get(argv[0], ""))
    assert clients.client_name(guest, "/at") == name
    assert clients.has_socket(guest, "/at") == has_socket


def test_an_object_store_in_memory_needs_no_disk() -> None:
    assert wrong(storage="320 MiB", options={"objectstore": "memstore"}) == ""
