"""Commands that drop the tracer on the way to the program: a new environment, another root, another host.

Reads a command line and the parts that it left; leaves sentences for the user where the one does not fit the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import recognise
from wavetank.trace.part import Part

_ELSEWHERE = "what it starts has another root, container or host, and sees another trace folder"
_CLEARED = "it clears the environment, and the tracer is loaded by that"
_DROPPERS = {
    "wavetank-node": _ELSEWHERE, "nsenter": _ELSEWHERE, "chroot": _ELSEWHERE, "ssh": _ELSEWHERE, "docker": _ELSEWHERE,
    "podman": _ELSEWHERE, "apptainer": _ELSEWHERE, "singularity": _ELSEWHERE, "sudo": _CLEARED, "su": _CLEARED,
    "runuser": _CLEARED, "doas": _CLEARED,
}  # fmt: skip
_NUMBERS = ("-n", "-np", "--np", "--n", "--ntasks")
_INSTEAD = "On a cluster that is up: wavetank cluster run NAME --trace FOLDER -- PROGRAM"


def dropped(argv: Sequence[str], launcher: Launcher, parts: Sequence[Part]) -> list[str]:
    """Sentences on what the command starts and the trace does not have, where that can be told.

    Args:
        argv: the user's command line.
        launcher: that the command line was recognised as; what goes wrong behind a known one is seen by its ranks.
        parts: what was recorded.
    """
    if launcher.name != "none":
        return []
    at = next((i for i in range(1, len(argv)) if recognise(argv[i:]).name != "none"), None)
    if at is not None and not any(part.rank is not None for part in parts):
        n = _number_of_ranks(argv[at + 1 :])
        ranks = f"its {n} rank(s)" if n else "its ranks"
        return [
            f"the command holds the launcher {Path(argv[at]).name}, and {ranks} left nothing: the tracer did not reach them, or "
            f"they see another trace folder (namespaces, a container, another host). {_INSTEAD}"
        ]
    name = Path(argv[0]).name
    reason = _CLEARED if _is_clearing_env(argv) else _DROPPERS.get(name)
    others = {Path(part.command[0]).name for part in parts if part.command} - {name}
    if reason is None or others:
        return []
    return [f"nothing that {name} started left a part: {reason}. {_INSTEAD}"]


def _is_clearing_env(argv: Sequence[str]) -> bool:
    """Whether it is env -i: options come before the first assignment or program."""
    if Path(argv[0]).name != "env":
        return False
    for word in argv[1:]:
        if word in ("-", "--ignore-environment") or (
            word.startswith("-") and not word.startswith("--") and "i" in word[1:]
        ):
            return True
        if not word.startswith("-"):
            return False
    return False


def _number_of_ranks(words: Sequence[str]) -> int | None:
    for word, value in pairwise(words):
        if word in _NUMBERS and value.isdigit():
            return int(value)
    return None
