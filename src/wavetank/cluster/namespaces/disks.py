"""Storage devices of nodes: a sparse image file behind a loop device, with a rate limit."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.interrupts import struck
from wavetank.cluster.namespaces.cgroups import Hierarchies, throttle_files
from wavetank.cluster.processes import end_all, words_of_processes
from wavetank.errors import ProviderError
from wavetank.programs import search_path

log = logging.getLogger(__name__)

DETACH_TIMEOUT_S = 60.0
MKFS = {
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0"],
}


@dataclass(frozen=True)
class Disk:
    """A loop device of a node.

    Attributes:
        device: e.g. /dev/loop0.
        number: major:minor, as control groups name it.
        direct: whether the image is read and written without a second cache on this machine.
    """

    device: str
    number: str
    direct: bool


def command(argv: list[str], timeout_s: float = 60.0, env: Mapping[str, str] | None = None) -> str:
    """Run a program of this machine, with ``env`` added to the environment.

    Raises:
        ProviderError: it is missing, failed or ran out of time.
    """
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout_s, check=False,
            env={**os.environ, "PATH": search_path(), **(env or {})},
            start_new_session=True,  # Ctrl-C at the terminal must not end what cleans up
        )  # fmt: skip
        if struck(done.returncode):
            return command(argv, timeout_s, env)
    except FileNotFoundError:
        raise ProviderError(
            f"{argv[0]} is not installed; 'wavetank doctor' names the package"
        ) from None
    except subprocess.TimeoutExpired:
        raise ProviderError(f"{' '.join(argv)} did not end within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        raise ProviderError(
            f"{' '.join(argv)} ended with status {done.returncode}: {done.stderr.strip()}"
        )
    return done.stdout


def make_disk(image: Path, size_bytes: int, file_system: str) -> Disk:
    """Make an image, attach it and put a file system on it.

    Raises:
        ProviderError: no space, no loop device, or no mkfs.
    """
    try:
        with image.open("xb") as stream:
            stream.truncate(size_bytes)
    except OSError as error:
        raise ProviderError(f"cannot make the disk image {image}: {error.strerror}") from error
    try:
        device = command(["losetup", "--direct-io=on", "-f", "--show", str(image)]).strip()
    except ProviderError as error:
        log.warning("no direct I/O on %s: its data is cached twice (%s)", image, error)
        device = command(["losetup", "-f", "--show", str(image)]).strip()
    command([*MKFS[file_system], device])
    direct = Path(f"/sys/block/{Path(device).name}/loop/dio").read_text().strip() == "1"
    return Disk(device, device_number(device), direct)


def device_number(device: str) -> str:
    """major:minor of a device, as control groups name it."""
    number = Path(device).stat().st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


def attached(image: Path) -> list[str]:
    """Loop devices on an image. Sample (util-linux 2.38): {"loopdevices": [{"name": "/dev/loop0", ...}]}."""
    out = command(["losetup", "--json", "--list", "-O", "NAME,BACK-FILE", "-j", str(image)])
    return [entry["name"] for entry in json.loads(out)["loopdevices"]] if out.strip() else []


def end_strays(folder: Path) -> None:
    """End each losetup that a killed tool left at work on an image of a folder: it would attach what was detached.

    Raises:
        ProviderError: one does not end.
    """
    below = os.fsencode(f"{folder}/")

    def strays() -> list[int]:
        return [
            pid
            for pid, words in words_of_processes("cmdline")
            if words[0].rpartition(b"/")[2] == b"losetup"
            and any(word.startswith(below) for word in words)
        ]

    if left := end_all(strays, DETACH_TIMEOUT_S):
        raise ProviderError(f"losetup on an image in {folder} does not end: {left}. Try again")


def detach(image: Path) -> None:
    """Detach all loop devices of an image, and see that they are gone.

    Raises:
        ProviderError: one stays in use.
    """
    deadline = time.monotonic() + DETACH_TIMEOUT_S
    while devices := attached(image):
        for device in devices:
            try:
                command(["losetup", "-d", device])
            except ProviderError:
                if device in attached(image) and time.monotonic() > deadline:
                    raise
        if time.monotonic() > deadline:
            raise ProviderError(f"loop devices {devices} on {image} stay in use. Try again")
        time.sleep(0.01)


def limit_disk(where: Hierarchies, group: str, number: str, limits: dict[str, int]) -> str | None:
    """Limit a disk. ``limits``: read, write (bytes/s), read_iops, write_iops; 0 lifts a limit.

    Says the mechanism; None when there is none.
    """
    files = throttle_files(where, group)
    if not files:
        return None
    if "all" in files:
        keys = {"read": "rbps", "write": "wbps", "read_iops": "riops", "write_iops": "wiops"}
        line = " ".join(f"{keys[name]}={value or 'max'}" for name, value in limits.items())
        files["all"].write_text(f"{number} {line}")
        return "cgroup v2 io.max"
    for name, value in limits.items():
        files[name].write_text(f"{number} {value}")
    return "cgroup v1 blkio.throttle"
