"""From what was measured to the verdict on each statement of a paper."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Comparison, NotMeasured
from wavetank.papers.claims import Better, HigherRate, NoGain, Part, Rows
from wavetank.papers.configurations import (
    Evidence,
    judge_better,
    judge_no_gain,
    judge_strongest,
)
from wavetank.papers.groups import judge_higher_rate, judge_part
from wavetank.papers.study import LoadedStudy, Statement
from wavetank.papers.tables_of_models import Models, judge_rows
from wavetank.papers.verdict import Verdict


def judge(
    study: LoadedStudy, comparison: Comparison | None, not_measured: Sequence[NotMeasured] = ()
) -> tuple[Verdict, ...]:
    """Judge every statement of a study.

    Args:
        study: with its statements.
        comparison: what its campaign or interference study says; None where nothing was measured.
        not_measured: parts of the plan and why they have no result, where there is no comparison.
    """
    evidence = Evidence(comparison, not_measured)
    models: dict[str, Models] = {}

    def verdict(statement: Statement) -> Verdict:
        says = statement.says
        if isinstance(says, Rows):
            named = next(each for each in study.study.models if each.name == says.model)
            if says.model not in models:
                models[says.model] = Models(study, named)
            return judge_rows(statement, says, models[says.model])
        if isinstance(says, Part):
            return judge_part(statement, says, comparison, not_measured)
        if isinstance(says, HigherRate):
            return judge_higher_rate(statement, says, comparison, not_measured)
        if isinstance(says, Better):
            return judge_better(statement, says, evidence)
        if isinstance(says, NoGain):
            return judge_no_gain(statement, says, evidence)
        return judge_strongest(statement, says, evidence)

    return tuple(verdict(statement) for statement in study.study.statements)
