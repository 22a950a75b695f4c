"""What guests of User-mode Linux see of mounts of the nodes around them: a hostfs of its own for each mount."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S
from wavetank.cluster.host import Host, on_all

# $1: where it is mounted, in the guest and around it.
SHOW = 'mkdir -p -- "$1" && mount -t hostfs -o "$1" passed-through "$1"'
HIDE = 'if mountpoint -q -- "$1"; then umount -- "$1"; fi'
IS_SHOWN = 'mountpoint -q -- "$1" && stat -f -- "$1" >/dev/null'


def show(guests: Sequence[Host], path: str) -> None:
    """Have guests see what is mounted around them.

    Raises:
        RemoteCommandError: one does not.
    """
    on_all(guests, lambda guest: _run(guest, SHOW, path))


def hide(guests: Sequence[Host], path: str) -> None:
    """Have them see it no more: what they kept of it in memory is gone.

    Raises:
        RemoteCommandError: one still does.
    """
    on_all(guests, lambda guest: _run(guest, HIDE, path))


def check(guests: Sequence[Host], path: str) -> None:
    """See that they see it.

    Raises:
        RemoteCommandError: one does not.
    """
    on_all(guests, lambda guest: _run(guest, IS_SHOWN, path))


def _run(guest: Host, script: str, path: str) -> None:
    guest.run(["sh", "-c", script, "sh", path], timeout_s=ANSWER_TIMEOUT_S)
