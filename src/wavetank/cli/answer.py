"""The answer of a command on one screen: its first line is the answer, and a line at its end names where the rest is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from wavetank.cli.grid import broken, wrapped

if TYPE_CHECKING:
    from wavetank.compare.comparison import Comparison, Verdict
    from wavetank.tables.table import Table

_Size = TypeVar("_Size")

MOST_LINES = 25
_MOST_REASONS = 2
_SIZES = (
    (8, 3, 4),
    (8, 3, 3),
    (8, 3, 2),
    (6, 3, 2),
    (6, 2, 2),
    (5, 2, 1),
    (4, 1, 1),
    (3, 1, 1),
    (2, 0, 1),
    (0, 0, 1),
)
"""Rows of a table, sentences below it, lines of each: the first of these that fits is taken."""


def comparison_lines(comparison: Comparison, width: int | None, rest: str) -> list[str]:
    """What a comparison answers.

    Args:
        comparison: of a campaign or a study.
        width: of the terminal, characters; None: nothing wraps.
        rest: the command that prints everything.
    """
    last = f"Everything: {rest}"
    return first_that_fits(_SIZES, lambda size: _lines(comparison, width, *size), last)


def brief_lines(comparison: Comparison) -> list[str]:
    """The answer alone, a line for each application."""
    if comparison.verdicts:
        return [_named(comparison, each) for each in comparison.verdicts]
    return [each.sentence for each in comparison.advice[:1]] or ["Nothing was measured."]


def _named(comparison: Comparison, verdict: Verdict) -> str:
    several = len(comparison.verdicts) > 1
    return f"{verdict.application}: {verdict.sentence}" if several else verdict.sentence


def _lines(
    comparison: Comparison, width: int | None, n_rows: int, n_sentences: int, n_lines: int
) -> list[str]:
    from wavetank.compare.tables.choice import choice_table

    if not comparison.verdicts:
        told = [each.sentence for each in comparison.advice] or ["Nothing was measured."]
        return list(
            _clipped([*told, *_missing(comparison)], width, n_lines + 1, 3 * n_sentences + 2)
        )
    lines: list[str] = []
    rankings = {
        each.application: each for each in comparison.rankings if each.by == comparison.rank_by
    }
    for verdict in comparison.verdicts:
        lines += shortened(_named(comparison, verdict), width)
        if n_rows:
            lines += _clipped([verdict.run], width, 2)
            table = choice_table(comparison, rankings[verdict.application], n_rows)
            lines += ["", *table_lines(table, width)]
            if (left := len(rankings[verdict.application].places) - len(table.rows)) > 0:
                lines.append(f"and {left} more")
    advice = [
        each
        for about in ("application", "cluster")
        for each in comparison.advice
        if each.about == about
    ]
    if n_sentences and advice:
        lines.append("")
        for each in advice[:n_sentences]:
            severity = "" if each.severity is None else f"{each.severity}: "
            lines += _clipped([f"{severity}{each.sentence}"], width, n_lines)
            lines += [] if each.paste is None else [f"  -> {each.paste}"]
    return lines + list(_clipped(_missing(comparison), width, n_lines))


def _missing(comparison: Comparison) -> list[str]:
    """Why configurations have no result: a sentence for each of the reasons that most have."""
    why = Counter(each.reason for each in comparison.not_measured)
    return [
        f"{n} {'configuration was' if n == 1 else 'configurations were'} not measured: {reason}"
        for reason, n in why.most_common(_MOST_REASONS)
    ]


def table_lines(table: Table, width: int | None) -> list[str]:
    """A table's head and rows, in the columns that fit."""
    from wavetank.cli.output import text_of

    found = text_of(table, width)
    return [*found.head, *found.body]


def _clipped(
    sentences: Iterable[str], width: int | None, n_lines: int, n_sentences: int | None = None
) -> Iterable[str]:
    """Sentences in so many lines each at most."""
    for sentence in list(sentences)[:n_sentences]:
        yield from shortened(sentence, width, n_lines)


def shortened(text: str, width: int | None, n_lines: int | None = None) -> list[str]:
    """A sentence as lines of a terminal, so many at most; as one where nothing wraps."""
    if width is None:
        return [text]
    parts = wrapped(text, width)
    return parts if n_lines is None else clip(parts, n_lines, width)


def first_that_fits(
    sizes: Iterable[_Size], lines_of: Callable[[_Size], list[str]], last: str
) -> list[str]:
    """The lines of the first size that fits a screen with ``last`` under them; of the last size as many as fit."""
    lines: list[str] = []
    for size in sizes:
        lines = lines_of(size)
        if len(lines) + 1 <= MOST_LINES:
            return [*lines, last]
    return [*lines[: MOST_LINES - 2], "...", last]


def clip(parts: Sequence[str], n_lines: int, width: int) -> list[str]:
    """The first lines, with dots at the end where there are more."""
    if len(parts) <= n_lines:
        return list(parts)
    return [*parts[: n_lines - 1], f"{parts[n_lines - 1][: width - 4].rstrip(' .,;')} ..."]


def screen(first: Sequence[str], told: Sequence[str], last: str, width: int | None) -> list[str]:
    """Lines of a screen at most: what is first is whole, and of what is told each as long as there is room.

    Args:
        first: the answer, and more that is not shortened.
        told: lines that may have an indent, each to be wrapped, shortened or left out.
        last: where the rest is.
        width: of the terminal; None: nothing wraps.
    """
    above = [part for line in first for part in shortened(line, width)]
    room = MOST_LINES - len(above) - 1
    parts = [broken(line, width).split("\n") if width else [line] for line in told]
    for n_lines in (4, 3, 2, 1):
        below = [part for each in parts for part in clip(each, n_lines, width or 0)]
        if len(below) <= room:
            return [*above, *below, last]
    return [*above, *below[: room - 1], f"and {len(below) - room + 1} more", last]
