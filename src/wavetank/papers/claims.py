"""What a statement of a paper says, as data: comparisons of configurations, of groups of clients, and rows of tables.

Nothing here knows a paper: a claim names configurations by the keys of the campaign's own files.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wavetank.compare.comparison import Criterion
from wavetank.compare.configuration import Configuration
from wavetank.document import Record
from wavetank.units import Size


class Selection(Record):
    """Configurations of a campaign: those that fit every key that is named."""

    clusters: tuple[str, ...] = Field(default=(), description="names; empty: all")
    mappings: tuple[str, ...] = Field(default=(), description="empty: all")

    def takes(self, cluster: str, mapping: str) -> bool:
        """Whether a configuration on this cluster with this mapping is meant."""
        return (not self.clusters or cluster in self.clusters) and (
            not self.mappings or mapping in self.mappings
        )

    def of(self, configurations: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
        """The configurations that are meant."""
        return tuple(each for each in configurations if self.takes(each.cluster, each.mapping))


class Better(Record):
    """Each of some configurations is better than each of some others."""

    claim: Literal["better"]
    by: Criterion = "time"
    applications: tuple[str, ...] = Field(default=(), description="empty: all of the campaign")
    these: Selection
    those: Selection
    same_mapping: bool = Field(
        default=False, description="compare configurations of one mapping only"
    )
    same_cluster: bool = Field(
        default=False, description="compare configurations of one cluster only"
    )
    times: float | None = Field(
        default=None, gt=1, description="at least so many times as good; None: better at all"
    )


class NoGain(Record):
    """A change does not help: from each of some configurations to each of some others."""

    claim: Literal["no gain"]
    by: Criterion = "time"
    applications: tuple[str, ...] = ()
    before: Selection
    after: Selection
    same_mapping: bool = False
    at_most: float = Field(
        default=0.1, gt=0, le=1, description="a gain that is no help, relative: the reading of the paper's figure"
    )  # fmt: skip


class Change(Record):
    """From one configuration to another one."""

    before: Selection
    after: Selection


class Strongest(Record):
    """A change matters more in one place than in each of some others, in either direction."""

    claim: Literal["strongest"]
    by: Criterion = "time"
    applications: tuple[str, ...] = ()
    this: Change
    others: tuple[Change, ...] = Field(min_length=1)


class Part(Record):
    """The rates of two groups of clients part at a point, as the interval of one of them grows."""

    claim: Literal["part"]
    over: Literal["interval", "time ratio"]
    at: float = Field(gt=0, description="the published point: seconds, or a ratio")
    object_size: Size
    clusters: tuple[str, ...] = Field(default=(), description="empty: all")


class GroupRate(Record):
    """The rate of one group, or of all, while it transfers, in one setting."""

    group: str | None = Field(default=None, description="None: all groups together")
    object_size: Size
    interval: float = Field(ge=0, description="of the group whose interval varies, seconds")


class HigherRate(Record):
    """A group's rate is higher in one setting than in another one."""

    claim: Literal["higher rate"]
    this: GroupRate
    than: GroupRate
    clusters: tuple[str, ...] = ()


class TableRow(Record):
    """A printed row: what the phases of one operation are at one number of processes."""

    np: int = Field(ge=1)
    operation: str = Field(description="of the phases, e.g. MPI_File_write_at_all")
    phases: int = Field(ge=1, description="number of them")
    repetitions: int | None = Field(default=None, ge=1, description="of each; None: not printed")
    request: Size = Field(description="of one operation; the mean where ranks differ")
    moved: Size | None = Field(default=None, description="by the application")
    capacity: Size | None = Field(default=None, description="storage that it needs")


class Rows(Record):
    """Rows of a table that follow from the model alone."""

    claim: Literal["rows"]
    model: str = Field(description="a name of the study's models")
    tolerance: float = Field(
        default=0.02, ge=0, lt=1, description="relative: the paper's numbers are rounded"
    )
    rows: tuple[TableRow, ...] = Field(min_length=1)


Claim = Annotated[
    Better | NoGain | Strongest | Part | HigherRate | Rows, Field(discriminator="claim")
]
"""All that a statement can say."""
