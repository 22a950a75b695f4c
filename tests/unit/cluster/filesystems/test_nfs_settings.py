"""NFS: what is written into the server's configuration, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fake_host import FakeHost
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.nfs import driver as nfs
from wavetank.cluster.filesystems.nfs import kernel_server
from wavetank.cluster.filesystems.nfs_export import nfs_mount
from wavetank.cluster.filesystems.nfs_export.ganesha import (
    Client,
    Export,
    export_block,
    most_specific_first,
)
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
    monkeypatch.setattr(nfs_mount, "has_kernel_client", lambda: False)


def test_the_server_listens_on_the_clusters_own_network_only() -> None:
    text = nfs.configuration(spec(), "10.77.0.3", "/storage/export")
    assert "Bind_addr = 10.77.0.3;" in text
    assert "Path = /storage/export;" in text


def test_a_servers_own_configuration_is_left_alone() -> None:
    # it may be a real host of somebody's, by provider ssh or null
    def answer(host: FakeHost, argv: list[str]) -> str | None:
        return None if "100003" in argv and not host.started else ""

    server = FakeHost("io1", "10.77.0.3", answer)
    nfs.NFS().install(Site(spec(), (server,), (), "/storage"))  # type: ignore[arg-type]
    words = [word for argv in (*server.ran, *server.started) for word in argv]
    assert "ganesha.nfsd" in words
    assert not [word for word in words if "/etc" in word]


def test_expert_options_reach_their_blocks() -> None:
    text = nfs.configuration(spec(options={"threads": 8, "write_size": 65536}), "a", "/e")
    core, _, rest = text.partition("MDCACHE")
    assert "Nb_Worker = 8;" in core
    assert "MaxWrite = 65536;" in rest
    assert text.count("MaxWrite") == 1


def test_an_export_without_a_list_of_clients_is_for_all_and_one_with_a_list_for_those() -> None:
    text = nfs.configuration(spec(), "a", "/e")
    assert "Access_Type = RW;" in text
    assert "CLIENT" not in text
    text = nfs.configuration(spec(options={"clients": "10.0.0.7, 10.0.1.0/24"}), "a", "/e")
    of_export, *of_clients = text.split("CLIENT {")
    assert "Access_Type = NONE;" in of_export
    assert ["Clients = 10.0.0.7;" in each for each in of_clients] == [True, False]
    assert ["Clients = 10.0.1.0/24;" in each for each in of_clients] == [False, True]
    assert all("Access_Type = RW;" in each for each in of_clients)


def test_the_rule_of_an_address_comes_before_that_of_the_network_around_it() -> None:
    wide, narrow = Client("10.0.0.0/8"), Client("10.0.0.7", "RO")
    assert most_specific_first([wide, narrow]) == [narrow, wide]


def test_an_export_for_nobody_has_no_rights() -> None:
    text = export_block(Export("/e", {"Name": "VFS"}, clients=()), {})
    assert "Access_Type = NONE;" in text
    assert "RW" not in text


@pytest.mark.parametrize("value", ["*", "10.0.0.7; Access_Type = RW", "10.0.0.9/24", "", "c1"])
def test_clients_are_addresses_and_networks(value: Any) -> None:
    assert "is no address and no network" in wrong(options={"clients": value})
    assert wrong(options={"clients": "10.0.0.0/24,10.1.0.7"}) == ""
    of_kernel = wrong(options={"server": "kernel", "clients": "10.0.0.7"})
    assert "file_system.options.clients: nfs has no such option here" in of_kernel


def test_an_option_that_nobody_reads_is_refused_with_those_that_there_are() -> None:
    said = wrong(options={"thread": 8}, mount_options={"rsise": 4096})
    assert (
        "file_system.options.thread: nfs has no such option here; it has attr_expiration_s" in said
    )
    assert "file_system.mount_options.rsise" in said


@pytest.mark.parametrize("value", ["none; } EXPORT { Path = /;", "a b", "a,b", "", True])
def test_a_word_cannot_write_configuration_of_its_own(value: Any) -> None:
    assert "is not possible: write letters" in wrong(options={"squash": value})


# --- the kernel's server and client, where there are: what they are asked, and what they answer


def over_ssh(**file_system: Any) -> ClusterSpec:
    body = spec().model_dump(mode="json", exclude_unset=True)
    ssh = {
        "hosts": {"c1": "a", "io1": "b", "io2": "c"},
        "user": "u",
        "identity_file": "/k",
        "known_hosts": "/h",
    }
    return ClusterSpec.model_validate(
        {**body, "provider": "ssh", "ssh": ssh, "file_system": {"kind": "nfs", "servers": 1, **file_system}}
    )  # fmt: skip


def test_the_kernels_server_is_for_nodes_with_kernels_of_their_own() -> None:
    assert "a kernel of their own" in wrong(options={"server": "kernel"})
    assert list(nfs._wrong_options(over_ssh(options={"server": "kernel", "sync": False}))) == []
    assert "write ganesha or kernel" in wrong(options={"server": "other"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "rw,sync,no_root_squash,no_subtree_check,insecure"),
        ({"sync": False}, "rw,async,no_root_squash,no_subtree_check,insecure"),
        ({"squash": "root"}, "rw,sync,root_squash,no_subtree_check,insecure"),
    ],
)
def test_an_export_is_synchronous_unless_asked_otherwise(
    options: dict[str, Any], words: str
) -> None:
    argv = kernel_server.export_argv(["10.0.0.1", "10.0.0.2"], "/d/export", options, "3")
    assert argv == ["exportfs", "-o", words, "10.0.0.1:/d/export", "10.0.0.2:/d/export"]


def test_the_kernels_threads_are_those_asked_for_on_the_clusters_network() -> None:
    argv = kernel_server.server_argv("10.0.0.3", {"threads": 32}, "3")
    assert argv[-1] == "32"
    assert argv[argv.index("-H") + 1] == "10.0.0.3"
    assert kernel_server.server_argv("10.0.0.3", {}, "3")[-1] == "8"


def test_the_kernel_serves_the_one_version_that_is_asked_for_over_tcp() -> None:
    for version, other in (("3", "4"), ("4.1", "3")):
        argv = kernel_server.server_argv("10.0.0.3", {}, version)
        assert argv[argv.index("-N") + 1] == other
        assert argv.count("-N") == 1
        assert "-T" not in argv  # it means: no TCP
    assert "fsid=0" in kernel_server.export_argv(["10.0.0.1"], "/d", {}, "4.1")[2]
    assert kernel_server.mounted_path("/d", "4.1") == "/"
    assert kernel_server.mounted_path("/d", "3") == "/d"


def in_guests(**file_system: Any) -> ClusterSpec:
    body = spec().model_dump(mode="json", exclude_unset=True)
    return ClusterSpec.model_validate(
        {**body, "provider": "vm", "file_system": {"kind": "nfs", "servers": 1, **file_system}}
    )


def test_guests_have_the_kernels_server_and_version_4_unless_asked_otherwise() -> None:
    assert nfs.version_of(in_guests()) == "4.1"
    assert nfs.version_of(in_guests(options={"version": 3})) == "3"
    assert nfs.version_of(in_guests(options={"server": "ganesha"})) == "3"
    assert nfs.version_of(over_ssh(options={"server": "kernel"})) == "3"
    assert nfs.version_of(over_ssh(options={"server": "kernel", "version": 4.2})) == "4.2"
    assert list(nfs._wrong_options(in_guests(options={"version": 4.2}))) == []
    assert "rpc.nfsd" in nfs.NFS().needs_of_servers(in_guests()).programs
    assert "ganesha.nfsd" in nfs.NFS().needs_of_servers(in_guests(options={"server": "ganesha"})).programs  # fmt: skip
    assert "mount.nfs" in nfs.NFS().needs_of_clients(in_guests()).programs


def test_exports_in_force_are_read_from_what_exportfs_prints() -> None:
    text = (
        "/data/export  10.0.0.1(sync,wdelay,hide,no_subtree_check,sec=sys,rw,insecure,no_root_squash)\n"
        "/home  *(ro,async)\n"
    )
    assert kernel_server.exports(text, "/data/export") == {
        "10.0.0.1": "sync,wdelay,hide,no_subtree_check,sec=sys,rw,insecure,no_root_squash"
    }


def test_the_kernels_mount_has_the_sizes_asked_for() -> None:
    argv = nfs_mount.kernel_argv("10.0.0.3:/e", "/wavetank", {"rsize": 65536, "wsize": 32768, "sync": True, "noac": False})  # fmt: skip
    options = argv[argv.index("-o") + 1].split(",")
    assert {"vers=3", "rsize=65536", "wsize=32768", "sync"} <= set(options)
    assert "noac" not in options
    of_4 = nfs_mount.kernel_argv("10.0.0.3:/", "/wavetank", {}, "4.1")
    assert of_4[of_4.index("-o") + 1] == "vers=4.1,proto=tcp,port=2049"
    assert argv[-2:] == ["10.0.0.3:/e", "/wavetank"]
