"""A comparison: which cluster to choose, by what a campaign measured. The document of this stage.

A *configuration* is one application on one cluster with one mapping. Every number is an estimate
over its repetitions, with the interval that the repetitions support.
"""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - a field below is named date
from typing import ClassVar, Literal

from pydantic import Field

from wavetank.compare.configuration import Configuration
from wavetank.compare.interference import Interference
from wavetank.compare.search_record import Search
from wavetank.compare.trust_record import Trust
from wavetank.compare.what_if_record import WhatIf
from wavetank.cost.prices import ExchangeRate
from wavetank.document import Document, Record
from wavetank.errors import MeasurementError, WavetankError
from wavetank.findings.finding import Severity
from wavetank.measure.statistics import SMALLEST_DIFFERENCE, Estimate
from wavetank.notes import Note

Criterion = Literal["time", "cost", "ratio"]
SMALLEST_SAVING = 0.05
"""Relative, of a run's time or cost; a smaller one is no reason to leave the baseline."""


class Price(Record):
    """Where the prices come from."""

    table: str
    date: Date
    source: str
    region: str
    currency: str
    purchase: str = Field(
        default="on-demand", description='"on-demand", "spot", "reserved", "other"'
    )
    billing: str = Field(description='"per started hour", "per second, at least 60 s"')
    exchange: ExchangeRate | None = Field(
        default=None, description="by which the prices came into this currency, where they did"
    )


class Place(Record):
    """A configuration in a ranking. Ties are not transitive, so a place is a range."""

    configuration: str
    value: Estimate
    best: int = Field(description="1 + the better configurations that are told apart from it")
    worst: int = Field(description="all configurations - the worse ones that are told apart")
    ties_with: tuple[str, ...] = Field(
        description="what was measured cannot tell them apart from this one"
    )


class Ranking(Record):
    """Configurations of one application, best median first."""

    application: str
    by: Criterion
    places: tuple[Place, ...]


class Turn(Record):
    """One of several knobs that differ between two configurations."""

    knob: str
    before: str
    after: str


class Effect(Record):
    """What a knob does: two configurations that differ in nothing else; or several knobs at once."""

    application: str
    knob: str = Field(description="several are joined by 'and'")
    before: str = Field(description="the knob's value in the first configuration; several: joined")
    after: str
    turns: tuple[Turn, ...] = Field(
        default=(), description="where several knobs differ: their effects are not separable"
    )
    first: str
    second: str
    rate_change_percent: Estimate = Field(
        description="of the application's rate, or of its calls a second where it moves no data; values hold the medians' change alone"
    )
    clear: bool = Field(
        description="the two are told apart, by the decisions for all pairs of the report together"
    )


class Advice(Record):
    """A sentence and the numbers behind it."""

    about: Literal["cluster", "application", "measurement"]
    application: str
    sentence: str
    evidence: tuple[str, ...]
    severity: Severity | None = Field(
        default=None, description="of a finding on the application's I/O; None of other advice"
    )
    paste: str | None = Field(
        default=None,
        description="a line for a hints file, a shell or the program; None where none fits",
    )


class Verdict(Record):
    """The answer for one application: what to do, and the numbers that carry it."""

    application: str
    verb: Literal["stay", "choose", "any", "only", "inconclusive"]
    sentence: str
    choice: str | None = Field(description="configuration to use; None where nothing is conclusive")
    baseline: str | None = Field(
        description="configuration that the sentence compares with; None without a baseline"
    )
    void: str | None = Field(
        description="why the measurements recommend nothing, and what to do; None where they do"
    )
    run: str = Field(description="how long the run takes, and how much of it is I/O, in words")


class Family(Record):
    """The comparisons that share one rate of false alarms: all pairs of configurations of the report."""

    error: float = Field(
        description="rate of reports, at most, that tell apart any two configurations that are the same"
    )
    n_pairs: int = Field(description="of configurations of the same application")
    n_told_apart: int = Field(description="of them, by time")
    n_blind: int = Field(
        description="of them, with too few repetitions to be told apart whatever they had shown"
    )
    repetitions_needed: int = Field(
        description="of each configuration, for every pair to have a chance: the smallest n with "
        "2 / C(2n, n) <= error / n_pairs"
    )


class NotMeasured(Record):
    """A part of the plan without a result."""

    application: str
    cluster: str
    mapping: str
    reason: str


class Comparison(Document):
    """What a campaign says."""

    kind: ClassVar[str] = "comparison"
    error: ClassVar[type[WavetankError]] = MeasurementError

    campaign: str
    confidence: float = Field(description="of the intervals, e.g. 0.95")
    smallest_difference: float = Field(
        default=SMALLEST_DIFFERENCE, description="relative; medians that are closer tie"
    )
    family: Family | None = Field(
        default=None,
        description="what the words of difference hold for; None of a study of groups",
    )
    rank_by: Criterion = Field(description="the ranking that was asked for")
    baseline: str | None = Field(
        default=None, description="cluster that the others are compared with"
    )
    price: Price | None
    runs_per_month: int | None = Field(
        default=None, description="for the cost of a month; None: nobody said how many"
    )
    configurations: tuple[Configuration, ...]
    rankings: tuple[Ranking, ...]
    pareto: tuple[str, ...] = Field(
        description="configurations on the front of time and cost: none is better in both"
    )
    effects: tuple[Effect, ...]
    verdicts: tuple[Verdict, ...] = Field(
        default=(), description="one for each application; none of a study of groups"
    )
    advice: tuple[Advice, ...]
    not_measured: tuple[NotMeasured, ...]
    trust: tuple[Trust, ...] = Field(
        default=(), description="kernels beside the application itself, where the campaign ran it"
    )
    search: Search | None = Field(
        default=None,
        description="that the configurations come from, and what it dropped; None: the full grid",
    )
    what_if: tuple[WhatIf, ...] = Field(
        default=(), description="variants of applications, one knob turned each, where asked for"
    )
    notes: tuple[Note, ...] = Field(description="what the reader must know to judge the numbers")
    titles: dict[str, str] = Field(
        default_factory=dict,
        description="cluster -> its title for people, also of clusters without a result; no two are the same",
    )
    interference: Interference | None = Field(
        default=None, description="of groups of clients at the same time, where that was studied"
    )

    def title_of(self, cluster: str) -> str:
        """The title of a cluster; its name where it has none."""
        return self.titles.get(cluster, cluster)

    def verdict_of(self, application: str) -> Verdict | None:
        """The answer for an application; None where nothing of it was measured."""
        return next((each for each in self.verdicts if each.application == application), None)

    def words_of(self, configuration: str) -> str:
        """A configuration for people, by its id: "NFS with 1PxCN", with its application where there are several."""
        for each in self.configurations:
            if each.id == configuration:
                words = f"{each.cluster_title} with {each.mapping}"
                several = len({one.application for one in self.configurations}) > 1
                return f"{each.application} on {words}" if several else words
        return configuration
