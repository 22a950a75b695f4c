"""What is to be done next for a space: decided from what is wanted and what is there, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wavetank.service.core.orders import Found, Order
from wavetank.service.core.own_servers import Look, OwnCluster

Deed = Literal["make", "resize", "change_access", "remove", "bring_up", "admit", "take_down"]
"""What a maker does, or what brings servers up."""

Do = Literal["rest", "begin", "finish", "fail"] | Deed


@dataclass(frozen=True)
class Step:
    """The next step.

    Attributes:
        do: what: nothing; say that it is being made; a deed of the maker; say that it is as wanted; say that it cannot be.
        why: a sentence, for events and reasons.
        cluster: of servers of its own, which the deed is about.
    """

    do: Do
    why: str = ""
    cluster: str = ""


Looks = Mapping[str, Look]
"""Cluster of servers of a space's own -> how far it is there."""


def next_step(order: Order, found: Found | None, looks: Looks | None = None) -> Step:
    """The next step for a space.

    A space that was ready once is never made again: an empty one in its place would hide that its data is gone.

    Args:
        order: the space as it is wanted.
        found: as it is there; None: nothing of it is.
        looks: how far the clusters of its own servers are there; None: it has none such.
    """
    state = order.space.state
    if state in ("deleting", "gone"):
        return _away(order, found, looks or {})
    if state == "failed":
        return Step("rest")
    if state == "requested":
        return Step("begin", "it has its place on servers")
    if step := _of_servers(order, looks or {}):
        # Whoever lost access loses it at once, whatever servers take.
        return _access(order, found) or step
    return _towards(order, found)


def _away(order: Order, found: Found | None, looks: Looks) -> Step:
    """The next step for a space that is to be gone: its data first, then the servers of its own."""
    if found is not None:
        return Step("remove", "it is to be gone")
    there = [name for name, look in looks.items() if look != "none"]
    if there:
        return Step("take_down", "its servers go with it", there[-1])
    if order.space.state == "deleting":
        return Step("finish", "nothing of it is left")
    return Step("rest")


def _of_servers(order: Order, looks: Looks) -> Step | None:
    """The next step for the servers of a space that is to be there; None where they are as wanted."""
    clusters = () if order.own is None else order.own.clusters
    steps = (_of_cluster(order, each, looks[each.name]) for each in clusters)
    return next((step for step in steps if step is not None), None)


def _of_cluster(order: Order, cluster: OwnCluster, look: Look) -> Step | None:
    """The next step for one cluster of its servers.

    Servers of a space that was ready with them are never brought up again, for the same reason as the space.
    """
    name = cluster.name
    if not cluster.wanted:
        gone = look == "none"
        return None if gone else Step("take_down", "it is not to have these servers", name)
    if look == "up":
        return None if cluster.admitted else Step("admit", "its servers are up", name)
    if cluster.admitted and order.space.made_generation:
        return Step(
            "fail",
            "its servers are not there any more as they were, and its data with them: something other than the service took them down",
        )
    if look == "half":
        return Step("take_down", "an attempt to bring its servers up was cut short", name)
    return Step("bring_up", "its servers are not there yet", name)


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
    """The step that brings what is there nearer to what is wanted, None where it is so: rules, then size, then health."""
    if step := _access(order, found):
        return step
    if dict(found.shares) != order.wanted_shares():
        return Step("resize", "its place is not as wanted")
    return None if found.whole else Step("resize", "something of it does not run, or is not whole")


def _access(order: Order, found: Found | None) -> Step | None:
    """The step that puts the wanted rules in force; None where they are, and where nothing can be accessed."""
    if found is not None and found.access != frozenset(order.space.access):
        return Step("change_access", "its access rules are not as wanted")
    return None
