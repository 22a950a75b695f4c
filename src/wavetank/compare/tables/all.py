"""Every table of a comparison, in the order in which they are read."""

from __future__ import annotations

from wavetank.compare.comparison import Comparison
from wavetank.compare.tables.cost import COST, OTHER_COSTS, cost_table, other_cost_table
from wavetank.compare.tables.effects import EFFECTS, effects_table
from wavetank.compare.tables.left_out import (
    ADVICE,
    DROPPED,
    NOT_MEASURED,
    advice_table,
    dropped_table,
    not_measured_table,
)
from wavetank.compare.tables.month import MONTH, month_table
from wavetank.compare.tables.phases import CALLS, PHASES, call_results_table, phase_results_table
from wavetank.compare.tables.ranking import RANKING, ranking_tables
from wavetank.compare.tables.runs import BASELINE, WHOLE_RUN, baseline_table, whole_run_table
from wavetank.compare.tables.trust import (
    OWN_TIMES,
    TRUST,
    own_times_table,
    trust_table,
)
from wavetank.compare.tables.use import USE, use_table
from wavetank.compare.tables.what_if import CERTIFICATES, GAINS, NOT_TURNED, what_if_tables
from wavetank.tables.table import Table

DEFINITIONS = (
    RANKING, WHOLE_RUN, BASELINE, PHASES, CALLS, USE, COST, MONTH, OTHER_COSTS, EFFECTS, TRUST, OWN_TIMES, GAINS,
    CERTIFICATES, NOT_TURNED, ADVICE, DROPPED, NOT_MEASURED,
)  # fmt: skip


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Every table over all applications; empty ones left out."""
    members = comparison.configurations
    tables = [
        *ranking_tables(comparison),
        whole_run_table(comparison, members),
        baseline_table(comparison, members),
        phase_results_table(members, small=False),
        call_results_table(members, small=False),
        use_table(members, unknown=False),
        cost_table(comparison, members),
        month_table(comparison, members),
        other_cost_table(members),
        effects_table(comparison),
        trust_table(comparison),
        own_times_table(comparison, members),
        *what_if_tables(comparison),
        advice_table(comparison),
        dropped_table(comparison),
        not_measured_table(comparison),
    ]
    return [table for table in tables if table.rows]
