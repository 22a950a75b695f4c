"""Advice on what the choice changes in the whole run, and against the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.against import against_words, speed_words
from wavetank.compare.comparable import mark
from wavetank.compare.comparison import Advice, Effect, Ranking
from wavetank.compare.configuration import Configuration, Run
from wavetank.compare.effects import turn_words
from wavetank.units import format_duration

LITTLE_PERCENT = 5.0
"""A change of the whole run that is smaller is said before anything else."""


def run_advice(configurations: Sequence[Configuration], best: Configuration) -> tuple[Advice, ...]:
    """What the choice changes in the whole run; the first thing to say where that is little.

    Args:
        configurations: of one application, with what they save.
        best: that ranks first.
    """
    run = best.run
    if run is None:
        return ()
    if run.whole_s is None or run.traced_elapsed_s is None or run.traced_io_s is None:
        return (
            Advice(
                about="application",
                application=best.application,
                sentence="How much of the whole run is I/O is not known: the trace does not tell "
                "how long the application ran, or how long its calls took.",
                evidence=(),
            ),
        )
    reference = next((each for each in configurations if each.id == run.reference), None)
    traced = (
        f"I/O was {_percent(run.traced_io_percent)} of the traced run "
        f"({format_duration(run.traced_io_s)} of {format_duration(run.traced_elapsed_s)})"
    )
    evidence = [_traced_words(run), *(_words_of_run(each) for each in configurations)]
    saving, about = run.saved_percent, "application"
    if saving is None or reference is None or reference.id == best.id:
        sentence = (
            f"{traced}. With {_words(best)} the whole run takes {_whole(best)} (computed), "
            f"{_percent(run.io_percent)} of it I/O."
        )
    elif not run.told_apart:
        sentence = (
            f"{traced}. The whole run with {_words(best)} cannot be told apart from that with "
            f"{_words(reference)}."
        )
    elif abs(saving) < LITTLE_PERCENT:
        about = "choice"
        sentence = (
            f"The choice changes little: {traced}. {_words(best)} saves "
            f"{_percent(saving)} of the whole run against {_words(reference)}: "
            f"{_whole(best)} in place of {_whole(reference)} (computed)."
        )
    else:
        sentence = (
            f"{traced}. With {_words(best)} the whole run takes {_whole(best)} in place of "
            f"{_whole(reference)} with {_words(reference)} (computed): {_percent(saving)} "
            f"{'less' if saving > 0 else 'more'}."
        )
    return (
        Advice.model_validate(
            {
                "about": about,
                "application": best.application,
                "sentence": sentence,
                "evidence": evidence,
            }
        ),
    )


def baseline_advice(
    configurations: Sequence[Configuration], ranking: Ranking, effects: Sequence[Effect]
) -> tuple[Advice, ...]:
    """Every configuration against the baseline, best first."""
    by_id = {each.id: each for each in configurations}
    compared = [
        each for place in ranking.places if (each := by_id[place.configuration]).against is not None
    ]
    if not compared:
        return ()
    best = compared[0]
    base = by_id[best.against.configuration] if best.against else best
    sentences = []
    first = ranking.places[0].configuration
    if first == best.id and best.against is not None:
        sentences.append(f"{_words(best)}, against {_words(base)}: {against_words(best.against)}.")
    else:
        sentences.append(f"The baseline, {_words(by_id[first])}, ranks first.")
    faster = [
        each
        for each in compared
        if each.against is not None
        and each.against.told_apart
        and each.against.times_as_fast is not None
        and each.against.times_as_fast.median > 1
    ]
    sentences.append(
        f"{len(faster) or 'None'} of {len(compared)} other configurations "
        f"{'is' if len(faster) == 1 else 'are'} told apart from {base.cluster_title} as faster."
    )
    several = {
        frozenset((effect.first, effect.second)): turn_words(effect)
        for effect in effects
        if effect.turns
    }
    return (
        Advice(
            about="cluster",
            application=best.application,
            sentence=" ".join(sentences),
            evidence=tuple(
                f"{_words(each)}: {against_words(each.against)}{mark(each)}"
                + (f"; {words}" if (words := several.get(_pair(each))) else "")
                for each in compared
                if each.against is not None
            ),
        ),
    )


def _pair(each: Configuration) -> frozenset[str]:
    return frozenset((each.id, each.against.configuration if each.against else each.id))


def _words(each: Configuration) -> str:
    return f"{each.cluster_title} with {each.mapping}"


def _whole(each: Configuration) -> str:
    known = each.run is not None and each.run.whole_s is not None
    return format_duration(each.run.whole_s.median) if known else "not known"  # type: ignore[union-attr]


def _words_of_run(each: Configuration) -> str:
    words = f"{_words(each)}: whole run {_whole(each)} (computed), I/O {format_duration(each.io_time_s.median)}"
    if each.against is not None:
        words += f", against the baseline {speed_words(each.against)}"
    return words


def _traced_words(run: Run) -> str:
    metadata = "with" if run.with_metadata else "without"
    return (
        f"I/O of the traced run: time at I/O calls of the rank with most of it, {metadata} calls that "
        "move no data, measured; whole run elsewhere: the rest of the traced run + I/O time there"
    )


def _percent(value: float | None) -> str:
    """A share with the digits that mean something: "5 %", "0.3 %"."""
    if value is None:
        return "an unknown part"
    value = abs(value)
    return f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.1g} %"
