"""What an instance does at its first start: its shell text, run here with stand-ins for the programs that it calls."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from wavetank.cluster.clouds.cloud import Keys
from wavetank.cluster.clouds.user_data import DataDisks, modules_of, packages_of, user_data

KEYS = Keys("ssh-ed25519 AAAA user", "PRIVATE\nKEY\n", "ssh-ed25519 BBBB")
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def config(**changes: object) -> dict[str, object]:
    asked = {
        "expires": NOW + timedelta(hours=2),
        "ttl_s": 7200,
        "keys": KEYS,
        "packages": ["b", "a"],
        "disks": None,
    }
    return dict(yaml.safe_load(user_data(**(asked | changes))))  # type: ignore[arg-type]


def run(text: str, folder: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Shell text with stand-ins: name -> script; each notes its arguments in "said"."""
    for name, script in programs.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>{folder}/said\n{script}\n')
        path.chmod(0o755)
    return subprocess.run(
        ["sh", "-c", text], env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )  # fmt: skip


def said(folder: Path) -> list[str]:
    return (folder / "said").read_text().splitlines()


@pytest.mark.parametrize(
    ("clock", "minutes"),
    [
        (NOW, 120),
        (
            NOW + timedelta(minutes=3, seconds=1),
            117,
        ),  # 116 min 59 s, rounded up: where the tags have the end
        (NOW + timedelta(hours=5), 1),  # started again after its end
        (datetime(1970, 1, 2, tzinfo=UTC), 120),  # a clock that is wrong
    ],
)
def test_the_end_is_where_the_tags_have_it_and_never_later_than_the_ttl(
    tmp_path: Path, clock: datetime, minutes: int
) -> None:
    bootcmd = config()["bootcmd"][0][2]  # type: ignore[index]
    done = run(bootcmd, tmp_path, {"date": f"echo {int(clock.timestamp())}", "shutdown": ""})
    assert done.returncode == 0, done.stderr
    assert f"shutdown -P +{minutes}" in said(tmp_path)


def test_where_the_login_manager_does_not_run_yet_the_first_process_is_asked(
    tmp_path: Path,
) -> None:
    bootcmd = config()["bootcmd"][0][2]  # type: ignore[index]
    programs = {"date": f"echo {int(NOW.timestamp())}", "shutdown": "exit 1", "systemd-run": ""}
    assert run(bootcmd, tmp_path, programs).returncode == 0
    assert (
        said(tmp_path)[-1] == "systemd-run --unit=wavetank-ttl --on-active=120m systemctl poweroff"
    )


def test_the_end_comes_before_all_else_and_the_host_key_is_ours() -> None:
    found = config()
    assert next(iter(found)) == "bootcmd"
    assert found["ssh_keys"] == {
        "ed25519_private": "PRIVATE\nKEY\n",
        "ed25519_public": "ssh-ed25519 BBBB",
    }
    assert found["packages"] == ["a", "b"]
    user = found["users"][1]  # type: ignore[index]
    assert user["ssh_authorized_keys"] == ["ssh-ed25519 AAAA user"]


LSBLK = """case "$*" in
  "-no PKNAME /dev/nvme0n1p1") echo nvme0n1 ;;
  "-dno NAME,TYPE") printf 'nvme0n1 disk\\nloop0 loop\\nnvme1n1 disk\\nnvme2n1 disk\\nnvme3n1 disk\\n' ;;
  "-no MOUNTPOINT /dev/nvme3n1") echo /elsewhere ;;
  "-dno MODEL /dev/nvme1n1") echo "Amazon Elastic Block Store" ;;
  "-dno MODEL /dev/nvme2n1") echo "Amazon EC2 NVMe Instance Storage" ;;
esac"""


def disk_programs() -> dict[str, str]:
    return {
        "lsblk": LSBLK, "findmnt": "echo /dev/nvme0n1p1", "mkdir": "", "mount": "", "mdadm": "", "mkfs.xfs": "",
        "mkfs.ext4": "",
    }  # fmt: skip


@pytest.mark.parametrize(("own", "device"), [(False, "nvme1n1"), (True, "nvme2n1")])
def test_the_storage_is_a_volume_or_a_disk_of_the_instance_as_asked_and_never_the_root(
    tmp_path: Path, own: bool, device: str
) -> None:
    done = run(DataDisks(1, own, "xfs").script(), tmp_path, disk_programs())
    assert done.returncode == 0, done.stderr
    assert said(tmp_path)[-2:] == [f"mkfs.xfs -f /dev/{device}", f"mount /dev/{device} /storage"]


def two_volumes() -> dict[str, str]:
    return disk_programs() | {
        "lsblk": LSBLK.replace("Amazon EC2 NVMe Instance Storage", "Amazon Elastic Block Store")
    }


def test_several_disks_are_one_where_they_are_striped(tmp_path: Path) -> None:
    done = run(DataDisks(2, False, "ext4", striped=True).script(), tmp_path, two_volumes())
    assert done.returncode == 0, done.stderr
    assert said(tmp_path)[-4:] == [
        "mdadm --create /dev/md/wavetank --run --level=0 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1",
        "mkdir -p /storage",
        "mkfs.ext4 -F /dev/md/wavetank",
        "mount /dev/md/wavetank /storage",
    ]


def test_several_disks_with_a_server_each_are_mounted_one_by_one(tmp_path: Path) -> None:
    done = run(DataDisks(2, False, "xfs").script(), tmp_path, two_volumes())
    assert done.returncode == 0, done.stderr
    assert [line for line in said(tmp_path) if line.startswith(("mkfs", "mount", "mdadm"))] == [
        "mkfs.xfs -f /dev/nvme1n1",
        "mount /dev/nvme1n1 /storage",
        "mkfs.xfs -f /dev/nvme2n1",
        "mount /dev/nvme2n1 /storage2",
    ]
    assert "mkdir -p /storage2" in said(tmp_path)


def test_a_disk_that_is_not_there_ends_the_start_before_anything_is_formatted(
    tmp_path: Path,
) -> None:
    done = run(DataDisks(2, False, "xfs").script(), tmp_path, disk_programs())
    assert done.returncode == 1
    assert "/storage needs 2 disks, and there are 1" in done.stderr
    assert not any(line.startswith(("mkfs", "mdadm")) for line in said(tmp_path))


SERVER = """case "$*" in
  "-no PKNAME /dev/vda1") echo vda ;;
  "-dno NAME,TYPE") printf 'vda disk\\nvdb disk\\nvdc disk\\nvdd disk\\nsr0 rom\\n' ;;
  "-dno SERIAL /dev/vdc") echo 3a1b2c3d-4e5f-6071-8 ;;
  "-dno LABEL /dev/vdd") echo config-2 ;;
esac"""


@pytest.mark.parametrize(("own", "device"), [(False, "vdc"), (True, "vdb")])
def test_a_server_tells_a_volume_by_its_serial_number_from_its_own_disk_and_a_configuration_drive(
    tmp_path: Path, own: bool, device: str
) -> None:
    programs = disk_programs() | {"lsblk": SERVER, "findmnt": "echo /dev/vda1"}
    done = run(DataDisks(1, own, "xfs", by_serial=True).script(), tmp_path, programs)
    assert done.returncode == 0, done.stderr
    assert said(tmp_path)[-2:] == [f"mkfs.xfs -f /dev/{device}", f"mount /dev/{device} /storage"]


def test_packages_are_those_that_remedies_name() -> None:
    remedies = [
        "apt-get install nfs-ganesha nfs-ganesha-vfs",
        "modprobe fuse",
        "apt-get install attr, then 'make setup'",
    ]
    assert packages_of(remedies) == ("nfs-ganesha", "nfs-ganesha-vfs", "attr")


def test_modules_are_those_that_remedies_name() -> None:
    assert modules_of(
        ["modprobe nfsd", "apt-get install attr", "modprobe nfsd", "modprobe fuse"]
    ) == ("nfsd", "fuse")


def test_packages_start_no_services_until_the_node_is_ready_and_the_end_is_still_first(
    tmp_path: Path,
) -> None:
    found = config(services_off=True, modules=["nfsd"])
    first, second = found["bootcmd"]  # type: ignore[misc]
    assert "shutdown -P" in first[2]
    policy = tmp_path / "policy-rc.d"
    subprocess.run(
        ["sh", "-c", second[2].replace("/usr/sbin/policy-rc.d", str(policy))], check=True
    )
    # invoke-rc.d(8): 101 is "action forbidden by policy"
    assert subprocess.run([policy, "nfs-kernel-server", "start"], check=False).returncode == 101
    script = found["runcmd"][-1][2]  # type: ignore[index]
    assert script.index("modprobe -- nfsd") < script.index("rm -f /usr/sbin/policy-rc.d")
    assert script.index("rm -f /usr/sbin/policy-rc.d") < script.index("wavetank-ready")
    assert "policy-rc.d" not in str(config())
