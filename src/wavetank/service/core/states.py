"""States of a space, and which may follow which."""

from __future__ import annotations

from typing import Literal

State = Literal["requested", "making", "ready", "growing", "changing", "deleting", "gone", "failed"]

TRANSITIONS: dict[State, frozenset[State]] = {
    "requested": frozenset({"making", "deleting", "failed"}),
    "making": frozenset({"ready", "deleting", "failed"}),
    "ready": frozenset({"growing", "changing", "deleting", "failed"}),
    "growing": frozenset({"ready", "deleting", "failed"}),
    "changing": frozenset({"ready", "deleting", "failed"}),
    "deleting": frozenset({"gone", "failed"}),
    "failed": frozenset({"making", "growing", "changing", "deleting"}),
    "gone": frozenset(),
}
"""State -> those that may follow it. Where only what is wanted changes, the state stays, and that is no transition."""

UNSETTLED: tuple[State, ...] = ("requested", "making", "growing", "changing", "deleting")
"""In these something is to be done."""


def may_follow(before: State, after: State) -> bool:
    """Whether a space may go from one state to another."""
    return after in TRANSITIONS[before]
