"""What a change does: one knob, or several together."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.compare.comparison import Comparison, Effect
from wavetank.compare.effects import effects_shown, single_effects
from wavetank.compare.tables.where import application_column, hidden
from wavetank.compare.words import origins_words
from wavetank.tables.table import Cell, Column, Definition, Table

MAX_ROWS = 200
MAX_KNOBS = 8


@dataclass(frozen=True)
class _Effect:
    effect: Effect
    first: str
    second: str


EFFECTS: Definition[_Effect] = Definition(
    "effects",
    "What a change does",
    (
        application_column(lambda i: i.effect.application),
        Column("knob", "Knob", lambda i: i.effect.knob),
        Column("before", "From", lambda i: i.effect.before),
        Column("after", "To", lambda i: i.effect.after),
        Column("between", "Between", lambda i: f"{i.first} → {i.second}", people=True),
        Column("first", "Between", lambda i: i.effect.first, machine=True),
        Column("second", "And", lambda i: i.effect.second, machine=True),
        Column("first_title", "Between", lambda i: i.first, machine=True),
        Column("second_title", "And", lambda i: i.second, machine=True),
        Column("rate_change_percent", "Change of rate", lambda i: i.effect.rate_change_percent, unit="change %", spread=True),
        Column("clear", "Verdict", lambda i: Cell("told apart" if i.effect.clear else "cannot be told apart", i.effect.clear),
               kind="boolean"),
        Column("separable", "Separable", lambda i: Cell("not separable" if i.effect.turns else "one knob", not i.effect.turns),
               kind="boolean", help="whether one knob made it"),
    ),
)  # fmt: skip


def sorted_effects(comparison: Comparison, application: str | None = None) -> list[Effect]:
    """An application's effects or all, those of one knob together, in the order in which knobs appear.

    Those that people are shown come first.
    """
    found = [effect for effect in comparison.effects if application in (None, effect.application)]
    shown = {(effect.first, effect.second) for effect in effects_shown(comparison)}
    knobs = list(dict.fromkeys(effect.knob for effect in found))
    return sorted(
        found,
        key=lambda e: (
            e.application, (e.first, e.second) not in shown, bool(e.turns), knobs.index(e.knob), e.before, e.after,
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class _Turned:
    """All pairs of one application in which one knob alone is turned from one value to another."""

    pairs: tuple[Effect, ...]

    @property
    def clear(self) -> list[float]:
        """Changes that are told apart, per cent, ascending."""
        return sorted(each.rate_change_percent.median for each in self.pairs if each.clear)

    def change(self) -> Cell:
        """The smallest and the largest change."""
        found = self.clear
        if not found:
            return Cell("tied", None)
        ends = dict.fromkeys(f"{value:+.0f}" for value in (found[0], found[-1]))
        return Cell(f"{' to '.join(ends)} %", found[-1])


KNOBS: Definition[_Turned] = Definition(
    "knobs",
    "What each knob changes",
    (
        Column("knob", "Knob", lambda i: i.pairs[0].knob),
        Column("before", "From", lambda i: i.pairs[0].before),
        Column("after", "To", lambda i: i.pairs[0].after),
        Column("rate_change_percent", "Change of rate", lambda i: i.change(), kind="number"),
        Column("clear", "Told apart", lambda i: f"in {len(i.clear)} of {len(i.pairs)} pairs"),
    ),
)


def knobs_table(comparison: Comparison, application: str) -> Table:
    """What single knobs do to one application: the largest changes that are told apart, then the others."""
    found: dict[tuple[str, str, str], list[Effect]] = {}
    for each in single_effects(comparison.effects):
        if each.application == application:
            found.setdefault((each.knob, each.before, each.after), []).append(each)
    turned = [_Turned(tuple(pairs)) for pairs in found.values()]
    turned.sort(key=lambda each: -max(map(abs, each.clear), default=0.0))
    return KNOBS.table(turned, max_rows=MAX_KNOBS)


def effects_table(comparison: Comparison, application: str | None = None) -> Table:
    """The effects with their intervals, of one application or of all."""
    effects = sorted_effects(comparison, application)
    titles = {c.id: f"{c.cluster_title}, {c.mapping}" for c in comparison.configurations}
    items = [
        _Effect(e, titles.get(e.first, e.first), titles.get(e.second, e.second)) for e in effects
    ]
    shown = {(e.first, e.second) for e in effects_shown(comparison)}
    measured = origins_words(
        c for c in comparison.configurations if application in (None, c.application)
    )
    people = [item for item in items if (item.effect.first, item.effect.second) in shown]
    n_left = len(items) - len(people)
    pairs = "1 pair that differs" if n_left == 1 else f"{n_left} pairs that differ"
    return EFFECTS.table(
        items,
        people=people,
        caption="Two configurations that differ in nothing else; pairs that differ in several knobs are shown "
        "against the baseline, with another mapping against its fastest. "
        + (f"{pairs} in several knobs: in the CSV and JSON output only. " if n_left else "")
        + f"Computed from rates that were {measured.lower()}.",
        max_rows=MAX_ROWS,
        columns=hidden(e.application for e in effects),
    )
