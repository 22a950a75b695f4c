"""The table of ``wavetank check``."""

from __future__ import annotations

from typing import get_args

from wavetank.compare.regression import Check, Verdict, Word
from wavetank.measure.statistics import Estimate
from wavetank.tables.table import Column, Definition, Table

MOST_SHOWN = 10


def _n(of: Estimate | None) -> int:
    return 0 if of is None else len(of.values)


CHECK: Definition[Verdict] = Definition(
    "campaign-check",
    "Against the baseline",
    (
        Column("application", "Application", lambda v: v.application),
        Column("cluster", "Cluster", lambda v: v.cluster, machine=True),
        Column("title", "Title", lambda v: v.cluster_title, wide=True),
        Column("mapping", "Mapping", lambda v: v.mapping),
        Column("baseline_s", "Baseline", lambda v: v.before, unit="s", spread=True, brief=True, help="I/O time in the baseline"),
        Column("now_s", "Now", lambda v: v.after, unit="s", spread=True, brief=True, help="I/O time in the results"),
        Column("n_baseline", "Repetitions of the baseline", lambda v: _n(v.before), kind="integer", machine=True),
        Column("n_now", "Repetitions now", lambda v: _n(v.after), kind="integer", machine=True),
        Column("change_percent", "Change", lambda v: v.change, unit="change %", spread=True,
               help="of the median I/O time; its interval is of this change alone"),
        Column("verdict", "Verdict", lambda v: v.word, help='"slower", "faster", "not told apart", or "cannot tell"'),
        Column("reason", "Why it cannot be told", lambda v: v.reason or None, wide=True),
        Column("repetitions_to_tell", "Repetitions to tell it", lambda v: v.to_tell, kind="integer",
               help="of each side, about: with this noise they tell the slowdown that is waited for in 9 of 10 checks"),
        Column("differs", "Set otherwise", lambda v: list(v.differs), kind="list", wide=True,
               help="of the cluster: settings and limits that are not as they were"),
    ),
    key="check",
    command="check",
)  # fmt: skip


def check_table(check: Check, most: int | None = None) -> Table:
    """A row for each configuration, of which people see the first ones; and not columns that are empty in all rows."""
    verdicts = check.verdicts
    brief = most is not None
    hidden = {
        "reason": brief or not any(each.reason for each in verdicts),
        "differs": brief or not any(each.differs for each in verdicts),
        "repetitions_to_tell": brief,
        "application": brief and len({each.application for each in verdicts}) <= 1,
    }
    order = get_args(Word)
    people = sorted(verdicts, key=lambda each: order.index(each.word))[:most]
    return CHECK.table(
        verdicts,
        people=people,
        title=f"{check.campaign} against the baseline",
        caption=summary(check),
        columns={key: {"machine": empty} for key, empty in hidden.items()},
    )


def answer(check: Check) -> str:
    """What changed, the worst first: "Slower: NFS with 1PxCN, by 23 %. 5 of 6 configurations are not told apart."."""
    found = []
    for word in ("slower", "faster"):
        changed = [each for each in check.verdicts if each.word == word and each.change is not None]
        if changed:
            most = max(changed, key=lambda each: abs(each.change.median) if each.change else 0.0)
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            percent = abs(most.change.median) if most.change else 0.0
            found.append(
                f"{word.capitalize()}: {most.cluster_title} with {most.mapping}, by {percent:.0f} %{more}."
            )
    if not found:
        n = check.n("cannot tell")
        of = f"Cannot tell for {n} of {len(check.verdicts)} configurations."
        found = [of if n else "Nothing is measurably slower."]
    several = len({each.word for each in check.verdicts}) > 1
    return " ".join([*found, *([summary(check)] if several else [])])


def reasons(check: Check) -> list[str]:
    """Why configurations cannot be told, and what of them is set otherwise: each once."""
    found = [each.reason for each in check.verdicts if each.reason]
    found += [
        f"{each.title} is set otherwise: {', '.join(each.differs)}"
        for each in check.verdicts
        if each.differs
    ]
    return list(dict.fromkeys(found))


def summary(check: Check) -> str:
    """One line: how many are slower, and so on."""
    told = ", ".join(f"{check.n(word)} {word}" for word in get_args(Word) if check.n(word))
    n = len(check.verdicts)
    return f"{n} configuration{'' if n == 1 else 's'}: {told}."
