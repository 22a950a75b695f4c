"""Guests of User-mode Linux: how they boot, what they say when they do not, and that nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from guest_clusters import body, with_each
from killed_commands import KILLED
from leftovers import Traces, up

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.capacity import volume_bytes
from wavetank.cluster.guests import uml
from wavetank.cluster.guests.qemu import the_kernel
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError
from wavetank.measure.guests import are_calls_comparable, memory_bytes

pytestmark = [pytest.mark.cluster]

ONE_GUEST = {
    "provider": "vm",
    "hypervisor": "uml",
    "instance": {"name": "t.small", "vcpus": 1, "memory": "192 MiB"},
    "nodes": {"compute": 1},
    "file_system": {"kind": "none"},
    "storage": {"size": "320 MiB"},
}

KEPT_IN = {"nfs": "/storage/export", "glusterfs": "/storage/brick"}
"""Where a server has whole files."""


@pytest.fixture
def spec(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ClusterSpec:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    body = getattr(request, "param", ONE_GUEST)
    spec = ClusterSpec.model_validate({"name": f"t{os.getpid()}-guest", **body})
    findings = deploy.check(spec)
    if findings:
        pytest.skip("; ".join(findings))
    return spec


@pytest.mark.parametrize("spec", with_each("virtual"), indirect=True)
def test_servers_are_guests_with_kernels_of_their_own(spec: ClusterSpec, tmp_path: Path) -> None:
    with up(tmp_path, spec) as cluster:
        here = os.uname().release
        for guest in (*cluster.compute_hosts, *cluster.io_hosts):
            assert guest.run(["uname", "-r"]).stdout.strip() != here
        (guest,), at = cluster.compute_hosts, cluster.mount_path
        assert "io1" in cluster.place_files({"in": 1_000_001})["in"]
        before = guest.run(["sha256sum", f"{at}/in"]).stdout
        assert "left" in cluster.drop_caches()
        assert guest.run(["sha256sum", f"{at}/in"]).stdout == before
        assert cluster.health() == []
        guest.run(["umount", at])
        assert any("not mounted" in finding for finding in cluster.health())


@pytest.mark.parametrize("spec", with_each("client"), indirect=True)
def test_a_guest_has_a_kernel_memory_and_disk_of_its_own_and_its_end_is_said(
    spec: ClusterSpec, tmp_path: Path
) -> None:
    with up(tmp_path, spec) as cluster:
        (guest,) = cluster.compute_hosts
        assert guest.run(["uname", "-r"]).stdout.strip() != os.uname().release
        assert guest.run(["cat", "/proc/1/comm"]).stdout == "wavetank-node\n"
        total_kib = int(guest.run(["cat", "/proc/meminfo"]).stdout.split()[1])
        memory_kib = spec.instance.memory // 1024
        assert 2 / 3 * memory_kib < total_kib < memory_kib  # without what the kernel itself takes
        assert " /scratch xfs " in guest.run(["cat", "/proc/mounts"]).stdout
        see_server_on_a_host_node(cluster)
        available = memory_bytes(guest.run(["cat", "/proc/meminfo"]).stdout, "MemAvailable")
        assert available is not None
        assert 0 < available < spec.instance.memory
        assert "User-mode Linux" in cluster.limits()["hypervisor"]
        assert cluster.health() == []
        cannot_answer(guest, "echo o >/proc/sysrq-trigger; sleep 1000")
        until(cluster.health, "a finding")
        assert any("c1" in finding and "console" in finding for finding in cluster.health())
        # a command does not wait for a guest that is gone
        cannot_answer(guest, "true")


def see_server_on_a_host_node(cluster: deploy.DeployedCluster) -> None:
    (guest,), (server,) = cluster.compute_hosts, cluster.io_hosts
    assert server.run(["uname", "-r"]).stdout.strip() == os.uname().release
    assert " /storage xfs " in server.run(["cat", "/proc/mounts"]).stdout
    assert "io1" in cluster.place_files({"in": 1_000_001})["in"]
    there = guest.run(["sha256sum", f"{cluster.mount_path}/in"]).stdout.split()[0]
    if cluster.spec.file_system.kind in KEPT_IN:
        kept = f"{KEPT_IN[cluster.spec.file_system.kind]}/in"
        assert server.run(["sha256sum", kept]).stdout.split()[0] == there
    assert "left" in cluster.drop_caches()
    assert guest.run(["sha256sum", f"{cluster.mount_path}/in"]).stdout.split()[0] == there
    limits = cluster.limits()
    assert "guest's kernel" in limits["compute memory"]
    assert "guest's kernel" not in limits["io memory"]


@pytest.mark.parametrize("spec", with_each("passthrough"), indirect=True)
def test_a_guest_sees_what_the_node_around_it_mounts_and_its_loss_is_said(
    spec: ClusterSpec, tmp_path: Path
) -> None:
    with up(tmp_path, spec) as cluster:
        see_server_on_a_host_node(cluster)
        (guest,), at = cluster.compute_hosts, cluster.mount_path
        assert " hostfs " in cluster.settings()["view in guest c1"]
        guest.run(["sh", "-c", f"cd {at} && mkdir d && echo kept >d/old && mv d/old d/new"])
        (around,) = cluster.site.clients  # its client, and not the guest
        assert around.run(["uname", "-r"]).stdout.strip() == os.uname().release
        assert around.run(["cat", f"{at}/d/new"]).stdout == "kept\n"
        assert cluster.health() == []
        guest.run(["umount", at])
        assert any(at in finding for finding in cluster.health())


@pytest.mark.parametrize("spec", with_each("volume"), indirect=True)
def test_a_guests_volume_is_a_file_on_the_server_and_keeps_its_files_when_caches_are_dropped(
    spec: ClusterSpec, tmp_path: Path
) -> None:
    with up(tmp_path, spec) as cluster:
        (guest,), at = cluster.compute_hosts, cluster.mount_path
        assert not cluster.is_global
        assert " /wavetank xfs " in cluster.settings()["view in guest c1"]
        cluster.place_files({"in": 1_000_001})
        before = guest.run(["sha256sum", f"{at}/in"]).stdout
        assert "left" in cluster.drop_caches()
        assert guest.run(["sha256sum", f"{at}/in"]).stdout == before
        (kept,) = guest.run(["stat", "-c", "%s", f"{at}/in"]).stdout.split()
        assert int(kept) == 1_000_001
        volume = f"{at}/.wavetank-volume-c1"
        (around,) = cluster.site.clients
        assert int(around.run(["stat", "-c", "%s", volume]).stdout) == volume_bytes(spec)
        assert " /wavetank xfs " not in around.run(["cat", "/proc/mounts"]).stdout
        if spec.file_system.kind in KEPT_IN:
            volume = volume.replace(at, KEPT_IN[spec.file_system.kind])
            blocks = int(cluster.io_hosts[0].run(["stat", "-c", "%b", volume]).stdout)
            assert 1_000_001 < blocks * 512 < volume_bytes(spec)  # written there, and no more
        assert cluster.health() == []
        guest.run(["umount", at])
        assert any(at in finding for finding in cluster.health())


# optional: its kernel is unpacked from a package by packaging/guest-kernel, and no installed package brings it
@pytest.mark.optional
@pytest.mark.parametrize(
    "spec",
    [
        {
            **body(access, "nfs"),
            "hypervisor": "tcg",
            "instance": {"name": "t.small", "memory": "320 MiB"},
        }
        for access in ("client", "passthrough")
    ],
    indirect=True,
    ids=["client", "passthrough"],
)
def test_a_guest_of_qemu_has_debians_kernel_and_no_rate_of_it_is_comparable(
    spec: ClusterSpec, tmp_path: Path
) -> None:
    with up(tmp_path, spec) as cluster:
        (guest,) = cluster.compute_hosts
        see_server_on_a_host_node(cluster)
        assert guest.run(["uname", "-r"]).stdout.strip() == the_kernel().modules.name
        assert guest.run(["cat", "/proc/1/comm"]).stdout == "wavetank-node\n"
        assert " /scratch xfs " in guest.run(["cat", "/proc/mounts"]).stdout
        if cluster.site.clients:
            assert " 9p " in cluster.settings()["view in guest c1"]
            guest.run(["sh", "-c", f"echo kept >{cluster.mount_path}/kept"])
            (around,) = cluster.site.clients
            assert around.run(["cat", f"{cluster.mount_path}/kept"]).stdout == "kept\n"
        assert cluster.limits()["hypervisor"] == "QEMU without KVM (TCG) (asked for)"
        assert not are_calls_comparable(cluster.limits())
        assert cluster.health() == []
        cannot_answer(guest, "echo o >/proc/sysrq-trigger; sleep 1000")
        until(cluster.health, "a finding")


KERNEL_CEPHFS = {
    **body("client", "cephfs"),
    "file_system": {
        "kind": "cephfs",
        "options": {
            "objectstore": "memstore",
            "layout:wide/": "stripe_unit=64KiB object_size=1MiB",
        },
        "mount_options": {"rsize": 1048576},
    },
}


@pytest.mark.parametrize("spec", [KERNEL_CEPHFS], indirect=True, ids=["cephfs"])
def test_a_guests_kernel_mounts_cephfs_and_its_loss_is_said(
    spec: ClusterSpec, tmp_path: Path
) -> None:
    with up(tmp_path, spec) as cluster:
        (guest,), at = cluster.compute_hosts, cluster.mount_path
        settings = cluster.settings()
        assert settings["client"] == f"Linux {guest.run(['uname', '-r']).stdout.strip()}"
        assert f" {at} ceph rw," in settings["mount on c1"]
        assert "rsize=1048576" in settings["mount on c1"]
        assert settings["layout of /wide/"].startswith("stripe_unit=65536 stripe_count=1 ")
        places = cluster.place_files({"wide/in": 3_000_001})
        assert "objects of 1.0 MiB: io1 2.9 MiB" in places["wide/in"]
        before = guest.run(["sha256sum", f"{at}/wide/in"]).stdout
        assert "left" in cluster.drop_caches()
        assert guest.run(["sha256sum", f"{at}/wide/in"]).stdout == before
        assert cluster.health() == []
        guest.run(["umount", at])
        assert any("cephfs is not mounted on c1" in finding for finding in cluster.health())


def cannot_answer(guest: Host, script: str) -> None:
    with pytest.raises(ClusterError, match=r"does not answer"):
        guest.run(["sh", "-c", script], timeout_s=300)


def test_a_guest_that_does_not_boot_shows_its_consoles_last_lines_and_leaves_nothing(
    spec: ClusterSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uml.UserModeLinux, "devices", lambda _machine, _guest: ["/dev/no-disk"])
    with pytest.raises(ClusterError) as caught:
        deploy.bring_up(spec)
    said = str(caught.value)
    assert "guest c1 (User-mode Linux) ended before commands could come" in said
    assert "/dev/no-disk" in said
    assert "reboot: Power down" in said
    assert Traces(tmp_path, spec.name).left() == []


# Eight programs make node, disk and network, the ninth finds the disk, and the tenth is the guest.
@pytest.mark.parametrize("n_programs", [9, 10])
def test_killed_while_a_guest_boots_leaves_nothing_after_down(
    n_programs: int, spec: ClusterSpec, tmp_path: Path
) -> None:
    (tmp_path / "lab.yaml").write_text(spec.model_dump_json())  # JSON is YAML
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(n_programs), "cluster", "up", str(tmp_path / "lab.yaml")],
        check=False, capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    traces = Traces(tmp_path, spec.name)
    traces.note_processes()
    deploy.take_down(spec.name)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert traces.left() == []
