"""User-mode Linux: a guest's kernel as an ordinary process (Debian package user-mode-linux, Linux 6.1).

It has one processor. Its memory is a file in TMPDIR, which must be a tmpfs that allows programs: the node's /dev/shm.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from wavetank.cluster.guests.guest import BOOT_TIMEOUT_S, CONTROL_TAP, INIT, TAP, Guest
from wavetank.cluster.namespaces.network import MTU
from wavetank.cluster.needs import Lack
from wavetank.errors import ProviderError
from wavetank.programs import find_program
from wavetank.units import MIB

PROGRAM = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
VCPUS = 1
QUEUE = 128  # frames of a network device that go through at once


class UserModeLinux:
    """Guests that are User-mode Linux; their root is their node's, by hostfs."""

    @property
    def environment(self) -> Mapping[str, str]:
        """See the protocol."""
        return {"TMPDIR": "/dev/shm"}  # noqa: S108

    @property
    def boot_timeout_s(self) -> float:
        """See the protocol."""
        return BOOT_TIMEOUT_S

    def modules(self) -> Path:
        """The package's only release; see the protocol."""
        releases = sorted(MODULES.iterdir()) if MODULES.is_dir() else []
        if not releases:
            raise ProviderError(
                f"no kernel modules below {MODULES}: apt-get install --reinstall user-mode-linux"
            )
        return releases[-1]

    def devices(self, guest: Guest) -> list[str]:
        """See the protocol."""
        return [f"/dev/ubd{chr(ord('a') + i)}" for i in range(len(guest.files))]

    def command(self, guest: Guest) -> list[str]:
        """See the protocol.

        Source: Documentation/virt/uml/user_mode_linux_howto_v2.rst of Linux 6.1.
        """
        # gro: segments of up to 64 KiB come in whole; without it they are dropped, and TCP crawls (1.5 MB/s, seen)
        device = f"depth={QUEUE},gro=1,mtu={MTU}"
        return [
            PROGRAM,
            f"mem={guest.memory_bytes // MIB}M",
            "rootfstype=hostfs",
            "rw",
            f"init={INIT}",
            "con=null",
            "con0=null,fd:1",
            *(f"ubd{i}={file}" for i, file in enumerate(guest.files)),
            f"vec0:transport=tap,ifname={TAP},{device},mac={guest.mac}",
            f"vec1:transport=tap,ifname={CONTROL_TAP},depth={QUEUE},mac={guest.control_mac}",
        ]


def reason_against() -> Lack | None:
    """Why User-mode Linux does not run here, with what to do; None when it does."""
    if platform.machine() != "x86_64":
        return Lack(f"not for {platform.machine()}", "use a machine with x86_64")
    missing = [
        package
        for package, program in (("user-mode-linux", PROGRAM), ("kmod", "modprobe"))
        if find_program(program) is None
    ]
    if missing:
        return Lack(f"no {' and no '.join(missing)}", f"apt-get install {' '.join(missing)}")
    if not MODULES.is_dir():
        return Lack(
            f"no kernel modules below {MODULES}", "apt-get install --reinstall user-mode-linux"
        )
    return None
