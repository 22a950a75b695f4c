"""What is to be done next for a space: decided from what is wanted and what is there, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wavetank.service.core.orders import Found, Order

Deed = Literal["make", "resize", "change_access", "remove"]
"""What a maker does."""

Do = Literal["rest", "begin", "finish", "fail"] | Deed


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes:
        do: what: nothing; say that it is being made; a deed of the maker; say that it is as wanted; say that it cannot be.
        why: a sentence, for events and reasons.
    """

    do: Do
    why: str = ""


def next_step(order: Order, found: Found | None) -> Step:
    """The next step for a space.

    A space that was ready once is never made again: an empty one in its place would hide that its data is gone.

    Args:
        order: the space as it is wanted.
        found: as it is there; None: nothing of it is.
    """
    state = order.space.state
    if state in ("deleting", "gone"):
        if found is not None:
            return Step("remove", "it is to be gone")
        return Step("finish", "nothing of it is left") if state == "deleting" else Step("rest")
    if state == "failed":
        return Step("rest")
    if state == "requested":
        return Step("begin", "it has its place on servers")
    return _towards(order, found)


def _towards(order: Order, found: Found | None) -> Step:
    """The next step for a space that is to be there."""
    space = order.space
    if found is None:
        if space.made_generation:
            return Step(
                "fail",
                "nothing of it is on its servers any more, and its data with it: something other than the service removed it",
            )
        return Step("make", "nothing of it is there yet")
    if not found.whole and not space.made_generation:
        return Step("remove", "an attempt to make it was cut short")
    return _repaired(order, found) or (
        Step("rest") if space.state == "ready" else Step("finish", "it is as wanted")
    )


def _repaired(order: Order, found: Found) -> Step | None:
    """The step that brings what is there nearer to what is wanted; None where it is so."""
    if not found.whole or dict(found.shares) != order.wanted_shares():
        return Step("resize", "its place is not as wanted")
    if found.access != frozenset(order.space.access):
        return Step("change_access", "its access rules are not as wanted")
    return None
