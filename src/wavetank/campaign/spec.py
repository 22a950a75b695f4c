"""The campaign file: applications x clusters x mappings x repetitions, and how to judge them.

Reads YAML that a person wrote. Paths in it are relative to the file itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from wavetank.application.own import OwnProgram, absolute
from wavetank.campaign.problems import check_files
from wavetank.compare.comparison import SMALLEST_SAVING, Criterion
from wavetank.compare.configuration import Standing
from wavetank.cost.prices import ExchangeRate
from wavetank.document import Record
from wavetank.errors import MeasurementError, UsageError
from wavetank.kernel.execution.pauses import Pauses
from wavetank.measure.benchmarks import Program
from wavetank.measure.mapping import parse_mapping
from wavetank.measure.statistics import SMALLEST_DIFFERENCE
from wavetank.refusals import Written
from wavetank.specification import read_yaml
from wavetank.units import Duration
from wavetank.variants.asked import asked

T = TypeVar("T")

Layout = Literal["striped", "one-server-per-file"]
StudyName = Annotated[
    str,
    Written(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        "letters, digits and . _ -, first a letter or a digit, 64 characters at most",
    ),
]
Executor = Literal["here", "slurm"]
Performed = Program | Literal["own"]


class ClusterSource(NamedTuple):
    """A cluster file, and what it is used with instead of its own."""

    path: Path
    layout: Layout | None = None  # of input files
    setting: str | None = None  # a turned knob of the layout: "stripe-size=1MiB"


def in_layouts(
    clusters: tuple[Path, ...], layouts: tuple[Layout, ...]
) -> tuple[ClusterSource, ...]:
    """Every cluster file in every layout; in its own where none is named."""
    return tuple(ClusterSource(path, layout) for path in clusters for layout in layouts or (None,))


def check_mappings(mappings: Iterable[str]) -> None:
    """See that each is a process mapping.

    Raises:
        ValueError: one is not; for a validator.
    """
    for mapping in mappings:
        try:
            parse_mapping(mapping)
        except MeasurementError as error:
            raise ValueError(str(error)) from error


class ApplicationEntry(Record):
    """An application: its kernel, its model, or both (then the report shows the model too)."""

    kernel: Path | None = Field(default=None, description="kernel file; made from the model if not")
    model: Path | None = Field(default=None, description="model file")
    name: str | None = Field(
        default=None,
        min_length=1,
        description="for titles; the kernel's own (with its program, if that is not the replay)",
    )
    program: Performed = Field(
        default="replay",
        description="what performs it: the exact replay, the nearest IOR lines or fio jobs, or the application itself (own)",
    )
    own: OwnProgram | None = Field(
        default=None, description="of program own: the application itself, to judge the kernel by"
    )

    def files(self) -> tuple[Path | None, ...]:
        """Every file that the entry names."""
        return (self.kernel, self.model)

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.kernel is None and self.model is None:
            raise ValueError("name a kernel file, a model file, or both")
        if self.program == "own" and self.own is None:
            raise ValueError(
                "'program: own' runs the application itself: say how with 'own', at least its 'argv'"
            )
        if self.own is not None and self.program != "own":
            raise ValueError(
                "'own' is of the application itself: write 'program: own' beside it, in an entry of its own beside that "
                "of the kernel"
            )
        return self


class KeptStorage(Record):
    """Persistent storage that is paid for: the fixed cost of P15 eq. 5."""

    storage: str = Field(description="a storage of the price table")
    months: float = Field(gt=0, description="how long it is kept")


class GridRule(Record):
    """Measure every configuration equally often."""

    kind: Literal["grid"]


class UntilRule(Record):
    """Repeat each configuration until its median is known well enough."""

    kind: Literal["until"]
    width: float = Field(
        gt=0, lt=1, description="of the interval of the I/O time, relative to its median"
    )
    at_most: int = Field(ge=2, le=1000, description="repetitions, whatever the width")


class SearchRule(Record):
    """Measure most configurations once or twice, and only the best of them as often as in the full grid."""

    kind: Literal["search"]
    at_most: float = Field(
        default=1 / 3,
        gt=0,
        lt=1,
        description="part of the full grid's measurements; the widest search that takes no more is made",
    )
    finalists: int | None = Field(
        default=None,
        ge=2,
        le=1000,
        description="of each application. None: 3, or 2 where 3 take more",
    )


StrategyRule = Annotated[GridRule | UntilRule | SearchRule, Field(discriminator="kind")]


class Budget(Record):
    """What a campaign may take in all, over all its runs."""

    time: Duration | None = Field(default=None, gt=0, description="wall time, e.g. '10 min'")
    money: Decimal | None = Field(
        default=None,
        gt=0,
        description="what the same takes on rented instances, in the currency of 'prices', or of 'currency'",
    )
    core_hours: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="cores of all nodes of a cluster, times the hours for which it is held",
    )


class CampaignSpec(Record):
    """What to measure, how often, and how to judge it."""

    name: StudyName
    applications: tuple[ApplicationEntry, ...] = Field(min_length=1)
    clusters: tuple[Path, ...] = Field(min_length=1, description="cluster files")
    mappings: tuple[str, ...] = Field(
        default=("1PxCN",), min_length=1, description="kPxCN: k I/O processes on each compute node"
    )
    layouts: tuple[Layout, ...] = Field(
        default=(),
        description="each cluster in each of these layouts of input files; empty: as its file says",
    )
    repetitions: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="of each combination; at least, with strategy 'until'; of each finalist, with 'search'. "
        "None: the fewest with which all of them can be told apart",
    )
    strategy: StrategyRule = Field(
        default=GridRule(kind="grid"),
        description="grid: every combination equally often; until: until its median is known well enough; "
        "search: successive halving, few combinations often and the others once or twice",
    )
    redeploy: bool = Field(
        default=True,
        description="yes: a cluster comes up anew for each repetition; no: once for all of them, which is faster, but says "
        "nothing of how deployments of the same cluster differ",
    )
    repeat_disturbed: int = Field(
        default=2,
        ge=0,
        le=100,
        description="times that a measurement is made again, at most, because other work on the "
        "machine disturbed it; a quarter of the campaign's measurements at most",
    )
    budget: Budget | None = Field(
        default=None,
        description="what the campaign may take over all its runs; what does not fit is left out and listed",
    )
    what_if: bool | tuple[str, ...] = Field(
        default=False,
        description="measure each kernel with one knob turned too: yes for every knob of the application, or 'KNOB=VALUE', "
        "knobs by name, 'application' and 'layouts'",
    )
    characterise: bool = Field(
        default=False,
        description="measure the local file systems of each cluster first: usage of the peak",
    )
    cache: Literal["cold", "warm"] = Field(
        default="cold",
        description="cold: page caches of all nodes are emptied before each run; warm: the kernel runs once before, uncounted",
    )
    flush: bool = Field(
        default=True,
        description="what is written is on storage within the I/O time; no: only what the application flushes itself",
    )
    verify: bool = Field(
        default=False,
        description="compare every byte that the replay reads with what was written; outside of the I/O time",
    )
    pauses: Pauses = Field(
        default="drop",
        description="the application's pauses between operations: left out, or kept asleep; they are no I/O time",
    )
    seed: int = Field(default=1, ge=0, description="of the order")
    prices: str | None = Field(
        default=None, description="a shipped price table's name, or a file's path"
    )
    other_prices: tuple[str, ...] = Field(
        default=(), description="further tables, such as spot prices: the cost by each is shown too"
    )
    currency: ExchangeRate | None = Field(
        default=None, description="rate by which prices are taken into another currency"
    )
    runs_per_month: int | None = Field(
        default=None, ge=1, description="of each application: the cost of a month is shown too"
    )
    add_to_cost: tuple[Standing, ...] = Field(
        default=(),
        description="count the time in which a cluster is deployed, or idles around a run, too",
    )
    rank_by: Criterion = Field(
        default="time", description="I/O time, its cost, or the performance-cost ratio"
    )
    baseline: str | None = Field(
        default=None, description="name of the cluster that every configuration is compared with"
    )
    confidence: float = Field(
        default=0.95,
        gt=0.5,
        lt=1,
        description="of each interval; and of all differences that the report tells, together",
    )
    smallest_difference: float = Field(
        default=SMALLEST_DIFFERENCE,
        ge=0,
        lt=1,
        description="relative; configurations whose medians are closer tie",
    )
    smallest_saving: float = Field(
        default=SMALLEST_SAVING,
        ge=0,
        lt=1,
        description="relative, of the whole run's time or cost; a smaller one is no reason to leave the baseline",
    )
    keep: KeptStorage | None = None
    oversubscribe: bool = Field(
        default=False, description="allow more ranks on a node than the instance has cores"
    )
    executor: Executor = Field(
        default="here",
        description="here: clusters come up on this machine; slurm: jobs on a cluster that exists",
    )
    sbatch_options: tuple[str, ...] = Field(
        default=(), description="of executor slurm, e.g. '--partition=short'"
    )
    notes: tuple[str, ...] = Field(
        default=(),
        description="sentences that the reader of the results must know; shown with them",
    )
    output: Path = Field(default=Path("results"), description="folder of the results")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        rule = self.strategy
        if isinstance(rule, UntilRule) and rule.at_most < (self.repetitions or 0):
            raise ValueError(
                f"strategy.at_most is {rule.at_most}, less than repetitions ({self.repetitions})"
            )
        if isinstance(rule, SearchRule):
            self._search_fits()
        if self.budget is not None and self.budget.money is not None and self.prices is None:
            raise ValueError("budget.money needs a price table: name one with 'prices'")
        _all_different(self.layouts, "layout")
        _all_different(self.other_prices, "price table")
        _all_different(self.add_to_cost, "time in add_to_cost")
        if self.what_if and all(entry.program != "replay" for entry in self.applications):
            raise ValueError(
                "what_if turns knobs of kernels that the replay performs, and no application has 'program: replay'"
            )
        return self

    def _search_fits(self) -> None:
        if any(entry.program == "own" for entry in self.applications):
            raise ValueError(
                "a search measures most configurations once or twice, and 'program: own' judges the kernel by all of "
                "them: leave one of the two out"
            )
        if self.what_if:
            raise ValueError(
                "a search drops configurations on the way, and 'what_if' compares variants on all of them: search first, "
                "then write the clusters that were left with 'what_if' into a campaign with strategy 'grid'"
            )
        if self.add_to_cost and self.rank_by != "time":
            raise ValueError(
                "a search selects by the cost of the I/O alone: leave 'add_to_cost' out, or write 'rank_by: time'"
            )

    @property
    def ends_what_is_futile(self) -> bool:
        """Whether configurations end early that no further repetition could tell apart."""
        return isinstance(self.strategy, GridRule) and self.repetitions is None

    def cluster_sources(self) -> tuple[ClusterSource, ...]:
        """Every cluster file in every layout."""
        return in_layouts(self.clusters, self.layouts)

    @field_validator("what_if")
    @classmethod
    def _are_knobs(cls, settings: bool | tuple[str, ...]) -> bool | tuple[str, ...]:
        if settings == ():
            raise ValueError("name a knob at least, or write yes for all of them")
        try:
            asked(settings)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return settings

    @field_validator("mappings")
    @classmethod
    def _are_mappings(cls, mappings: tuple[str, ...]) -> tuple[str, ...]:
        check_mappings(mappings)
        return _all_different(mappings, "mapping")

    @field_validator("clusters")
    @classmethod
    def _are_different(cls, clusters: tuple[Path, ...]) -> tuple[Path, ...]:
        return _all_different(clusters, "cluster file")


def read_campaign(path: Path) -> CampaignSpec:
    """Read a campaign file, with its paths made absolute.

    Raises:
        SpecError: missing, not YAML, or keys and values that do not fit, all of them at once.
    """
    spec = read_yaml(path, CampaignSpec, "campaign")
    base = path.resolve().parent

    def below(relative: Path | None) -> Path | None:
        return None if relative is None else base / relative

    applications = tuple(
        entry.model_copy(
            update={
                "kernel": below(entry.kernel),
                "own": None if entry.own is None else absolute(entry.own, base),
                "model": below(entry.model),
            }
        )
        for entry in spec.applications
    )
    files = (file for entry in spec.applications for file in entry.files())
    check_files(f"campaign file {path}", base, (*spec.clusters, *files))
    return spec.model_copy(
        update={
            "applications": applications,
            "clusters": tuple(base / cluster for cluster in spec.clusters),
            "output": base / spec.output,
        }
    )


def _all_different(entries: tuple[T, ...], what: str) -> tuple[T, ...]:
    for position, entry in enumerate(entries):
        if entry in entries[:position]:
            raise ValueError(f"the {what} {entry} is named twice")
    return entries
