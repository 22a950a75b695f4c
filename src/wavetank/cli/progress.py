"""Progress on standard error: one line that is rewritten on a terminal, lines in a log, JSON lines on request.

Whatever takes long tells it by ``wavetank.steps``; this is the one place that shows it.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import click

from wavetank.cli.streams import erase_before_lines
from wavetank.steps import FAR, STEPS, Far, doing, steps

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Mode: TypeAlias = Literal["auto", "lines", "json"]
SHOWN_AFTER_S = 0.5
"""What takes no longer is not shown on a terminal."""
STILL_EVERY_S = 60.0
"""A log is told so often that something goes on of which nobody knows how far it is."""
_JSON_EVERY_S = 1.0


class Progress:
    """Measurements of a plan: what is happening, how far it is, and how long it still takes. Use as a context."""

    def __init__(self, title: str) -> None:
        self._doing = doing(title, unit="measurements", every_s=0)

    def __enter__(self) -> Self:
        self._doing.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._doing.__exit__(*exception)

    def says(self, text: str) -> None:
        """Print a sentence on what is happening."""
        steps.info("%s", text)

    def at(self, n_done: int, n_runs: int, remaining_s: float) -> None:
        """Show how far it is."""
        self._doing.at(n_done, n_runs, remaining_s)


def far_words(far: Far, elapsed_s: float) -> str:
    """How far something is: "reading app.strace: 45 % of 2.6 GiB, about 40 s left"."""
    from wavetank.units import format_estimate, format_size

    if far.total is None:
        return f"{far.what}, for {format_estimate(elapsed_s)}"
    left = "" if far.left_s is None else f", about {format_estimate(far.left_s)} left"
    if far.done >= far.total:
        left = ""
    if far.unit == "measurements":
        return f"{far.done:.0f} of {far.total:.0f} measurements done{left}"
    if far.unit == "steps":
        return f"{far.what}: step {min(far.done + 1, far.total):.0f} of {far.total:.0f}"
    share = 100 * far.done / far.total if far.total else 100.0
    return f"{far.what}: {share:.0f} % of {format_size(int(far.total))}{left}"


class _Display(logging.Handler, ABC):
    """Shows the records of steps: sentences, and how far the innermost thing is that is being done."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()
        self._open: list[tuple[Far, float]] = []  # with the time when each began
        self._told = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, on what standard error is now."""
        far: Far | None = getattr(record, FAR, None)
        if far is None:
            self._says(record.getMessage(), time.monotonic() - self._began)
        else:
            self._follow(far, time.monotonic())

    def _follow(self, far: Far, now: float) -> None:
        if far.state == "begun":
            self._open.append((far, now))
            self._told = now
            self._begins(far)
            return
        at = next((n for n, (each, _) in enumerate(self._open) if each.number == far.number), None)
        if at is None:
            return
        began = self._open[at][1]
        self._open[at] = far, began
        if far.state == "ended":
            del self._open[at]
            self._ends(far, now - began)
        elif at == len(self._open) - 1:
            self._goes_on(far, now - began)

    @abstractmethod
    def _says(self, text: str, elapsed_s: float) -> None:
        """A sentence; seconds since this program began."""

    @abstractmethod
    def _begins(self, far: Far) -> None: ...

    @abstractmethod
    def _goes_on(self, far: Far, elapsed_s: float) -> None: ...

    @abstractmethod
    def _ends(self, far: Far, elapsed_s: float) -> None: ...

    def _is_due(self, every_s: float) -> bool:
        """Whether it is time for another line; then that is now."""
        now = time.monotonic()
        if now - self._told < every_s:
            return False
        self._told = now
        return True


class Lines(_Display):
    """A line for each sentence, and now and then one that says how far it is."""

    def __init__(self) -> None:
        super().__init__()
        self._still: threading.Timer | None = None

    def _says(self, text: str, elapsed_s: float) -> None:
        click.echo(f"[{elapsed_s:6.1f} s] {text}", err=True)

    def _begins(self, far: Far) -> None:
        if far.say:
            self._line(far.what)
        self._remind()

    def _goes_on(self, far: Far, elapsed_s: float) -> None:
        if self._is_due(far.every_s):
            self._line(far_words(far, elapsed_s))

    def _ends(self, far: Far, elapsed_s: float) -> None:
        if self._still is not None and not self._open:
            self._still.cancel()
            self._still = None

    def _line(self, text: str) -> None:
        self._says(text, time.monotonic() - self._began)

    def _remind(self) -> None:
        """Say once a minute that something still goes on, where nothing else says it."""
        if self._still is not None:
            self._still.cancel()
        self._still = threading.Timer(STILL_EVERY_S, self._goes_on_still)
        self._still.daemon = True
        self._still.start()

    def _goes_on_still(self) -> None:
        with self.lock or threading.Lock():
            if self._open:
                far, began = self._open[-1]
                if far.every_s and self._is_due(STILL_EVERY_S):
                    self._line(far_words(far, time.monotonic() - began))
                self._remind()


class JsonLines(_Display):
    """An object a line, for programs."""

    def _says(self, text: str, elapsed_s: float) -> None:
        self._put({"event": "step", "text": text})

    def _begins(self, far: Far) -> None:
        self._far(far, 0.0)

    def _goes_on(self, far: Far, elapsed_s: float) -> None:
        if self._is_due(min(far.every_s, _JSON_EVERY_S)):
            self._far(far, elapsed_s)

    def _ends(self, far: Far, elapsed_s: float) -> None:
        self._far(far, elapsed_s)

    def _far(self, far: Far, elapsed_s: float) -> None:
        self._put(
            {
                "event": "progress", "state": far.state, "what": far.what, "done": far.done, "total": far.total,
                "unit": far.unit or None, "elapsed_s": round(elapsed_s, 1),
                "left_s": None if far.left_s is None else round(far.left_s, 1),
            }
        )  # fmt: skip

    def _put(self, event: dict[str, object]) -> None:
        time_s = round(time.monotonic() - self._began, 1)  # since this program began
        click.echo(json.dumps({"time_s": time_s, **event}), err=True)


class Terminal(_Display):
    """One line that is rewritten, below the sentences that stay."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Bar | None = None
        self._later: threading.Timer | None = None

    def _says(self, text: str, elapsed_s: float) -> None:
        line = f"[{elapsed_s:6.1f} s] {text}"
        if self._bar is None:
            click.echo(line, err=True)
        else:
            self._bar.console.print(line, markup=False, highlight=False)

    def _begins(self, far: Far) -> None:
        if self._bar is not None:
            self._show(far)
        elif self._later is None:
            self._later = threading.Timer(SHOWN_AFTER_S, self._start)
            self._later.daemon = True
            self._later.start()

    def _goes_on(self, far: Far, elapsed_s: float) -> None:
        self._show(far)

    def _ends(self, far: Far, elapsed_s: float) -> None:
        if self._open:
            self._show(self._open[-1][0])
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            erase_before_lines(False)

    def _start(self) -> None:
        """Show the line: what is done lasts."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self.lock or threading.Lock():
            if not self._open or self._bar is not None:
                return
            self._bar = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(bar_width=20), TimeElapsedColumn(),
                TextColumn("{task.fields[left]}", markup=False), console=Console(stderr=True), transient=True,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            erase_before_lines(True)
            self._bar.add_task("", total=None, left="")
            self._show(self._open[-1][0])
            self._bar.start()

    def _show(self, far: Far) -> None:
        if self._bar is None:
            return
        from wavetank.units import format_estimate

        (task,) = self._bar.task_ids
        words = far.what if far.total is None else far_words(replace(far, left_s=None), 0.0)
        if far.unit == "measurements":
            words = f"{far.what}: {words}"
        left = "" if far.left_s is None else f"about {format_estimate(far.left_s)} left"
        self._bar.update(task, description=words, total=far.total, completed=far.done, left=left)


def show_steps(mode: Mode) -> None:
    """Show every step on standard error from now on, whatever the level of the logs is.

    Args:
        mode: "auto" is a rewritten line on a terminal, and lines elsewhere.
    """
    logger = logging.getLogger(STEPS)
    logger.setLevel(logging.INFO)
    for handler in [each for each in logger.handlers if isinstance(each, _Display)]:
        logger.removeHandler(handler)
    if mode == "json":
        logger.addHandler(JsonLines())
    elif mode == "auto" and sys.stderr.isatty():
        logger.addHandler(Terminal())
    else:
        logger.addHandler(Lines())
