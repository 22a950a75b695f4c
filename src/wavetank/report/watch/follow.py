"""What the folder of a campaign says while the campaign runs: how far it is, and the page of what there is."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from wavetank.campaign.database import COMPARISON, SPEC
from wavetank.campaign.load import Loaded
from wavetank.campaign.plan import Plan
from wavetank.campaign.results_folder import is_being_written, open_store
from wavetank.campaign.store import Store
from wavetank.campaign.stored_campaign import HowFar, how_far, stored_plan
from wavetank.errors import WavetankError
from wavetank.interfere import stored_study
from wavetank.interfere.load import STUDY
from wavetank.interfere.plan import InterferePlan
from wavetank.report.gather import read_folder
from wavetank.report.page.html import Watched, render, render_waiting
from wavetank.units import format_estimate

SHARE = 0.05
"""Of the time while a campaign runs, so much at most goes into making its page: measurements beside it need the processors."""

_log = logging.getLogger(__name__)
_Recalled = tuple[Loaded, Plan] | InterferePlan


@dataclass(frozen=True)
class State:
    """How far a campaign is.

    Attributes:
        version: of the results to show; another one says that there are others.
        is_running: whether a process adds to them now.
        sentence: for people.
    """

    version: str
    is_running: bool
    sentence: str


class Follower:
    """Follows a folder of results. May be asked by several threads.

    Args:
        folder: of the results.
        against: results folder or baseline of an earlier campaign, to be compared with.
        clock: seconds, for how often a page is made.
    """

    def __init__(
        self, folder: Path, against: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._against, self._clock = folder, against, clock
        self._lock = threading.RLock()
        self._recalled: tuple[tuple[int, int], _Recalled] | None = None
        self._last: State | None = None
        self._page: tuple[str, bytes] | None = None  # of which version
        self._next = 0.0  # when another one may be made

    def look(self) -> State:
        """How far it is now; the version is that of the page which ``page`` gives.

        Raises:
            MeasurementError: there are no results, or the campaign's folder is of another version.
        """
        with self._lock:
            found = self._look()
            if self._page is not None and found.is_running and self._clock() < self._next:
                found = replace(found, version=self._page[0])
            return found

    def page(self) -> bytes:
        """The page of what there is, HTML; where it cannot be made yet, one that says why."""
        with self._lock:
            state = self.look()
            if self._page is not None and self._page[0] == state.version:
                return self._page[1]
            began = self._clock()
            watched = Watched(state.version, state.sentence)
            try:
                text = render(read_folder(self._folder, self._against), watched)
            except (WavetankError, sqlite3.Error) as error:
                _log.info("no page of %s: %s", self._folder, error)
                text = render_waiting(self._folder.resolve().name, str(error), watched)
            now = self._clock()
            self._next = now + (now - began) * (1 / SHARE - 1)
            self._page = state.version, text.encode("utf-8")
            return self._page[1]

    def _look(self) -> State:
        is_running = is_being_written(self._folder)
        try:
            with open_store(self._folder) as store:
                version = ".".join(
                    str(each) for each in (*store.marks(), *_stamp(self._folder / COMPARISON), int(is_running))
                )  # fmt: skip
                if self._last is None or self._last.version != version:
                    self._last = State(version, is_running, self._sentence(store, is_running))
        except sqlite3.Error as error:  # it is being written; the next look tells more
            if self._last is None:
                return State("", is_running, f"{self._folder} cannot be read now: {error}")
            _log.info("%s: %s", self._folder, error)
        return self._last

    def _sentence(self, store: Store, is_running: bool) -> str:
        try:
            return far_sentence(self._far(store), is_running)
        except WavetankError as error:  # its files are being copied, or are gone
            _log.info("how far %s is, is not known: %s", self._folder, error)
            return "The campaign is running." if is_running else "No campaign is running."

    def _far(self, store: Store) -> HowFar:
        """How far it is; the plan is recalled once for each file that it is made of."""
        is_study = stored_study.is_study(store)
        stamp = _stamp(self._folder / (STUDY if is_study else SPEC))
        if self._recalled is None or self._recalled[0] != stamp:
            found = stored_study.recalled_study_plan(store)[1] if is_study else stored_plan(store)
            self._recalled = stamp, found
        recalled = self._recalled[1]
        if isinstance(recalled, InterferePlan):
            return stored_study.how_far(store, recalled)
        return how_far(store, *recalled)


def far_sentence(far: HowFar, is_running: bool) -> str:
    """How far a campaign is, for people."""
    of = f"{'at most ' if far.at_most else ''}{far.total:,} {far.unit}"
    if is_running:
        left = f", about {format_estimate(far.left_s)} left" if far.done < far.total else ""
        return f"The {far.kind} is running: {far.done:,} of {of} are made{left}."
    if far.done >= far.total:
        return f"The {far.kind} is over: all {far.total:,} {far.unit} are made."
    made = f"{far.done:,} of {of} are made"
    ending = far.ending
    if ending is None:
        return f"No {far.kind} is running: {made}."
    if not ending.is_whole:
        return f"The {far.kind} was stopped: {made}. Run it again to go on."
    if not ending.n_failed and not ending.n_not_afforded:
        return f"The {far.kind} is over: {made}, and no more are needed."
    parts = [made]
    if ending.n_failed:
        parts.append(f"{ending.n_failed:,} failed")
    if ending.n_not_afforded:
        parts.append(f"{ending.n_not_afforded:,} left out, as the budget is spent")
    return f"The {far.kind} ended: {', '.join(parts)}. Run it again to go on."


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file is written anew."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
