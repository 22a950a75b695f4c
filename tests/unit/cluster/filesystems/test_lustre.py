"""The Lustre driver on hosts that keep what commands leave on them: order, half-made clusters, dead servers, devices, LNet.

No Lustre runs here; what its programs print is taken from its source (lustre_hosts.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lustre_clusters import DEVICES, OWN_MGS, ZFS, Hosts, site, spec, with_devices
from lustre_hosts import STORAGE, LustreHost, World

from wavetank.cluster import deploy, registry
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.lustre import clients, lnet, tenant
from wavetank.cluster.filesystems.lustre.driver import Lustre
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = with_devices(World(["c1", "c2", "io1", "io2", "h1"]))
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(registry, "provider", lambda _: Hosts(world))
    return world


def ran(world: World, program: str) -> list[tuple[str, list[str]]]:
    return [(host, argv) for host, argv in world.ran if argv[0] == program]


def test_what_serves_starts_before_what_uses_it_and_stops_after(world: World) -> None:
    deploy.bring_up(spec(OWN_MGS, nodes={"compute": 2, "io": 2, "head": 1}, file_system={"metadata_placement": "head"}))  # fmt: skip
    order = [(host, argv[-1].removeprefix(f"{STORAGE}/lustre/").removesuffix("/mnt")) for host, argv in ran(world, "mount")]  # fmt: skip
    assert order[:2] == [("h1", "MGS"), ("h1", "MDT0000")]
    assert sorted(order[2:4]) == [("io1", "OST0000"), ("io2", "OST0001")]
    assert sorted(order[4:]) == [("c1", "/wavetank"), ("c2", "/wavetank")]
    deploy.take_down("lab")
    order = [(host, argv[-1].removeprefix(f"{STORAGE}/lustre/").removesuffix("/mnt")) for host, argv in ran(world, "umount")]  # fmt: skip
    assert sorted(order[:2]) == [("c1", "/wavetank"), ("c2", "/wavetank")]
    assert order[2] == ("h1", "MDT0000")
    assert sorted(order[3:5]) == [("io1", "OST0000"), ("io2", "OST0001")]
    assert order[5:] == [("h1", "MGS")]
    assert world.residue() == {}


def test_targets_are_formatted_for_one_mgs_with_an_index_each(world: World) -> None:
    deploy.bring_up(spec({"osts_per_server": 2}, file_system={"metadata_servers": 2}))
    said = sorted((host, " ".join(argv[1:-1])) for host, argv in ran(world, "mkfs.lustre"))
    to_mgs = "--mgsnode=10.77.0.3@tcp --backfstype=ldiskfs"
    assert said == [
        ("io1", "--mdt --mgs --fsname=lab --index=0 --backfstype=ldiskfs"),
        ("io1", f"--ost --fsname=lab --index=0 {to_mgs}"),
        ("io1", f"--ost --fsname=lab --index=2 {to_mgs}"),
        ("io2", f"--mdt --fsname=lab --index=1 {to_mgs}"),
        ("io2", f"--ost --fsname=lab --index=1 {to_mgs}"),
        ("io2", f"--ost --fsname=lab --index=3 {to_mgs}"),
    ]
    # 8 GiB x 0.9, without an MDT of 1 GiB, in two: (7372.8 - 1024) MiB / 2 = 3174 MiB
    sizes = [int(argv[2]) / 2**20 for host, argv in ran(world, "truncate") if host == "io2"]
    assert sizes == [1024, 3174, 3174]


def fresh(asked: ClusterSpec) -> tuple[World, Site]:
    world = with_devices(World(asked.node_names()))
    return world, site(world, asked)


def up(here: Site) -> None:
    Lustre().install(here)
    Lustre().mount(here)


@pytest.mark.parametrize("options", [{}, {**OWN_MGS, **DEVICES}, ZFS], ids=str)
@pytest.mark.parametrize("late", [False, True])
def test_a_step_that_fails_on_the_way_up_leaves_nothing(
    options: dict[str, str], late: bool
) -> None:
    asked = spec({**options, "pools": "all:0-1", "osc.checksums": 0})
    whole, here = fresh(asked)
    up(here)
    borne = 0
    for step in range(1, len(whole.ran) + 1):
        world, here = fresh(asked)
        world.fails, world.late = step, late
        try:
            up(here)
            borne += 1
        except ClusterError:
            assert len(world.ran) >= step
        Lustre().remove(here)
        assert world.residue() == {}, world.ran[step - 1]
    assert borne == 0


@pytest.mark.parametrize("options", [OWN_MGS, {**ZFS, **DEVICES}], ids=str)
@pytest.mark.parametrize("late", [False, True])
def test_a_step_that_fails_on_the_way_down_leaves_nothing(
    options: dict[str, str], late: bool
) -> None:
    asked = spec(options)
    whole, here = fresh(asked)
    up(here)
    n_up = len(whole.ran)
    Lustre().remove(here)
    assert len(whole.ran) > n_up + 10
    for step in range(n_up + 1, len(whole.ran) + 1):
        world, here = fresh(asked)
        up(here)
        world.fails, world.late = step, late
        Lustre().remove(here)
        assert world.residue() == {}, world.ran[step - 1]


def test_a_cluster_that_does_not_come_up_is_removed(world: World) -> None:
    whole, here = fresh(spec())
    up(here)
    world.fails = max(i for i, (_, argv) in enumerate(whole.ran) if argv[0] == "mkfs.lustre") + 1
    with pytest.raises(ClusterError, match="it was to fail"):
        deploy.bring_up(spec())
    assert ran(world, "mkfs.lustre") != []
    assert world.residue() == {}


def test_with_a_dead_server_the_rest_goes_and_the_dead_one_is_named(world: World) -> None:
    here = site(world, spec())
    up(here)
    dead = world.hosts["io2"]
    dead.answers = False
    for name in ("c1", "c2"):
        world.hosts[name].hangs_unforced = True
    with pytest.raises(FileSystemError, match="io2") as said:
        Lustre().remove(here)
    assert "io1" not in str(said.value)
    assert "c1" not in str(said.value)
    assert set(world.residue()) == {"io2"}
    assert ["umount", "-f", "--", "/wavetank"] in [argv for _, argv in ran(world, "umount")]
    # nothing waited without a limit
    assert max(max(host.limits) for host in world.hosts.values() if host.limits) <= 900
    dead.answers = True
    Lustre().remove(here)
    assert world.residue() == {}


def test_a_target_that_does_not_stop_keeps_what_it_is_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    here = site(world, spec())
    Lustre().install(here)
    stuck = world.hosts["io2"]
    monkeypatch.setattr(stuck, "_umount", lambda _: None)  # as if it came back each time
    with pytest.raises(
        FileSystemError, match=r"OST0001 does not stop on io2.*OST0001 still runs on io2"
    ):
        Lustre().remove(here)
    assert set(world.residue()) == {"io2"}
    assert "loop /dev/loop0" in stuck.residue()
    assert f"file {STORAGE}/lustre/OST0001/image" in stuck.residue()


def test_a_device_that_holds_something_is_refused_before_anything_is_formatted(world: World) -> None:  # fmt: skip
    world.hosts["io2"].give(devices={"/dev/sdb": [], "/dev/sdc": ["0x438 ext4 precious 1a2b"], "/dev/sdd": []})  # fmt: skip
    with pytest.raises(FileSystemError, match=r"/dev/sdc of io2 is not empty: 0x438 ext4 precious"):
        deploy.bring_up(spec(DEVICES))
    assert ran(world, "mkfs.lustre") == []
    assert [argv for _, argv in ran(world, "wipefs")] == []
    assert world.residue() == {}


def test_what_is_no_block_device_is_refused(world: World) -> None:
    with pytest.raises(FileSystemError, match="/dev/sdz of io1 is no block device"):
        deploy.bring_up(spec({"ost_devices": "/dev/sdz"}))
    assert world.residue() == {}


def test_storage_behind_a_link_is_refused(world: World) -> None:
    world.hosts["io2"].links[STORAGE] = "/big/data"
    with pytest.raises(
        FileSystemError, match="of io2 is /big/data: name a directory without links"
    ):
        deploy.bring_up(spec())
    assert ran(world, "mkfs.lustre") == []
    assert world.residue() == {}


def test_devices_are_emptied_again(world: World) -> None:
    deploy.bring_up(spec(DEVICES))
    assert world.hosts["io2"].has_devices["/dev/sdc"] == ["0x438 ext4"]
    deploy.take_down("lab")
    assert world.residue() == {}
    assert sorted((host, argv[-1]) for host, argv in ran(world, "wipefs")) == [
        ("io1", "/dev/sdb"), ("io1", "/dev/sdc"), ("io1", "/dev/sdd"), ("io2", "/dev/sdb"), ("io2", "/dev/sdc"),
    ]  # fmt: skip


def test_a_lnet_that_is_up_is_used_and_stays(world: World) -> None:
    for host in world.hosts.values():
        host.give(nids=["192.0.2.9@o2ib", f"{host.address}@tcp"])
    deploy.bring_up(spec())
    deploy.take_down("lab")
    assert ran(world, "lnetctl") == ran(world, "lustre_rmmod") == []
    assert world.residue() == {}


def test_a_lnet_with_other_addresses_is_refused_and_left_alone(world: World) -> None:
    world.hosts["io1"].give(nids=["192.0.2.9@o2ib"])
    with pytest.raises(FileSystemError, match=r"LNet of io1 is up as 192.0.2.9@o2ib, and the cluster needs 10.77.0.3@tcp"):  # fmt: skip
        deploy.bring_up(spec())
    assert world.residue() == {}


def test_lnet_comes_up_on_the_clusters_network_before_lustre_chooses(world: World) -> None:
    deploy.bring_up(spec())
    assert world.hosts["c1"].nids == ["10.77.0.1@tcp"]
    of_c1 = [" ".join(argv) for host, argv in world.ran if host == "c1"]
    assert of_c1.index("lnetctl net add --net tcp --if eth1") < of_c1.index("modprobe lustre")


def test_lnet_goes_down_where_lustre_rmmod_leaves_it_up(world: World) -> None:
    world.old = True
    deploy.bring_up(spec())
    deploy.take_down("lab")
    assert world.residue() == {}


def test_an_address_is_found_on_its_interface() -> None:
    text = World(["c1"]).hosts["c1"]._ip(["-o", "addr", "show"])
    assert lnet.interface_of("10.77.0.1", text) == "eth1"
    assert lnet.interface_of("10.77.0.10", text) is None


@pytest.mark.parametrize(
    ("stripe", "options", "words"),
    [
        ({}, {}, ["-c", "1"]),  # whole files
        ({"kind": "sharded"}, {}, ["-c", "-1"]),
        ({"kind": "sharded", "count": 2, "size": "4 MiB"}, {}, ["-c", "2", "-S", "4194304"]),
        ({}, {"pools": "fast:1/slow:0", "pool": "fast"}, ["-c", "1", "-p", "fast"]),
    ],
)
def test_new_files_are_striped_as_the_specification_says(
    world: World, stripe: dict[str, Any], options: dict[str, str], words: list[str]
) -> None:
    deploy.bring_up(spec(options, file_system={"stripe": stripe}))
    assert ("c1", ["lfs", "setstripe", *words, "/wavetank"]) in world.ran
    if options:
        assert world.pools == {"lab.fast": ["lab-OST0001"], "lab.slow": ["lab-OST0000"]}


def test_with_1dfx1f_each_file_has_an_ost_of_its_own(world: World) -> None:
    cluster = deploy.bring_up(spec(layout="one-server-per-file"))
    places = cluster.place_files({"a": 10, "b": 10, "d/c": 10})
    assert places == {
        name: f"OST {ost} in blocks of 1048576 bytes" for name, ost in (("a", 0), ("b", 1), ("d/c", 0))
    }  # fmt: skip


def test_with_1dfx1f_files_are_on_osts_of_the_default_pool(world: World) -> None:
    options = {"osts_per_server": 2, "pools": "fast:1,3", "pool": "fast"}
    cluster = deploy.bring_up(spec(options, layout="one-server-per-file"))
    places = cluster.place_files({"a": 10, "b": 10, "c": 10})
    assert [where.split()[1] for where in places.values()] == ["1", "3", "1"]


def test_cold_caches_are_mounts_without_locks_and_parameters_are_set_again(world: World) -> None:
    cluster = deploy.bring_up(
        spec({"osc.max_rpcs_in_flight": 16, "osd-ldiskfs.read_cache_enable": 0})
    )
    world.ran.clear()
    assert (
        cluster.drop_caches()
        == "page caches; caches of OSTs are page caches; clients mounted again"
    )
    of_c2 = [" ".join(argv) for host, argv in world.ran if host == "c2"]
    assert of_c2[:3] == [
        "lctl set_param -n ldlm.namespaces.lab-*-mdc-*.lru_size=clear",
        "lctl set_param -n ldlm.namespaces.lab-*-osc-*.lru_size=clear",
        "umount -- /wavetank",
    ]
    assert of_c2[-1] == "lctl set_param osc.lab-OST*-osc-[^mM]*.max_rpcs_in_flight=16"
    settings = cluster.settings()
    assert settings["osc.lab-OST*-osc-[^mM]*.max_rpcs_in_flight"] == "16"
    assert settings["osd-ldiskfs.lab-OST*.read_cache_enable"] == "0"
    assert settings["targets of io1"] == "MDT0000, OST0000"
    assert settings["mount on c2"] == "10.77.0.3@tcp:/lab /wavetank lustre rw,flock 0 0"


def test_a_tenant_sees_its_directory_alone_and_servers_see_everything(world: World) -> None:
    cluster = deploy.bring_up(spec({**OWN_MGS, "tenant": "blue", "fileset": "/tenants/blue"}))
    done = [(host, " ".join(argv)) for host, argv in world.ran]
    of_maps = [(host, said) for host, said in done if said.startswith("lctl nodemap_")]
    whole = [
        f"lctl nodemap_modify --name {{}} --property {key} --value 1"
        for key in ("admin", "trusted")
    ]
    assert of_maps == [
        ("io1", said)
        for said in (
            "lctl nodemap_add wavetankservers", *(each.format("wavetankservers") for each in whole),
            "lctl nodemap_add_range --name wavetankservers --range 10.77.0.3@tcp",
            "lctl nodemap_add_range --name wavetankservers --range 10.77.0.4@tcp",
            "lctl nodemap_add blue", *(each.format("blue") for each in whole),
            "lctl nodemap_add_range --name blue --range 10.77.0.1@tcp",
            "lctl nodemap_add_range --name blue --range 10.77.0.2@tcp",
            "lctl nodemap_set_fileset --name blue --fileset /tenants/blue",
            "lctl nodemap_modify --name default --property deny_unknown --value 1",
            "lctl nodemap_activate 1",
        )
    ]  # fmt: skip
    # made by a client that still sees the whole, and sees it no more when the nodemaps are active
    made, gone = (
        done.index(("c1", "mkdir -p -- /wavetank/tenants/blue")),
        done.index(("c1", "umount -- /wavetank")),
    )
    assert made < gone < done.index(of_maps[0])
    mounted = [
        i for i, (host, said) in enumerate(done) if host == "c1" and said.startswith("mount ")
    ]
    assert mounted[0] < made and done.index(of_maps[-1]) < mounted[1]
    settings = cluster.settings()
    assert (settings["nodemaps are active"], settings["blue sees"]) == ("1", "/tenants/blue")
    deploy.take_down("lab")
    assert world.residue() == {}


def test_a_server_that_does_not_get_to_know_the_tenant_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant, "SYNC_TIMEOUT_S", 0.0)
    monkeypatch.setattr(LustreHost, "_lctl_nodemap_activate", lambda *_: None)
    with pytest.raises(ClusterError, match="does not know the nodemap blue"):
        deploy.bring_up(spec({"tenant": "blue"}))
    assert world.residue() == {}


def test_with_zfs_it_is_said_what_that_still_keeps(world: World) -> None:
    cluster = deploy.bring_up(spec(ZFS))
    assert "io1: ZFS keeps 3512976 bytes; io2: ZFS keeps" in cluster.drop_caches()


def test_health_names_what_is_gone(world: World) -> None:
    asked = spec()
    deploy.bring_up(asked)
    driver, here = Lustre(), site(world, asked)
    assert driver.health(here) == []
    world.hosts["c1"].states = {"OST0000": "IDLE", "OST0001": "DISCONN"}
    world.hosts["io1"].health = "NOT HEALTHY"
    del world.hosts["c2"].mounts["/wavetank"]
    assert driver.health(here) == [
        "io1: Lustre says NOT HEALTHY",
        "c1: OST0001 is DISCONN",
        "c2: /wavetank is not mounted",
    ]
    world.hosts["io2"].answers = False
    assert any("on io2" in said for said in driver.health(here))
    world.hosts["io2"].answers = True
    world.hosts["io2"].mounts.clear()
    assert "io2: OST0001 is not started" in driver.health(here)


def test_a_client_waits_until_all_targets_are_connected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = site(world, spec())
    Lustre().install(here)
    world.hosts["c1"].states = {"OST0001": "CONNECTING"}
    monkeypatch.setattr(clients, "MOUNT_TIMEOUT_S", 0.0)
    with pytest.raises(
        FileSystemError, match=r"not connected after 0 s: c1: OST0001 is CONNECTING"
    ):
        Lustre().mount(here)


def test_clusters_are_attached_to_by_what_hosts_say(world: World) -> None:
    """Another process has nothing but the specification."""
    asked = spec(DEVICES)
    deploy.bring_up(asked)
    found = deploy.find("lab")
    assert isinstance(found, DeployedCluster)
    assert found.health() == []
