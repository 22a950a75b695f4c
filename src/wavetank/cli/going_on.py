"""What an interrupted command leaves, and how to go on: said at its end, by the command that was asked for."""

from __future__ import annotations

import shlex
import sys

_NOTHING = "nothing was written"
# Command -> what is so after an interrupt. Campaigns, studies and clusters say it themselves, as they know how much they keep.
_LEFT = {
    "convert": _NOTHING,
    "model": _NOTHING,
    "diff": _NOTHING,
    "fit": _NOTHING,
    "kernel": _NOTHING,
    "fidelity": _NOTHING,
    "summary": "figures that are whole stay",
    "report": _NOTHING,
    "cluster": "",
    "characterise": "the cluster stays up, and nothing was kept",
    "measure": "the cluster stays up, and nothing was kept of the measurement",
    "replay": "whole input files stay, and are not made again",
}
asked: list[str] = []
"""The command that was called last, as its group knows it."""


def how_to_go_on() -> str:
    """What follows "interrupted", with the command line; empty where there is nothing to say."""
    if not asked or asked[-1] not in _LEFT:
        return ""
    left = f"; {_LEFT[asked[-1]]}" if _LEFT[asked[-1]] else ""
    return f"{left}. Run again: {shlex.join(['wavetank', *sys.argv[1:]])}"
