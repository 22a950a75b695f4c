"""The threads that make spaces: when a request came, when something is not settled yet, and at times to see that all is there.

Each server has one thread for its spaces, and one that shuts out clients which lost their access. So no server waits for another one,
and nobody who lost access keeps it while something else is done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from wavetank.errors import WavetankError
from wavetank.service.core.places import audit_log
from wavetank.service.daemon.audit import AuditLog
from wavetank.service.daemon.settings import Settings
from wavetank.service.reconcile.clusters import Clusters
from wavetank.service.reconcile.driver import OWN_SERVERS, Reconciler
from wavetank.service.reconcile.lanes import Lanes
from wavetank.service.reconcile.maker import Maker
from wavetank.service.store.store import Store

_log = logging.getLogger(__name__)


class Loop:
    """Runs the driver until it is stopped.

    Where the store or the audit log cannot be written, it says so and tries again later. Any other exception is a fault of the
    program: the loop ends by it, and ``failure`` has it.

    Attributes:
        failure: what ended the loop before it was stopped; None: nothing.
    """

    def __init__(
        self,
        store: Store,
        maker: Maker,
        settings: Settings,
        now: Callable[[], datetime],
        clock: Callable[[], float],
        ended: Callable[[], None],
        clusters: Clusters | None = None,
    ) -> None:
        """A loop that does not run yet.

        Args:
            store: open.
            maker: of all kinds.
            settings: of the service.
            now: the time in UTC.
            clock: seconds from any moment on.
            ended: called by the loop's thread when it ends, however it does.
            clusters: brings up servers of spaces' own; None: nothing does.
        """
        self.failure: BaseException | None = None
        self._store = store
        self._settings = settings
        self._now = now
        self._clock = clock
        self._ended = ended
        self._stop = threading.Event()
        self._bell = threading.Event()
        self._driver = Reconciler(store, maker, now, self._stop.is_set, clusters)
        self._audit = AuditLog(store, audit_log(settings.folder))
        self._thread = threading.Thread(target=self._run, name="spaces", daemon=True)
        self._work, self._doors = Lanes(self._fail), Lanes(self._fail)
        self._examined_s: float | None = None
        self._shut: dict[str, int] = {}
        """Unsettled space -> its generation when clients that it leaves out were last shut out."""

    def start(self) -> None:
        """Start the thread: it makes good what a killed process left, first."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to do. Any thread may call."""
        self._bell.set()

    def stop(self) -> None:
        """End after the steps that are being taken, and wait for them."""
        self._stop.set()
        self._bell.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._tried(self._driver.close_intents) and not self._stop.is_set():
                self._bell.wait(self._settings.retry_s)
            while not self._stop.is_set():
                self._bell.clear()
                self._tried(self._offer)
                self._tried(self._audit.follow)
                self._bell.wait(self._settings.retry_s)
            for lanes in (self._doors, self._work):
                lanes.close()
            self._tried(self._audit.follow)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self._fail(error)
        finally:
            self._ended()

    def _fail(self, error: BaseException) -> None:
        """End the loop by a fault of the program."""
        self.failure = self.failure or error
        self._stop.set()
        self._bell.set()

    def _offer(self) -> None:
        """Have all be done that is to be done now."""
        clock_s = self._clock()
        if self._examined_s is None or clock_s - self._examined_s >= self._settings.examine_s:
            self._examined_s = clock_s
            self._work.offer("examination", frozenset(), partial(self._tried, self._examine))
        unsettled = self._store.unsettled()
        self._shut = {each: self._shut.get(each, 0) for each in unsettled}
        for identity in unsettled:
            self._offer_space(identity)

    def _offer_space(self, identity: str) -> None:
        servers = self._driver.servers_of(identity)
        space = self._store.space(identity)
        if space.made_generation and self._shut.get(identity) != space.generation:
            self._shut[identity] = space.generation
            for node in servers - {OWN_SERVERS}:
                shuts = partial(self._tried, partial(self._driver.shut_out, identity, node))
                self._doors.offer(f"{identity} {node}", frozenset({node}), shuts)
        settles = partial(self._tried, partial(self._driver.settle_space, identity))
        self._work.offer(identity, servers, settles)

    def _examine(self) -> None:
        """Look at all that is there, and have done what is to be done; where that cannot be, it is tried again soon."""
        try:
            for identity in self._driver.differing():
                self._offer_space(identity)
        except WavetankError:
            self._examined_s = None
            raise
        self._store.forget(self._now() - timedelta(seconds=self._settings.keep_gone_s))

    @staticmethod
    def _tried(work: Callable[[], object]) -> bool:
        try:
            work()
        except WavetankError as error:
            _log.error("%s", error)
            return False
        return True
