"""A configuration of a comparison: one application on one cluster with one mapping.

Every number is an estimate over its repetitions, with the interval that the repetitions support.
"""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - a field below is named date
from decimal import Decimal
from typing import Literal

from pydantic import Field

from wavetank.compare.use import ConfigurationUse, UseOf
from wavetank.document import Record
from wavetank.measure.result import FoundCaches, Origin
from wavetank.measure.statistics import Estimate, mapped
from wavetank.notes import Note

Standing = Literal["deployment", "idle"]
"""Time for which instances are paid while no phase is under way."""


class Cost(Record):
    """Of one run of the application's I/O, in the price table's currency (P15 eq. 5-8)."""

    price_inst_per_h: Decimal = Field(description="mean over the instances when types differ")
    n_instances: int = Field(description="all of them: compute, I/O and head nodes")
    instances: dict[str, int] = Field(description="instance type -> number")
    cost_var: Estimate = Field(description="P15 eq. 6, by time")
    cost_fix: Decimal = Field(description="persistent storage for the time that it is kept")
    storage_per_h: Decimal = Field(
        default=Decimal(0),
        description="of volumes and managed file systems, while the instances are paid",
    )
    staying_per_h: Decimal | None = Field(
        default=None,
        description="of the instances that hold the file system: servers and head nodes; None where that is not known",
    )
    cost_storage: Estimate | None = Field(
        default=None, description="of these, by time; None: the cluster has none that is priced"
    )
    cost_tot: Estimate = Field(description="P15 eq. 5, with cost_storage")
    billed: Decimal = Field(
        description="bill of one run of the median time by the billing rule, with cost_fix"
    )
    deployment: Decimal | None = Field(
        default=None, description="instances while the cluster was deployed, once"
    )
    idle: Decimal | None = Field(
        default=None,
        description="instances while one measurement prepared: files placed, caches emptied, "
        "programs started",
    )
    counted: tuple[Standing, ...] = Field(
        default=(), description="which of these are in cost_tot, because the campaign asked for it"
    )
    perf_cost: Estimate = Field(description="P15 eq. 8: MB/s per currency unit")

    @property
    def runs_per_unit(self) -> Estimate:
        """How many runs one unit of the currency pays for."""
        return runs_per_unit(self.cost_tot)


def runs_per_unit(cost_tot: Estimate) -> Estimate:
    """How many runs one unit of the currency pays for, by the cost of one."""
    return mapped(cost_tot, lambda each: 1 / each)


class OtherCost(Record):
    """The same run by another price table: spot instead of on demand, another region."""

    table: str
    date: Date
    purchase: str = Field(description='"on-demand", "spot", "reserved", "other"')
    currency: str
    cost_tot: Estimate | None = Field(description="P15 eq. 5; None when the table lacks a type")
    perf_cost: Estimate | None = Field(description="P15 eq. 8: MB/s per currency unit")
    missing: str | None = Field(default=None, description="why there is no cost")


class PhaseEstimate(Record):
    """One phase of the application on one configuration."""

    ph_id: int
    operation: str = Field(description='"read", "MPI_File_write_at_all", or several with a plus')
    file_name: str
    rs: int = Field(description="request size, bytes")
    ranks: tuple[int, ...]
    weight_bytes: int
    rate_bytes_per_s: Estimate = Field(description="BW_CH (method, section 6)")
    iops: Estimate
    time_s: Estimate
    usage_percent: Estimate | None = Field(
        default=None, description="100 * BW_CH / BW_PK; None where the peak is not known"
    )
    use: UseOf | None = Field(
        default=None, description="of resources, and the bottleneck; None where it is not known"
    )
    comparable: bool = Field(
        default=True,
        description="with hardware; not where guests make it of requests that their system calls decide",
    )


class CallEstimate(Record):
    """Calls of one kind that move no data, on one configuration."""

    call: str = Field(
        description='"create" is an open that may create; "attributes" are chmod, chown and utime'
    )
    n: int = Field(description="of all ranks, in one run")
    time_s: Estimate = Field(description="time in which a rank was at such a call")
    per_s: Estimate | None = Field(
        description="n / time_s; None where a repetition took no measurable time"
    )
    comparable: bool = Field(default=True, description="with hardware; not in guests of some kinds")


class Run(Record):
    """The whole run of the application around its I/O."""

    traced_elapsed_s: float | None = Field(
        description="measured when it was traced; None where not known"
    )
    traced_io_s: float | None = Field(
        description="at I/O calls of the traced run, of the rank that spent most time there"
    )
    traced_io_percent: float | None = Field(description="100 * traced_io / traced_elapsed")
    with_metadata: bool = Field(description="whether traced_io has calls that move no data too")
    whole_s: Estimate | None = Field(
        description="computed: traced_elapsed - traced_io + io_time; None where not known"
    )
    io_percent: float | None = Field(description="I/O's share of the whole run here")
    cost: Estimate | None = Field(
        description="of the whole run, with cost_fix; None without a price"
    )
    reference: str | None = Field(
        default=None,
        description="configuration that savings are against: the baseline's fastest, or the slowest",
    )
    saved_percent: float | None = Field(
        default=None, description="of the reference's whole run, by medians"
    )
    told_apart: bool = Field(
        default=False, description="from the reference, by I/O time; if not, nothing is saved"
    )


class Against(Record):
    """A configuration against the baseline, by medians."""

    configuration: str = Field(description="of the baseline, with the same mapping where there is")
    same_mapping: bool
    times_as_fast: Estimate | None = Field(
        description="I/O time of the baseline / I/O time; None where one took no time"
    )
    told_apart: bool = Field(description="by I/O time; if not, times_as_fast says nothing")
    more_instances: int
    price_change_percent: float | None = Field(description="of all instances, an hour")
    cost_change_percent: float | None = Field(description="of a run's I/O")
    whole_run_change_percent: float | None = Field(description="of the whole run's time, computed")


class TurnedLayout(Record):
    """A cluster that is another one, with the layout of files on its data servers changed."""

    cluster: str = Field(description="as it is")
    setting: str = Field(description='"stripe-size=1MiB"')
    before: str = Field(description="on the cluster as it is")
    after: str
    inputs_only: bool = Field(
        description="only input files are placed otherwise; what is written lies as before"
    )


class Configuration(Record):
    """One application on one cluster with one mapping."""

    id: str = Field(description="unique in the comparison: application / cluster / mapping")
    application: str
    variant_of: str | None = Field(
        default=None, description="of a variant (one knob turned): the application as it is"
    )
    cluster: str
    cluster_title: str = Field(
        description='for people: "GlusterFS, 2 data servers"; no other cluster of the comparison has it'
    )
    mapping: str
    turned: TurnedLayout | None = Field(
        default=None, description="of a variant of the layout: what its cluster is made of"
    )
    instance_type: str
    n_instances: int
    origin: Origin
    cache: FoundCaches = Field(
        description="page caches at the start; 'not emptied' where those of one measurement were to be cold, and nobody could"
    )
    n_repetitions: int
    n_deployments: int | None = Field(
        default=None,
        description="of its cluster, on which these repetitions were made; None where nothing was brought up for them",
    )
    n_disturbed: int = Field(default=0, description="of them, by other work on the machine")
    weight_bytes: int
    phases: tuple[PhaseEstimate, ...]
    io_time_s: Estimate = Field(
        description="time in which a rank was at an I/O call: data, metadata and flush; ranks at once count once"
    )
    data_time_s: Estimate | None = Field(
        default=None,
        description="of it in calls that move data; None where the measurements do not tell",
    )
    metadata_time_s: Estimate | None = Field(
        default=None,
        description="of it in open, close, seek, stat, rename ..., and calls that move nothing",
    )
    flush_time_s: Estimate | None = Field(
        default=None,
        description="of it in fsync and its kin, and in the final flush",
    )
    not_on_disk_bytes: int | None = Field(
        default=None,
        description="at most so many written bytes were still in caches at the end; None where it is not known",
    )
    phase_time_sum_s: Estimate = Field(
        description="sum of time(i) over phases (method, section 6): concurrent phases count each"
    )
    rate_bytes_per_s: Estimate = Field(description="weight / io_time")
    read_bytes_per_s: Estimate | None = Field(
        description="bytes of the phases that only read / time in which one of them was under way; "
        "for phases in a row their harmonic mean weighted by bytes"
    )
    write_bytes_per_s: Estimate | None = Field(description="the same of phases that only write")
    iops: Estimate
    calls: tuple[CallEstimate, ...] = Field(
        default=(), description="calls that move no data; empty where the measurements do not tell"
    )
    calls_per_s: Estimate | None = Field(
        default=None, description="all these calls / io_time; None where there are none"
    )
    usage_percent: Estimate | None = Field(
        default=None,
        description="100 * rate / BW_PK, in the direction that moves most bytes; None without a peak",
    )
    use: ConfigurationUse | None = Field(
        default=None, description="of resources, and the bottleneck; None where it is not known"
    )
    cost: Cost | None
    cost_missing: str | None = Field(default=None, description="why there is no cost")
    other_costs: tuple[OtherCost, ...] = Field(
        default=(), description="by the other price tables that the campaign names"
    )
    settings: dict[str, str] = Field(description="of the file system, as in force")
    limits: dict[str, str]
    notes: tuple[Note, ...] = Field(
        default=(),
        description="doubts of its measurements, once each; those of the kernel are the comparison's",
    )
    run: Run | None = Field(default=None, description="the whole run around its I/O")
    against: Against | None = Field(
        default=None, description="the baseline; None of the baseline itself, and without one"
    )

    @property
    def place(self) -> tuple[str, str]:
        """Cluster and mapping; of a variant of the layout the cluster as it is."""
        return self.cluster if self.turned is None else self.turned.cluster, self.mapping

    @property
    def in_memory(self) -> bool:
        """Whether its files are in memory, with no storage behind: no place for files."""
        kind = self.settings.get("file system", "")
        if kind.startswith("existing"):
            return kind.endswith((": tmpfs", ": ramfs"))
        return kind.startswith("none") and any("in memory" in how for how in self.limits.values())

    @property
    def moves_data(self) -> bool:
        """Whether there is a rate: applications that only ask for names and attributes have calls a second."""
        return self.weight_bytes > 0

    @property
    def comparable(self) -> bool:
        """Whether its numbers are comparable with hardware, in all phases; without data in all calls."""
        judged = self.phases if self.moves_data else self.calls
        return all(each.comparable for each in judged)

    @property
    def speed(self) -> Estimate:
        """What a change is judged by: bytes a second, or calls a second where no data is moved."""
        if self.moves_data or self.calls_per_s is None:
            return self.rate_bytes_per_s
        return self.calls_per_s
