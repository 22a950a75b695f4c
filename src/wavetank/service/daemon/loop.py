"""The thread that makes spaces: when a request came, when something is not settled yet, and at times to see that all is there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from wavetank.errors import WavetankError
from wavetank.service.core.places import audit_log
from wavetank.service.daemon.audit import AuditLog
from wavetank.service.daemon.settings import Settings
from wavetank.service.reconcile.clusters import Clusters
from wavetank.service.reconcile.driver import Reconciler
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

    def start(self) -> None:
        """Start the thread: it makes good what a killed process left, first."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to do. Any thread may call."""
        self._bell.set()

    def stop(self) -> None:
        """End after the step that is being taken, and wait for it."""
        self._stop.set()
        self._bell.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._rounds()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self.failure = error
        finally:
            self._ended()

    def _rounds(self) -> None:
        due: list[Callable[[], object]] = [self._driver.recover]
        examined = self._clock()
        while not self._stop.is_set():
            self._bell.clear()
            if self._clock() - examined >= self._settings.examine_s:
                due = due or [self._driver.examine]
            if self._tried(due[0] if due else self._driver.settle) and due:
                due, examined = [], self._clock()
                self._tried(self._forget)
            self._tried(self._audit.follow)
            self._bell.wait(self._settings.retry_s)
        self._tried(self._audit.follow)

    def _forget(self) -> None:
        self._store.forget(self._now() - timedelta(seconds=self._settings.keep_gone_s))

    @staticmethod
    def _tried(work: Callable[[], object]) -> bool:
        try:
            work()
        except WavetankError as error:
            _log.error("%s", error)
            return False
        return True
