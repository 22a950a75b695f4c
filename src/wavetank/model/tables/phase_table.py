"""The phase level of a model (P15 table V): a row for each phase; for people a row for each series of equal ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, Phase, Series
from wavetank.tables.table import Cell, Column, Definition, Table, Value
from wavetank.tables.words import DASH, numbers_text, ranges, ranks_words, size_words

MAX_PHASES = 300


@dataclass(frozen=True)
class PhaseRow:
    """A phase, or a series of phases that are alike.

    Attributes:
        phases: of the series, in order; one for a phase alone.
        offset_step: bytes between the offsets of two phases of the series; None where they are not regular.
        file_name: without the folder that all files share.
        n_ranks: of the run; 0 where it is not known.
    """

    phases: tuple[Phase, ...]
    offset_step: int | None
    file_name: str
    n_ranks: int

    @property
    def first(self) -> Phase:
        """The first phase, which describes all."""
        return self.phases[0]


def _id(row: PhaseRow) -> Cell:
    return Cell(numbers_text([phase.ph_id for phase in row.phases]), row.first.ph_id)


def _weight(row: PhaseRow) -> Cell:
    each = " each" if len(row.phases) > 1 else ""
    return Cell(size_words(row.first.ph_weight) + each, row.first.ph_weight)


def _offset(row: PhaseRow) -> Cell:
    told = "; ".join(dict.fromkeys(offset_text(offset) for offset in row.first.offset))
    step = "" if row.offset_step is None else f", {row.offset_step:+,} a phase"
    return Cell(told + step, [_offset_value(offset) for offset in row.first.offset])


def _offset_value(offset: Offsets) -> dict[str, Value]:
    if isinstance(offset, LinearOffsets):
        return {"function": "linear", "a": offset.a, "b": offset.b, "c": offset.c}
    if isinstance(offset, ListedOffsets):
        firsts = offset.first_offsets()
        n_runs = int(offset.n_runs.sum())
        return {
            "function": "list",
            "first": int(min(firsts)),
            "last": int(max(firsts)),
            "runs": n_runs,
        }
    return {"function": "unknown"}


def _dist(row: PhaseRow) -> Cell:
    dists = [member.dist for member in row.first.pattern]
    told = _joined([DASH if dist is None else f"({dist[0]}, {dist[1]})" for dist in dists])
    return Cell(told, [None if dist is None else list(dist) for dist in dists])


def _disp(row: PhaseRow) -> Cell:
    disps = [member.disp for member in row.first.pattern]
    return Cell(_joined([DASH if disp is None else f"{disp:,}" for disp in disps]), disps)


def _metadata_calls(row: PhaseRow) -> Cell:
    totals: Counter[str] = Counter()
    for phase in row.phases:
        totals.update(phase.metadata_ops)
    told = ", ".join(f"{name} {count:,}" for name, count in totals.items())
    return Cell(told or DASH, dict(row.first.metadata_ops))


def _io_time(row: PhaseRow) -> float | None:
    times = [phase.io_time_s for phase in row.phases]
    return None if None in times else sum(time for time in times if time is not None)


PHASES: Definition[PhaseRow] = Definition(
    "phases",
    "Phases",
    (
        Column("ph_id", "Id", _id, kind="integer"),
        Column("file_id", "File's id", lambda r: r.first.file_id, kind="integer", machine=True),
        Column("file_name", "File", lambda r: r.file_name, wide=True),
        Column("ph_processid", "Ranks", lambda r: Cell(ranks_words(r.first.ph_processid, r.n_ranks), ranges(r.first.ph_processid)),
               kind="list", help="[first, last, step] of each range"),
        Column("ph_np", "np", lambda r: r.first.ph_np, kind="integer", help="number of ranks"),
        Column("iop_type", "Operations", lambda r: Cell(operations_text(r.first), [m.iop_type for m in r.first.pattern]),
               kind="list", help="of the pattern, one for each member"),
        Column("rs", "rs", lambda r: Cell(sizes_text(r.first), [m.rs for m in r.first.pattern]), kind="list",
               help="request size of each member, bytes"),
        Column("rs_min", "Smallest rs", lambda r: min(limit for limits in size_limits(r.first) for limit in limits), unit="B",
               machine=True, help="of all requests"),
        Column("rs_max", "Largest rs", lambda r: max(limit for limits in size_limits(r.first) for limit in limits), unit="B",
               machine=True, help="of all requests"),
        Column("offset", "Offset", _offset, kind="list", help="of the first operation of each member, bytes"),
        Column("disp", "disp", _disp, kind="list", help="bytes between consecutive operations of each member"),
        Column("dist", "dist", _dist, kind="list", help="[tick, subtick] between consecutive operations of each member"),
        Column("ph_nrep", "rep", lambda r: r.first.ph_nrep, kind="integer", help="repetitions of the pattern, per rank"),
        Column("ph_niop", "niop", lambda r: r.first.ph_niop, kind="integer", help="data operations per rank"),
        Column("ph_weight", "Weight", _weight, unit="B", help="bytes moved by all ranks, P15 eq. 1"),
        Column("metadata_ops", "Metadata", _metadata_calls, kind="object", help="calls that move no data, on these files"),
        Column("io_time_s", "I/O time", _io_time, unit="s", help="in the traced run, sum over ranks"),
    ),
)  # fmt: skip
PHASES_BELOW: Definition[PhaseRow] = Definition(
    "phases-below", "Phases of the level below", PHASES.columns, key="phases_of_the_level_below"
)


def phase_table(
    phases: Sequence[Phase],
    series: Sequence[Series],
    file_names: Mapping[int, str],
    n_ranks: int = 0,
    definition: Definition[PhaseRow] = PHASES,
    caption: str | None = None,
) -> Table:
    """A row per phase; for people a row per series.

    Args:
        phases: to show.
        series: those of the model; ones of other phases are left out.
        file_names: by file_id.
        n_ranks: of the run; 0 where it is not known.
        definition: phases, or those of the level below.
        caption: under the table.
    """

    def row(phases: Sequence[Phase], step: int | None = None) -> PhaseRow:
        return PhaseRow(tuple(phases), step, file_names.get(phases[0].file_id, "?"), n_ranks)

    return definition.table(
        (row([phase]) for phase in phases),
        people=[row(alike, step) for alike, step in series_rows(phases, series)],
        caption=caption,
        max_rows=MAX_PHASES,
    )


def series_rows(
    phases: Sequence[Phase], series: Iterable[Series]
) -> list[tuple[list[Phase], int | None]]:
    """Phases, those of a series together, with the series' offset step; by first occurrence."""
    by_id = {phase.ph_id: phase for phase in phases}
    series_of = {ph_id: one for one in series for ph_id in one.ph_ids}
    rows: list[tuple[list[Phase], int | None]] = []
    for phase in phases:
        one = series_of.get(phase.ph_id)
        if one is None:
            rows.append(([phase], None))
        elif one.ph_ids[0] == phase.ph_id:
            members = [by_id[ph_id] for ph_id in one.ph_ids if ph_id in by_id]
            rows.append((members, one.offset_step))
    return rows


def operations_text(phase: Phase) -> str:
    """The operations of a phase's pattern: pwrite x 5 + pread."""
    return _counted([member.iop_type for member in phase.pattern])


def sizes_text(phase: Phase) -> str:
    """The request sizes of a phase's pattern, bytes: "4,096 x 2 + 8,893,888", "4,000 to 4,800"."""
    return _joined(
        [
            f"{least:,}" if least == most else f"{least:,} to {most:,}"
            for least, most in size_limits(phase)
        ]
    )


def size_limits(phase: Phase) -> list[tuple[int, int]]:
    """Of each member of the pattern the smallest and the largest request, bytes."""
    limits = []
    for member, offset in zip(phase.pattern, phase.offset, strict=True):
        listed = offset.sizes if offset.function == "unknown" else offset
        if isinstance(listed, ListedOffsets | ListedSizes):
            limits.append((int(listed.rs.min()), int(listed.rs.max())))
        else:
            limits.append((member.rs, member.rs))
    return limits


def _counted(texts: Sequence[str]) -> str:
    """A pattern's members in a line: pwrite x 5 + pread."""
    runs = [(text, len(list(same))) for text, same in groupby(texts)]
    return " + ".join(text if n == 1 else f"{text} x {n}" for text, n in runs)


def _joined(texts: Sequence[str]) -> str:
    """One text where all members have the same, else all of them."""
    return texts[0] if len(set(texts)) == 1 else _counted(texts)


def offset_text(offset: Offsets) -> str:
    """Where a phase begins: a function of the rank, or the least of a list."""
    if offset.function == "unknown":
        return "unknown"
    if offset.function == "list":
        firsts = offset.first_offsets()
        n_runs = int(offset.n_runs.sum())
        if len(firsts) == 1:
            return f"{firsts[0]}, {n_runs} runs" if n_runs > 1 else str(firsts[0])
        return f"{min(firsts)} to {max(firsts)}, listed ({n_runs} runs)"
    if offset.a == 0:
        return str(offset.c)
    sign = f" + {offset.c}" if offset.c > 0 else f" - {-offset.c}" if offset.c < 0 else ""
    return f"{offset.a} * rank{sign}"
