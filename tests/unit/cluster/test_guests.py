"""Guests: the command lines of hypervisors, what process 1 is told, which hypervisor is taken and why."""

from __future__ import annotations

import lzma
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from wavetank.cluster.guests import hypervisors, qemu, uml
from wavetank.cluster.guests.guest import Guest, GuestDisk, init_script, node_links
from wavetank.cluster.guests.hypervisors import Choice, against_kvm, choose
from wavetank.cluster.guests.nodes import GuestNodes
from wavetank.cluster.namespaces.nodes import LocalNodes
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

DISKS = (GuestDisk("/dev/loop7", "/storage", "xfs"), GuestDisk("/dev/loop9", "/scratch", "ext4"))
GUEST = Guest("c2", 1, "10.77.0.2", 384 * 2**20, 1.5, DISKS, ("nfsv4",))
SPEC = {
    "name": "lab",
    "provider": "vm",
    "instance": {"name": "t.small", "vcpus": 2, "memory": "384 MiB"},
    "nodes": {"compute": 1},
    "file_system": {"kind": "none"},
}


def test_a_user_mode_guest_has_its_memory_disks_and_devices_in_order() -> None:
    machine = uml.UserModeLinux()
    words = machine.command(GUEST)
    assert words[0] == "linux.uml"
    assert {"mem=384M", "rootfstype=hostfs", "ubd0=/dev/loop7", "ubd1=/dev/loop9"} < set(words)
    assert [word.partition(":")[0] for word in words if "transport=tap" in word] == ["vec0", "vec1"]
    assert list(machine.devices(GUEST)) == ["/dev/ubda", "/dev/ubdb"]


def test_a_volume_is_the_last_disk_and_is_not_mounted_while_its_guest_boots() -> None:
    guest, machine = replace(GUEST, volume_bytes=2**30), uml.UserModeLinux()
    assert "ubd2=/etc/wavetank-guest/volume" in machine.command(guest)
    assert list(machine.devices(guest)) == ["/dev/ubda", "/dev/ubdb", "/dev/ubdc"]
    lines = init_script(guest, machine.devices(guest), "/node").splitlines()
    assert [line for line in lines if "ubdc" in line] == [
        "do_or_end ln -s /dev/ubdc /run/wavetank-volume"
    ]


@pytest.mark.parametrize(
    ("with_kvm", "named", "bus"),
    [(True, "microvm -accel kvm", "device"), (False, "q35 -accel tcg,tb-size=32", "pci")],
)
def test_a_guest_by_qemu_has_all_vcpus_its_root_and_uncached_disks(
    with_kvm: bool, named: str, bus: str
) -> None:
    machine = qemu.Qemu(with_kvm=with_kvm)
    line = machine.line(GUEST, Path("/boot/vmlinuz-6.1.0-cloud"), Path("/cache/guest.cpio"))
    said = " ".join(line)
    assert f"-machine {named}" in said
    assert f"virtio-9p-{bus},fsdev=root" in said
    assert f"virtio-blk-{bus},drive=disk1" in said
    assert "-smp 2 -m 384M" in said  # 1.5 processors are two, and the node's limit is 1.5
    assert "-kernel /boot/vmlinuz-6.1.0-cloud -initrd /cache/guest.cpio" in said
    assert "-fsdev local,id=root,path=/" in said
    for number, device in ((0, "/dev/loop7"), (1, "/dev/loop9")):
        assert f"id=disk{number},file={device},format=raw,cache=none" in said
    assert f"ifname=tap0,script=no,downscript=no -device virtio-net-{bus},netdev=net0,mac={GUEST.mac}" in said  # fmt: skip
    assert list(machine.devices(GUEST)) == ["/dev/vda", "/dev/vdb"]


def test_a_guest_by_qemu_sees_what_is_mounted_around_it_by_a_second_device() -> None:
    machine, image = qemu.Qemu(with_kvm=False), Path("/boot/vmlinuz")
    around = replace(GUEST, around="10.77.0.128")
    said = " ".join(machine.line(around, image, image))
    assert (
        "-fsdev local,id=passed,path=/,security_model=none,multidevs=remap -device virtio-9p-pci,fsdev=passed,mount_tag=passed"
        in said
    )
    assert "passed" not in " ".join(machine.line(GUEST, image, image))
    assert "passed" not in " ".join(machine.line(replace(around, volume_bytes=2**30), image, image))


def test_process_1_is_told_its_name_devices_disks_and_the_agent_last() -> None:
    script = init_script(GUEST, ["/dev/ubda", "/dev/ubdb"], "/opt/a b/wavetank-node")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    lines = script.splitlines()
    assert "echo c2 >/proc/sys/kernel/hostname" in lines
    assert f"name_device {GUEST.mac} eth0" in lines
    assert "address add 10.77.0.2/24 dev eth0" in lines
    assert "do_or_end modprobe -a nfsv4" in lines
    assert "do_or_end mount -t xfs -o noatime /dev/ubda /storage" in lines
    assert "do_or_end mount -t ext4 -o noatime /dev/ubdb /scratch" in lines
    assert lines[-1].startswith("do_or_end exec '/opt/a b/wavetank-node' agent 10.78.0.2:")
    assert "wavetank: '" in script
    assert "sysrq-trigger" in script


def test_guests_of_a_cluster_have_hardware_addresses_of_their_own() -> None:
    macs = {
        mac
        for position in range(128)
        for guest in [Guest("x", position, "", 0, 1, (), ())]
        for mac in (guest.mac, guest.control_mac)
    }
    assert len(macs) == 256


def test_the_nodes_address_goes_to_the_guest() -> None:
    links = node_links().splitlines()
    assert links[0] == "address flush dev eth0"
    assert "link set eth0 master guest" in links
    assert any(line.startswith("link set tap0") and "master guest" in line for line in links)


def test_the_best_hypervisor_is_taken_and_what_was_passed_over_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reasons: dict[str, str | None] = {"kvm": "no /dev/kvm: get it", "uml": None, "tcg": None}
    monkeypatch.setattr(hypervisors, "reasons_against", lambda *_: reasons)
    assert choose(None) == Choice("uml", "no kvm: no /dev/kvm: get it")
    assert choose("tcg") == Choice("tcg", "asked for")
    assert choose("kvm") == "hypervisor kvm: no /dev/kvm: get it"
    reasons["uml"] = reasons["tcg"] = "not here: install it"
    said = choose(None)
    assert isinstance(said, str)
    assert all(f"no {name}: " in said for name in reasons)


def test_kvm_that_is_missing_or_of_another_kind_is_refused_with_what_to_do(tmp_path: Path) -> None:
    assert "modprobe" in str(against_kvm(tmp_path / "no-kvm"))
    (tmp_path / "file").touch()
    assert "does not answer" in str(against_kvm(tmp_path / "file"))


@pytest.mark.parametrize("changes", [{"provider": "local"}, {"hypervisor": "xen"}])
def test_a_hypervisor_is_of_guests_and_one_that_there_is(changes: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="hypervisor"):
        ClusterSpec.model_validate({**SPEC, "hypervisor": "uml", **changes})


def test_guests_have_the_catalogues_limits_and_temporary_disks() -> None:
    spec = ClusterSpec.model_validate(
        {**SPEC, "instance": {"name": "c5.large"}, "temporary": {"size": "512 MiB"}}
    )
    assert spec.instance.memory == 4 * 2**30
    assert spec.own_kernels


class _Around(LocalNodes):
    def __init__(self) -> None:
        object.__setattr__(self, "spec", ClusterSpec.model_validate(SPEC))

    def limits(self) -> dict[str, str]:
        return {"compute vcpus": "2 by cgroup v1 cpu", "compute memory": "512.0 MiB by x", "scale": "1"}  # fmt: skip


def test_limits_say_what_the_guest_has_and_what_its_rates_are_worth() -> None:
    limits = GuestNodes(_Around(), {}, Choice("uml", "no kvm: y"), 128 * 2**20).limits()
    assert limits["compute vcpus"].startswith("1 by User-mode Linux")
    assert limits["compute memory"].startswith("384.0 MiB by the guest's kernel")
    assert "512.0 MiB by x" in limits["compute memory"]
    assert limits["scale"] == "1"
    assert limits["hypervisor"] == "User-mode Linux (no kvm: y)"
    assert "64 KiB are not comparable with hardware" in limits["rates"]
    tcg = GuestNodes(_Around(), {}, Choice("tcg", "asked for"), 0).limits()
    assert tcg["rates"].startswith("not comparable with hardware")
    assert tcg["compute vcpus"] == "2 by cgroup v1 cpu"


def modules(folder: Path, dependencies: str, built_in: str = "") -> Path:
    folder.mkdir()
    (folder / "modules.dep").write_text(dependencies)
    (folder / "modules.builtin").write_text(built_in)
    return folder


def a_kernel(root: Path, release: str, dependencies: str) -> None:
    (root / "boot").mkdir(parents=True, exist_ok=True)
    (root / "lib/modules").mkdir(parents=True, exist_ok=True)
    (root / "boot" / f"vmlinuz-{release}").touch()
    modules(root / "lib/modules" / release, dependencies)


def test_kernels_without_9p_are_passed_over_and_those_unpacked_for_guests_come_last(
    tmp_path: Path,
) -> None:
    here, unpacked = tmp_path / "here", tmp_path / "unpacked"
    a_kernel(here, "6.9-a", "k/9pnet_virtio.ko:\n")
    a_kernel(here, "6.9-cloud", "k/xfs.ko:\n")
    (here / "boot/vmlinuz-without-modules").touch()
    a_kernel(unpacked, "6.1-b", "k/9pnet_virtio.ko:\n")
    found = qemu.kernels((here, unpacked, tmp_path / "none"))
    assert [kernel.modules.name for kernel in found] == ["6.9-a", "6.1-b"]


def image_of(payload: bytes) -> bytes:
    """A kernel image with one setup sector of its own, and its payload 100 bytes behind them."""
    head = bytearray(2 * 512 + 100)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 100, len(payload))
    return bytes(head) + payload + b"signature"


def test_a_kernel_is_unpacked_once_and_one_that_is_packed_by_another_program_is_left_as_it_is(
    tmp_path: Path,
) -> None:
    program = b"\x7fELF" + bytes(range(256)) * 40
    image = tmp_path / "vmlinuz"
    image.write_bytes(image_of(lzma.compress(program) + b"size"))
    path = qemu.unpacked(image, tmp_path / "cache")
    assert path.read_bytes() == program
    path.write_bytes(b"kept")
    assert qemu.unpacked(image, tmp_path / "cache").read_bytes() == b"kept"
    image.write_bytes(image_of(b"\x28\xb5\x2f\xfd by zstd"))
    assert qemu.unpacked(image, tmp_path / "cache") == image


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"no kernel", "no kernel for x86"), (image_of(b"\xfd7zXZ\x00" + b"x" * 40), "is damaged")],
)
def test_an_image_that_is_none_or_damaged_is_refused(
    content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "vmlinuz").write_bytes(content)
    with pytest.raises(ProviderError, match=said):
        qemu.unpacked(tmp_path / "vmlinuz", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_modules_are_loaded_after_what_they_need_and_once(tmp_path: Path) -> None:
    folder = modules(
        tmp_path / "6.1",
        "k/virtio-net.ko: k/failover.ko k/virtio.ko\nk/failover.ko:\nk/virtio.ko:\nk/9p.ko: k/9pnet.ko k/base.ko\n"
        "k/9pnet.ko: k/base.ko\nk/base.ko:\n",
        "kernel/virtio_blk.ko\n",
    )
    order = qemu.load_order(folder, ("virtio_net", "virtio_blk", "9p"))
    assert [path.name for path in order] == [
        "virtio.ko", "failover.ko", "virtio-net.ko", "base.ko", "9pnet.ko", "9p.ko"]  # fmt: skip


@pytest.mark.parametrize(
    ("dependencies", "said"), [("", "no module 9p"), ("k/9p.ko.xz:\n", "packed")]
)
def test_a_kernel_without_a_module_is_refused(tmp_path: Path, dependencies: str, said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        qemu.load_order(modules(tmp_path / "6.1", dependencies), ("9p",))


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed")
def test_the_initial_root_is_made_once_for_its_content_and_unpacks(tmp_path: Path) -> None:
    wanted = "".join(f"k/{name}.ko:\n" for name in qemu.MODULES)
    folder = modules(tmp_path / "6.1", wanted)
    (folder / "k").mkdir()
    for name in qemu.MODULES:
        (folder / "k" / f"{name}.ko").write_bytes(name.encode() * 3)
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"#!/bin/sh\n")
    path = qemu.make(busybox, folder, tmp_path / "cache")
    assert qemu.make(busybox, folder, tmp_path / "cache") == path
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["busybox", "cpio", "-i"], stdin=path.open("rb"), cwd=unpacked, check=True)
    assert (unpacked / "bin/busybox").read_bytes() == b"#!/bin/sh\n"
    assert (unpacked / "modules/9p.ko").read_bytes() == b"9p9p9p"
    init = (unpacked / "init").read_text()
    subprocess.run(["sh", "-n"], input=init, text=True, check=True)
    assert init.index("insmod /modules/9pnet_virtio.ko") < init.index("mount -t 9p")
    assert (unpacked / "init").stat().st_mode & 0o111
    busybox.write_bytes(b"another")
    assert qemu.make(busybox, folder, tmp_path / "cache") != path
