"""A file system on instances: fresh hosts get what its driver names, and the driver of hosts over ssh serves and mounts it there."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

import yaml
from aws_account import Emulator, create, of, spec_of
from recorded_hosts import Recorder

from wavetank import native
from wavetank.cluster import deploy
from wavetank.cluster.clouds.disks import BIND
from wavetank.cluster.components import Storage
from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.orangefs.driver import INSTALL
from wavetank.cluster.host import Finished
from wavetank.cluster.remote import launch, launching
from wavetank.cluster.remote.launching import BUILD
from wavetank.cluster.state import directory_of
from wavetank.errors import ClusterError, RemoteCommandError, SpecError
from wavetank.job import SCRATCH
from wavetank.measure.conditions import origin_of

KERNEL = {"kind": "nfs", "options": {"server": "kernel"}}


def first_start(aws: Emulator) -> list[dict[str, Any]]:
    """What the instances of each call do at their first start."""
    return [
        yaml.safe_load(base64.b64decode(each["UserData"]))
        for each in of(aws.made(), "RunInstances")
    ]


@pytest.mark.parametrize("image", ["debian-12", "ubuntu-24.04", "amazon-linux-2023"])
def test_nfs_by_the_kernel_comes_up_on_instances_by_the_driver_of_hosts(
    aws: Emulator, recorders: dict[str, Recorder], image: str
) -> None:
    cluster = deploy.bring_up(spec_of(file_system=KERNEL, cloud={"image": image}))
    clients, server = first_start(aws)
    has_apt = image != "amazon-linux-2023"
    assert ("nfs-common" if has_apt else "nfs-utils") in clients["packages"]
    assert ("nfs-kernel-server" if has_apt else "nfs-utils") in server["packages"]
    assert "modprobe -- nfsd" in server["runcmd"][-1][2]
    assert "modprobe" not in clients["runcmd"][-1][2]
    assert ("policy-rc.d" in str(server["bootcmd"])) is has_apt
    io1 = recorders["io1"]
    (export,) = io1.ran("exportfs")
    assert [share.partition(":")[0] for share in export[3:]] == [
        recorders[node].address for node in ("c1", "c2")
    ]
    assert io1.ran("rpc.nfsd")
    for node in ("c1", "c2"):
        (mount,) = recorders[node].ran("mount")
        assert mount[:3] == ["mount", "-t", "nfs"]
        assert mount[-2].startswith(f"{io1.address}:")
        assert mount[-1] == cluster.mount_path
    deploy.take_down("lab")
    assert aws.left() == []


def test_nfs_by_ganesha_comes_up_too(aws: Emulator, recorders: dict[str, Recorder]) -> None:
    deploy.bring_up(spec_of(file_system={"kind": "nfs"}))
    _, server = first_start(aws)
    assert {"nfs-ganesha", "nfs-ganesha-vfs", "rpcbind"} <= set(server["packages"])
    assert recorders["io1"].ran("ganesha.nfsd")
    assert recorders["c1"].ran("mount") and recorders["c2"].ran("mount")
    deploy.take_down("lab")
    assert aws.left() == []


def test_each_device_with_a_server_of_its_own_is_where_drivers_look_for_it(
    aws: Emulator, recorders: dict[str, Recorder]
) -> None:
    create(spec_of(storage={"size": "20 GiB", "devices": 2}))
    volumes = [
        sorted(size for key, size in each.items() if key.endswith("VolumeSize"))
        for each in of(aws.made(), "RunInstances")
    ]
    assert volumes == [["30"], ["20", "20", "30"]]
    _, server = first_start(aws)
    assert "mdadm" not in server["runcmd"][-1][2]
    bound = {
        node: [argv for argv in host.commands if BIND in argv] for node, host in recorders.items()
    }
    # as the file systems' drivers name the second device of a node
    data = "/storage/wavetank/home/data"
    assert bound == {
        "c1": [],
        "c2": [],
        "io1": [["sh", "-ec", BIND, "sh", "/storage2", device_paths(Storage(devices=2), data)[1]]],
    }
    deploy.take_down("lab")
    assert aws.left() == []


def test_compute_nodes_get_a_way_to_each_other_and_the_replay_program(
    aws: Emulator, recorders: dict[str, Recorder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replay = tmp_path / "native" / launching.REPLAY
    replay.parent.mkdir(parents=True)
    replay.write_bytes(b"the replay program")
    monkeypatch.setenv("WAVETANK_NATIVE_DIR", str(tmp_path / "native"))
    cluster = deploy.bring_up(spec_of(file_system=KERNEL, cloud={"bastion": "me@gate"}))
    c1, c2, io1 = (recorders[node] for node in ("c1", "c2", "io1"))
    folder = f"{c1.home}/launch"
    for host in (c1, c2):
        assert b"the replay program" in host.files.values()
        assert ["chmod", "600", "--", f"{folder}/key"] in host.commands
        (tried,) = [argv for argv in host.commands if "mpirun -np 1" in " ".join(argv)]
        assert [
            "mv",
            "--",
            *([path for path in host.files if tried[-1] in path]),
            tried[-1],
        ] in host.commands
    assert io1.files == {}  # of the launcher's: it starts no ranks
    config = c1.files[f"{folder}/ssh_config"].decode()
    for host in (c1, c2, io1):
        assert f"HostName {host.address}" in config  # by the bastion these are the private ones
    assert "ProxyJump" not in config
    assert f"IdentityFile {folder}/key" in config and str(tmp_path) not in config
    known = c1.files[f"{folder}/known-hosts"].decode()
    assert all(f"{host.address} ssh-ed25519 " in known for host in (c1, c2, io1))
    assert cluster.remote_shell == (f"{folder}/remote-shell",)
    prefix = cluster.launcher_prefix
    assert prefix[1:] == ("-m", launch.__name__, str(directory_of("lab").path), SCRATCH)
    assert cluster.limits()["limits"].endswith("; ranks are started by mpirun on c1")
    assert origin_of(cluster.limits()) == "measured"
    deploy.take_down("lab")
    assert aws.left() == []


def test_a_replay_program_that_neither_runs_nor_builds_there_is_said_and_nothing_stays(
    aws: Emulator, recorders: dict[str, Recorder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replay = tmp_path / launching.REPLAY
    replay.parent.mkdir(parents=True)
    replay.write_bytes(b"of a newer distribution")
    monkeypatch.setenv("WAVETANK_NATIVE_DIR", str(tmp_path))
    said = "libc.so.6: version `GLIBC_2.38' not found"

    def run(self: Recorder, argv: Sequence[str], **_: object) -> Finished:
        if "mpirun -np 1" in " ".join(argv):
            raise RemoteCommandError(self.name, argv, 1, said)
        if BUILD in argv:
            raise RemoteCommandError(self.name, argv, 1, "replay.c:1: error: no mpi.h")
        return Finished("", "", 0.0)

    monkeypatch.setattr(Recorder, "run", run)
    with pytest.raises(ClusterError, match=r"does not run on c1: .*GLIBC_2\.38") as raised:
        deploy.bring_up(spec_of(file_system=KERNEL))
    assert "do not build on c1: replay.c:1: error: no mpi.h" in str(raised.value)
    assert "cloud.image" in str(raised.value)
    assert any(path.endswith("/sources.tar.gz") for path in recorders["c1"].files)
    assert not any(path.endswith("/sources.tar.gz") for path in recorders["c2"].files)
    assert aws.left() == []


def test_without_a_replay_program_here_the_file_system_comes_up_and_the_lack_is_told(
    aws: Emulator,
    recorders: dict[str, Recorder],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(native, "available", lambda name: False)
    deploy.bring_up(spec_of(file_system=KERNEL))
    assert "nothing can be measured" in caplog.text
    deploy.take_down("lab")
    assert aws.left() == []


def test_a_file_system_that_does_not_come_up_takes_the_instances_with_it(
    aws: Emulator, recorders: dict[str, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: Recorder, argv: Sequence[str], **_: object) -> Finished:
        if argv[0] == "rpc.nfsd":
            raise RemoteCommandError(self.name, argv, 1, "rpc.nfsd: unable to set any sockets")
        return Finished("", "", 0.0)

    monkeypatch.setattr(Recorder, "run", run)
    with pytest.raises(ClusterError, match="unable to set any sockets"):
        deploy.bring_up(spec_of(file_system=KERNEL))
    assert aws.left() == []
    assert not directory_of("lab").path.exists()


def test_a_package_of_orangefs_is_installed_on_every_instance_before_its_servers_start(
    aws: Emulator, recorders: dict[str, Recorder], tmp_path: Path
) -> None:
    package = tmp_path / "orangefs.deb"
    asked = {"kind": "orangefs", "package": str(package)}
    with pytest.raises(SpecError, match=r"orangefs\.deb is no file of this machine"):
        deploy.bring_up(spec_of(file_system=asked))
    assert aws.made() == []
    package.write_bytes(b"a package")
    deploy.bring_up(spec_of(file_system=asked))
    for host in recorders.values():
        there = "/run/wavetank-orangefs/orangefs.deb"
        assert host.files[there] == b"a package"
        (installed,) = [argv for argv in host.commands if INSTALL in argv]
        assert installed[4] == there
        ours = [argv for argv in host.commands if "pvfs2" in " ".join(argv[:1] + argv[5:])]
        assert ours and host.commands.index(installed) < host.commands.index(ours[0])
    deploy.take_down("lab")
    assert aws.left() == []
