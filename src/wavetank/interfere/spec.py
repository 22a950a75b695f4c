"""The interference file: groups of clients, the clusters they share, and what is varied.

Reads YAML that a person wrote. Paths in it are relative to the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from wavetank.campaign.problems import check_files
from wavetank.campaign.spec import ClusterSource, Layout, StudyName, check_mappings, in_layouts
from wavetank.document import Record
from wavetank.kernel.construction.objects import ObjectOperation
from wavetank.measure.statistics import SMALLEST_DIFFERENCE
from wavetank.refusals import Written
from wavetank.specification import read_yaml
from wavetank.units import Duration, Size, format_size, parse_duration

TO_COMPLETION: Literal["to completion"] = "to completion"
DIRECT_UNIT_BYTES = 4096
"""Of offsets and sizes with O_DIRECT on any device (512 on some)."""


def _signed_duration(text: str | float) -> float:
    """Seconds of "-2 s", "500 ms" or a plain number, negative too."""
    if isinstance(text, str) and (match := re.match(r"^\s*-\s*(.*)$", text)):
        return -parse_duration(match[1])
    if isinstance(text, int | float) and not isinstance(text, bool) and text < 0:
        return -parse_duration(-text)
    return parse_duration(text)


def _duration_or_completion(value: float | str) -> float | str:
    if value == TO_COMPLETION:
        return TO_COMPLETION
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; or '{TO_COMPLETION}'") from error


SignedDuration = Annotated[float, BeforeValidator(_signed_duration)]


class Objects(Record):
    """Clients that write or read objects of one size, each in a file of its own."""

    operation: ObjectOperation = "write"
    size: Size = Field(default=2**20, ge=1, description="of an object, e.g. '2 MiB'")
    interval: Duration = Field(
        default=0.0, le=3600, description="between two objects; 0: back to back"
    )
    file_size: Size = Field(
        default=64 * 2**20,
        ge=1,
        description="of each client's file; a run goes round in it. Made before, and never cut",
    )
    direct: bool | None = Field(
        default=None,
        description="open the files with O_DIRECT; by default reads are, since a client that goes "
        "round in a file would have it from its own memory",
    )

    @property
    def is_direct(self) -> bool:
        """Whether the files are opened with O_DIRECT."""
        return self.operation == "read" if self.direct is None else self.direct


class GroupEntry(Record):
    """Clients that do the same: objects, or a modelled application again and again."""

    name: Annotated[
        str,
        Written(
            r"^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$",
            "letters, digits and . _ -, first a letter or a digit, 41 characters at most",
        ),
    ]
    clients: int | None = Field(
        default=None, ge=1, le=4096, description="of objects; an application has its ranks"
    )
    objects: Objects | None = None
    kernel: Path | None = Field(default=None, description="kernel file of an application")
    model: Path | None = Field(default=None, description="model file of an application")
    pauses: Literal["drop", "keep"] | Annotated[float, Field(ge=0, le=1000)] = Field(
        default="drop",
        description="the application's own pauses: left out, as recorded, or times a factor",
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        named = [key for key in ("objects", "kernel", "model") if getattr(self, key) is not None]
        if len(named) != 1:
            raise ValueError("name one of: objects, kernel, model")
        if (self.objects is None) != (self.clients is None):
            raise ValueError(
                "give 'clients' with objects, and only with them: an application has its ranks"
            )
        if self.objects is not None and self.pauses != "drop":
            raise ValueError("'pauses' are of applications; objects have an 'interval'")
        return self

    @property
    def pause_factor(self) -> float:
        """By which the application's recorded pauses are multiplied."""
        factors = {"drop": 0.0, "keep": 1.0}
        return factors[self.pauses] if isinstance(self.pauses, str) else self.pauses


class IntervalSweep(Record):
    """One group waits between its objects; how long is varied."""

    group: str
    values: tuple[Duration, ...] = Field(max_length=100, description="two or more")


class OffsetSweep(Record):
    """One group starts earlier (negative) or later than the others; each kernel runs once."""

    group: str
    values: tuple[SignedDuration, ...] = Field(max_length=100, description="one or more")


class InterfereSpec(Record):
    """What uses one cluster at the same time, and what is varied."""

    name: StudyName
    groups: tuple[GroupEntry, ...] = Field(max_length=16, description="one or more")
    clusters: tuple[Path, ...] = Field(
        min_length=1, description="cluster files: everything is measured on each of them"
    )
    layouts: tuple[Layout, ...] = Field(
        default=(),
        description="each cluster in each of these layouts of files; empty: as its file says. "
        "one-server-per-file gives each group data servers of its own",
    )
    mappings: tuple[str, ...] = Field(
        default=("1PxCN",), min_length=1, description="kPxCN: k I/O processes on each compute node"
    )
    object_sizes: tuple[Size, ...] = Field(
        default=(), max_length=32, description="of all groups of objects, instead of their own"
    )
    intervals: IntervalSweep | None = Field(
        default=None, description="one group of objects waits between its objects"
    )
    start_offsets: OffsetSweep | None = Field(
        default=None, description="one group starts later than the others; negative: earlier"
    )
    pairs: bool = Field(
        default=False,
        description="each two groups, a group with itself included: the slowdown matrix",
    )
    duration: Annotated[
        float | Literal["to completion"], BeforeValidator(_duration_or_completion)
    ] = Field(
        default=10.0,
        description="of each run, e.g. '180 s'; or 'to completion': each kernel once",
    )
    settle: Duration = Field(
        default=0.5, description="after the last start, before what is moved counts"
    )
    repetitions: int = Field(
        default=1, ge=1, le=1000, description="of each run; variants can be told apart from 4 on"
    )
    cache: Literal["cold", "warm"] = Field(
        default="cold", description="cold: page caches of all nodes are emptied before each run"
    )
    seed: int = Field(default=1, ge=0, description="of the order and of the bootstrap")
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="of each interval")
    smallest_difference: float = Field(
        default=SMALLEST_DIFFERENCE, ge=0, lt=1, description="relative; less is no difference"
    )
    oversubscribe: bool = Field(
        default=False, description="allow more ranks on a node than the instance has cores"
    )
    output: Path = Field(default=Path("results"), description="folder of the results")

    @property
    def duration_s(self) -> float | None:
        """Of each run; None: each kernel once."""
        return None if isinstance(self.duration, str) else self.duration

    @property
    def whole(self) -> bool:
        """Whether all groups run together, not in pairs alone."""
        return len(self.groups) > 1 and (not self.pairs or self.intervals is not None)

    @property
    def together_is_an_offset(self) -> bool:
        """Whether the run of all groups is the start offset 0: each kernel once, from one moment on."""
        offsets = () if self.start_offsets is None else self.start_offsets.values
        return self.duration_s is None and 0 in offsets

    def group(self, name: str) -> GroupEntry:
        """A group by its name."""
        return next(each for each in self.groups if each.name == name)

    def cluster_sources(self) -> tuple[ClusterSource, ...]:
        """Every cluster file in every layout."""
        return in_layouts(self.clusters, self.layouts)

    @field_validator("mappings")
    @classmethod
    def _are_mappings(cls, mappings: tuple[str, ...]) -> tuple[str, ...]:
        check_mappings(mappings)
        return mappings

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problems = list(self._problems())
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> Iterator[str]:
        names = [each.name for each in self.groups]
        lists: tuple[tuple[str, tuple[object, ...]], ...] = (
            ("group", tuple(names)),
            ("cluster file", self.clusters),
            ("layout", self.layouts),
            ("mapping", self.mappings),
            ("object size", self.object_sizes),
            ("interval", () if self.intervals is None else self.intervals.values),
            ("start offset", () if self.start_offsets is None else self.start_offsets.values),
        )
        for what, entries in lists:
            for entry in dict.fromkeys(each for each in entries if entries.count(each) > 1):
                yield f"the {what} {entry} is named twice"
        if not self.groups:
            yield "groups: name at least one"
        if self.intervals is not None and len(self.intervals.values) < 2:
            yield "intervals.values: name at least two, 0 and others"
        if self.start_offsets is not None and not self.start_offsets.values:
            yield "start_offsets.values: name at least one"
        if len(self.groups) == 1 and not self.pairs:
            yield "one group alone has nothing to share: name another one, or 'pairs: true'"
        if self.duration_s is not None and self.duration_s <= self.settle:
            yield f"duration ({self.duration_s:g} s) must be longer than settle ({self.settle:g} s)"
        yield from self._object_problems(names)

    def _object_problems(self, names: list[str]) -> Iterator[str]:
        of_objects = {each.name: each.objects for each in self.groups if each.objects is not None}
        for key, sweep in (("intervals", self.intervals), ("start_offsets", self.start_offsets)):
            if sweep is not None and sweep.group not in names:
                yield f"{key}.group is {sweep.group}, but the groups are {', '.join(names)}"
        if self.start_offsets is not None and len(names) == 1:
            yield "start_offsets need a second group"
        if self.intervals is not None and len(names) == 1:
            yield "intervals need a second group: what is the interval to free?"
        if self.intervals is not None and self.duration_s is None:
            yield f"intervals need a duration, not '{TO_COMPLETION}'"
        swept = None if self.intervals is None else self.intervals.group
        if swept is not None and swept in names and swept not in of_objects:
            yield f"intervals.group is {swept}, which is an application: it has its own pauses"
        if self.object_sizes and not of_objects:
            yield "object_sizes are given, but no group has objects"
        for name, objects in of_objects.items():
            for size in self.object_sizes or (objects.size,):
                if objects.is_direct and size % DIRECT_UNIT_BYTES:
                    yield (
                        f"{name}: objects of {size} bytes cannot be moved with O_DIRECT: choose a "
                        f"multiple of {DIRECT_UNIT_BYTES}, or 'direct: false'"
                    )
                if size > objects.file_size:
                    yield (
                        f"{name}: an object of {format_size(size)} does not fit into its file of "
                        f"{format_size(objects.file_size)} (file_size)"
                    )


def read_interfere(path: Path) -> InterfereSpec:
    """Read an interference file, with its paths made absolute.

    Raises:
        SpecError: missing, not YAML, or keys and values that do not fit, all of them at once.
    """
    spec = read_yaml(path, InterfereSpec, "interference")
    base = path.resolve().parent
    groups = tuple(
        each.model_copy(
            update={
                key: base / file
                for key in ("kernel", "model")
                if (file := getattr(each, key)) is not None
            }
        )
        for each in spec.groups
    )
    files = [file for each in groups for file in (each.kernel, each.model) if file is not None]
    check_files(f"interference file {path}", base, (*spec.clusters, *files))
    return spec.model_copy(
        update={
            "groups": groups,
            "clusters": tuple(base / cluster for cluster in spec.clusters),
            "output": base / spec.output,
        }
    )
