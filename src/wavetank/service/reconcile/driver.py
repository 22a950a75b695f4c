"""Runs the steps that make what is wanted out of what is there.

Each deed of the maker is written down as an intent before it is done. What a killed process left is found by looking at what is
there, not by what was written: an intent says that something may have been done.

Why no journal of steps that is gone on with after a kill: it is wrong as soon as a step lasted and its note did not. The store says
what is wanted. The maker says what is there. ``next_step`` is a function of both, without a memory, so that a start after
a kill and a usual round are the same.

Why one step at a time, with a new look after each: a request may have come, and a step may have done more or less than was asked.
Why a step is not taken twice for the same generation: a maker that says "done" and changes nothing would keep the loop for ever.

Why a server that does not answer makes nothing fail: nothing is known then. Why a ready space that is not there any more
has failed, and is not made again: an empty one in its place would hide that its data is gone. Why what is there and
unknown stays: a store that was restored from an older copy knows less than there is.

Why one space at a time on a server: a maker then never meets itself there. Spaces of other servers are worked on meanwhile.
Why clients are shut out apart from all this, by ``shut_out``: it waits for no server's other work.

Why what failed is tried again by itself, at longer and longer intervals: its cause may be gone, and nobody may be there to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from wavetank.errors import WavetankError
from wavetank.service.core import changes
from wavetank.service.core.orders import Found, Order, There, UnfinishedError
from wavetank.service.core.own_servers import OwnCluster, OwnServers
from wavetank.service.core.records import Space
from wavetank.service.core.refusals import Refused
from wavetank.service.reconcile.clusters import Clusters, NoClusters
from wavetank.service.reconcile.decision import Looks, Step, next_step
from wavetank.service.reconcile.maker import Maker
from wavetank.service.store.store import Store

FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 3600.0
"""Before what failed is tried again: the first time, and at most, as each time is twice the one before."""
OWN_SERVERS = "servers that are brought up"
"""Stands for a server of all spaces whose servers the service brings up: one cluster comes up, or goes, at a time."""


class Reconciler:
    """Acts on a store by a maker. One of a folder at a time; of its spaces, those that share no server may be settled at the same time.

    Attributes:
        store: open.
        maker: of spaces.
        now: the time in UTC.
        stopping: whether to end after the step that is being taken; what is not done then, a later start does.
        clusters: brings up servers of spaces' own.
    """

    def __init__(
        self,
        store: Store,
        maker: Maker,
        now: Callable[[], datetime],
        stopping: Callable[[], bool] = lambda: False,
        clusters: Clusters | None = None,
    ) -> None:
        self.clusters: Clusters = clusters or NoClusters()
        self.store = store
        self.maker = maker
        self.now = now
        self.stopping = stopping
        self._tries: dict[str, tuple[int, datetime]] = {}
        """Space that failed -> how often it was tried again by itself, and when it is the next time."""

    def recover(self) -> None:
        """At the start: close the intents that a killed process left open, and look at every space, settled or not.

        Raises:
            ServiceError: the store cannot be written.
        """
        self.close_intents()
        self.examine()

    def close_intents(self) -> None:
        """Say of intents that a killed process left open that it is not known what came of them."""
        for intent in self.store.open_intents():
            self.store.interrupted(intent, self.now())

    def examine(self) -> None:
        """Look at all that is there, and settle what is not as wanted, space by space.

        Raises:
            ServiceError: the store cannot be written.
        """
        for identity in self.differing():
            self.settle_space(identity)
        self.settle()

    def differing(self) -> tuple[str, ...]:
        """Look at all that is there: settled spaces that are not as wanted, what is left of spaces that are gone, and what failed.

        What is there of a space that the store has never heard of is told as an event, and left: it may be data. Spaces of a server that
        cannot be asked stay as they are, and say so; all others are looked after. What failed is told when it is to be tried again.

        Raises:
            ServiceError: the store cannot be written.
        """
        found: list[str] = []
        there = self.maker.there()
        if there.away:
            self.store.tell(None, "unreachable", _told(there.away.values()), self.now())
        unknown = []
        for identity in sorted(there.spaces):
            try:
                order = self.store.order(identity)
            except Refused:
                unknown.append(identity)
                continue
            if order.own is not None or next_step(order, there.spaces[identity]).do != "rest":
                found.append(identity)
        if unknown:
            text = f"on the servers and unknown to the service, left as it is: {', '.join(unknown)}"
            self.store.tell(None, "stray", text, self.now())
        missing = (each for each in self.store.ready_spaces() if each not in there.spaces)
        found += [each for each in missing if self._is_missing(each, there)]
        return tuple(dict.fromkeys((*found, *self._due())))

    def _due(self) -> list[str]:
        """Spaces that failed, and are to be tried again now."""
        failed, now = self.store.failed_spaces(), self.now()
        self._tries = {each: self._tries.get(each, (0, now)) for each in failed}
        due = [each for each, (_, at) in self._tries.items() if at <= now]
        for each in due:
            n, _ = self._tries[each]
            wait = timedelta(seconds=min(FIRST_WAIT_S * 2**n, LONGEST_WAIT_S))
            self._tries[each] = n + 1, now + wait
        return due

    def _is_missing(self, identity: str, there: There) -> bool:
        """Whether a ready space that no server has which can be asked is to be looked after; else it is told."""
        order = self.store.order(identity)
        nodes = {share.node for share in order.shares}
        if order.own is not None and set(self._looks_at(order).values()) != {"up"}:
            return True
        if why := [there.away[node] for node in sorted(nodes & there.away.keys())]:
            self.store.tell(order.space, "unreachable", _told(why), self.now())
            return False
        return True

    def settle(self) -> int:
        """Do all that is to be done now, space by space; how many spaces there were to do something with.

        What a maker cannot do makes that space failed, with the reason; the others go on. Call again after each request.

        Raises:
            ServiceError: the store cannot be written.
        """
        unsettled = self.store.unsettled()
        for identity in unsettled:
            self.settle_space(identity)
        return len(unsettled)

    def servers_of(self, identity: str) -> frozenset[str]:
        """Servers on which nothing else may be done while a space is settled; all, where none is known to have it."""
        order = self.store.order(identity)
        nodes = {share.node for share in order.shares}
        nodes = nodes or {held.server.node for held in self.store.servers()}
        return frozenset(nodes | ({OWN_SERVERS} if order.own is not None else set()))

    def shut_out(self, identity: str, node: str) -> None:
        """Shut whoever may not use a space any more out of a server of it. Any thread may call, whatever others do with the space.

        Nobody may use one that goes. What cannot be done now is done by the space's steps, which say why.
        """
        order = self.store.order(identity)
        if order.space.state in ("deleting", "gone"):
            order = replace(order, space=order.space.model_copy(update={"access": ()}))
        with suppress(WavetankError):
            self.maker.shut_out(order, node)

    def settle_space(self, identity: str) -> None:
        """Take the steps of one space until it rests. A step that changes nothing is not taken twice.

        A space that failed is tried again, unless its data is lost.
        """
        taken: set[tuple[int, str, str]] = set()
        while not self.stopping():
            order = self.store.order(identity)
            try:
                looks, found = self._look_at(order)
            except WavetankError as error:
                self.store.tell(order.space, "unreachable", str(error), self.now())
                return
            if order.space.state == "failed":
                again = replace(order, space=changes.retry(order.space, self.now()))
                if taken or next_step(again, found, looks).do == "fail":
                    return
                self.store.retry_space(identity, self.now(), "service")
                continue
            step = next_step(order, found, looks)
            key = (order.space.generation, step.do, step.cluster)
            if step.do == "rest":
                return
            if key in taken:
                reason = f"{step.do} was done, and still: {step.why}"
                self.store.fail(order.space, reason, self.now())
                return
            taken.add(key)
            if not self._take(order, found, step):
                return

    def _look_at(self, order: Order) -> tuple[Looks | None, Found | None]:
        """How far the servers of its own are there, where it has such, and the space as it is there.

        Servers that are not up, or were not looked at yet, have nothing of it. Where some were taken down that had data, the rest is
        asked only to be removed; it says then that they are not there.
        """
        if order.own is None:
            return None, self.maker.find(order.space.id)
        looks = self._looks_at(order)
        had = [looks[each.name] == "up" for each in order.own.clusters if each.admitted]
        goes = order.space.state in ("deleting", "gone")
        if not any(had) or not (all(had) or goes):
            return looks, None
        return looks, self.maker.find(order.space.id)

    def _looks_at(self, order: Order) -> Looks:
        clusters = () if order.own is None else order.own.clusters
        return {each.name: self.clusters.look(each.name) for each in clusters}

    def _take(self, order: Order, found: Found | None, step: Step) -> bool:
        """Take one step; whether there may be a next one."""
        space = order.space
        if step.do == "begin":
            self.store.begin(space, self.now())
        elif step.do == "finish":
            self.store.finish(space, found.export if found else None, self.now())
        elif step.do == "fail":
            self.store.fail(space, step.why, self.now())
        elif step.do != "rest":
            return self._do(order, step)
        return True

    def _do(self, order: Order, step: Step) -> bool:
        space = order.space
        intent = self.store.intend(space, step.do, step.why, self.now())
        try:
            self._carry_out(order, step)
        except UnfinishedError as waits:  # the other spaces have their turn; the next look goes on
            self.store.did(intent, self.now())
            self.store.tell(space, "waiting", str(waits), self.now())
            return False
        except WavetankError as error:
            # Where a request came meanwhile, what it wants is looked at; else the space has failed, and rests.
            return not self.store.could_not(intent, space, str(error), self.now())
        self.store.did(intent, self.now())
        return True

    def _carry_out(self, order: Order, step: Step) -> None:
        space, deed = order.space, step.do
        if deed == "remove":
            self.maker.remove(space.id)
        elif deed == "make":
            self.maker.make(order)
        elif deed == "resize":
            self.maker.resize(order)
        elif deed == "change_access":
            self.maker.change_access(order.reached())
        elif deed == "take_down":
            self.store.release(space, step.cluster)
            self.clusters.take_down(step.cluster)
        elif order.own is not None:
            cluster = next(each for each in order.own.clusters if each.name == step.cluster)
            if deed == "bring_up":
                self.clusters.bring_up(order.own, cluster)
            else:
                self._admit(space, order.own, cluster)

    def _admit(self, space: Space, own: OwnServers, cluster: OwnCluster) -> None:
        """Look at servers that are up, and take them."""
        for server in own.servers_of(cluster):
            self.maker.see(server)
        self.store.admit(space, cluster.name, self.now())
        ends = self.clusters.ends(cluster.name)
        if ends is not None:
            text = (
                f"its servers end themselves at {ends:%Y-%m-%d %H:%M} UTC, and its data with them"
            )
            self.store.tell(space, "ends", text, self.now())


def _told(reasons: Iterable[str]) -> str:
    return "; ".join(sorted(set(reasons)))
