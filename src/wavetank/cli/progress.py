"""Progress of something long, on standard error: a bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import logging
import sys
import time
from typing import Self

import click

from wavetank.steps import STEPS


class Progress:
    """What is happening, how far it is, and how long it still takes. Use as a context."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                TimeElapsedColumn(), TextColumn("{task.fields[remaining]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task(title, total=None, remaining="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def says(self, text: str) -> None:
        """Print a sentence on what is happening."""
        elapsed = time.monotonic() - self._started
        line = f"[{elapsed:6.1f} s] {text}"
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            click.echo(line, err=True)

    def at(self, n_done: int, n_runs: int, remaining_s: float) -> None:
        """Show how far it is."""
        from wavetank.units import format_estimate

        left = f"about {format_estimate(remaining_s)} left" if n_done < n_runs else "done"
        if self._bar is not None:
            self._bar.update(self._task, completed=n_done, total=n_runs, remaining=left)
        else:
            self.says(f"{n_done} of {n_runs} measurements done, {left}")


class _Lines(logging.Handler):
    """Steps of what takes minutes, with the seconds since this program began, as Progress says them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line, on what standard error is now: a bar may be shown there."""
        click.echo(f"[{record.relativeCreated / 1000:6.1f} s] {record.getMessage()}", err=True)


def print_steps() -> None:
    """Have every step be a line on standard error from now on, whatever the level of the logs is."""
    steps = logging.getLogger(STEPS)
    steps.setLevel(logging.INFO)
    if not any(isinstance(each, _Lines) for each in steps.handlers):
        steps.addHandler(_Lines())
