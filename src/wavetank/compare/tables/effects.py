"""What a change does: one knob, or several together."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.compare.comparison import Comparison, Effect
from wavetank.compare.effects import effects_shown
from wavetank.compare.tables.where import application_column, hidden
from wavetank.compare.words import origins_words
from wavetank.tables.table import Cell, Column, Definition, Table

MAX_ROWS = 200


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
