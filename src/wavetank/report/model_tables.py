"""The three tables of a model (method, section 2; P18 table 1)."""

from __future__ import annotations

from collections import Counter

from wavetank.model.application import Model
from wavetank.model.phase import LinearOffsets, ListedOffsets, Offsets, Phase
from wavetank.report.names import file_names
from wavetank.report.sizes import exact_size
from wavetank.report.tables import (
    Cell,
    Column,
    ReportTable,
    id_range,
    number,
    ranks_words,
    text,
)
from wavetank.units import format_duration, format_rate, format_size

MAX_FILES = 200  # rows of the file table
MAX_PHASES = 300  # rows of the phase table, a series of equal phases being one


def application_table(model: Model) -> ReportTable:
    """The application level: what it is, what it moves, what it asks of a storage system."""
    asks = model.requirements
    rows = [
        ("app_np", "processes that do I/O", number(model.app_np)),
        ("n_ranks", "ranks of the run", number(model.n_ranks)),
        ("app_nfiles", "files", number(model.app_nfiles)),
        ("app_st", "bytes moved", _size(model.app_st)),
        ("capacity", "storage capacity required", _size(asks.storage_capacity_bytes)),
        (
            "global",
            "global file system",
            text("required" if asks.needs_global_file_system else "not required"),
        ),
        ("elapsed_s", "elapsed, traced run", _seconds(model.elapsed_s)),
        ("read_rate", "read rate, traced run", _rate(asks.reached_read_bytes_per_s)),
        ("write_rate", "write rate, traced run", _rate(asks.reached_write_bytes_per_s)),
        ("source", "recorded by", text(model.source)),
    ]
    return ReportTable(
        name="application",
        title="Application",
        columns=(Column("field", "Field"), Column("meaning", "Meaning"), Column("value", "Value")),
        rows=tuple((text(key), text(meaning), value) for key, meaning, value in rows),
    )


def file_table(model: Model) -> ReportTable:
    """The file level, largest first."""
    names = file_names(model)
    files = sorted(model.files, key=lambda file: (-file.file_size, file.file_id))
    differ = any(
        file.file_size_highest_offset not in (None, file.file_size_weights) for file in files
    )
    columns = [
        Column("file_id", "Id", numeric=True),
        Column("file_name", "Name", wide=True),
        Column("file_size", "Size", numeric=True, help="what a kernel needs"),
        Column("file_np", "Processes", numeric=True, help="that open it"),
        Column("file_accessmode", "Access mode"),
        Column("file_fileaccesstype", "R/W"),
        Column("file_accesstype", "Access type"),
        Column("file_nphase", "Phases", numeric=True),
        Column("n_operations", "Operations", numeric=True),
        Column(
            "consecutive", "Consecutive", numeric=True, help="Darshan: starts where the last ended"
        ),
    ]
    if differ:
        columns.insert(
            3, Column("file_size_weights", "By weights", numeric=True, help="P15 eq. 2, 3")
        )
    rows = []
    for file in files:
        cells = [
            number(file.file_id),
            text(names.of[file.file_id]),
            _size(file.file_size),
            number(file.file_np),
            _known(file.file_accessmode),
            _known(file.file_fileaccesstype),
            text(file.file_accesstype),
            number(file.file_nphase),
            number(file.n_operations),
            _share(file.n_consecutive, file.n_operations),
        ]
        if differ:
            cells.insert(3, _size(file.file_size_weights))
        rows.append(tuple(cells))
    return ReportTable(
        name="files",
        title="Files",
        columns=tuple(columns),
        rows=tuple(rows),
        caption="" if names.folder is None else f"Names are below {names.folder}.",
        filterable=len(rows) > 12,
        max_rows=MAX_FILES,
    )


def phase_table(model: Model) -> ReportTable:
    """The phase level; equal phases at regular distance are one row, as in P15 table V."""
    names = file_names(model).of
    rows = []
    for phases, step in series_rows(model):
        first = phases[0]
        member = first.pattern[0]
        weight = sum(phase.ph_weight for phase in phases)
        times = [phase.io_time_s for phase in phases]
        io_time = None if None in times else sum(time for time in times if time is not None)
        rows.append(
            (
                Cell(id_range(phase.ph_id for phase in phases), first.ph_id),
                text(names.get(first.file_id, "?")),
                text(pattern_words(first)),
                Cell(ranks_words(first.ph_processid, model.n_ranks), id_range(first.ph_processid)),
                number(first.ph_np),
                Cell(_sizes_words(first), member.rs),
                number(first.ph_nrep),
                number(first.ph_niop),
                _size(weight),
                Cell(_offsets_words(first.offset[0], step), _offsets_words(first.offset[0], step)),
                number(member.disp, None if member.disp is None else f"{member.disp:,}"),
                text(
                    "\N{EN DASH}"
                    if member.dist is None
                    else f"({member.dist[0]}, {member.dist[1]})"
                ),
                number(io_time, None if io_time is None else format_duration(io_time)),
            )
        )
    return ReportTable(
        name="phases",
        title="Phases",
        columns=(
            Column("ph_id", "Id", numeric=True),
            Column("file", "File", wide=True),
            Column("iop_type", "Operations"),
            Column("ph_processid", "Ranks"),
            Column("ph_np", "np", numeric=True, help="number of ranks"),
            Column("rs", "rs", numeric=True, help="request size"),
            Column("ph_nrep", "rep", numeric=True, help="repetitions of the pattern, per rank"),
            Column("ph_niop", "niop", numeric=True, help="data operations per rank"),
            Column("ph_weight", "Weight", numeric=True, help="bytes moved by all ranks, P15 eq. 1"),
            Column("offset", "Offset", help="bytes; r is the rank, i the repetition"),
            Column("disp", "disp", numeric=True, help="bytes between consecutive operations"),
            Column(
                "dist", "dist", numeric=True, help="(tick, subtick) between consecutive operations"
            ),
            Column("io_time_s", "I/O time", numeric=True, help="in the traced run, sum over ranks"),
        ),
        rows=tuple(rows),
        caption="Field names are those of the phase model; offsets and distances are in bytes.",
        filterable=len(rows) > 12,
        max_rows=MAX_PHASES,
    )


def series_rows(model: Model) -> list[tuple[list[Phase], int | None]]:
    """Phases, those of a series together, with the series' offset step; by first occurrence."""
    by_id = {phase.ph_id: phase for phase in model.phases}
    series_of = {ph_id: series for series in model.series for ph_id in series.ph_ids}
    rows: list[tuple[list[Phase], int | None]] = []
    for phase in model.phases:
        series = series_of.get(phase.ph_id)
        if series is None:
            rows.append(([phase], None))
        elif series.ph_ids[0] == phase.ph_id:
            members = [by_id[ph_id] for ph_id in series.ph_ids if ph_id in by_id]
            rows.append((members, series.offset_step))
    return rows


def pattern_words(phase: Phase) -> str:
    """Operations of the pattern: "read", "2 read + write"."""
    names: list[list[str | int]] = []
    for member in phase.pattern:
        if names and names[-1][0] == member.iop_type:
            names[-1][1] = int(names[-1][1]) + 1
        else:
            names.append([member.iop_type, 1])
    return " + ".join(f"{name}" if count == 1 else f"{count} {name}" for name, count in names)


def _sizes_words(phase: Phase) -> str:
    counts = Counter(member.rs for member in phase.pattern)
    return ", ".join(exact_size(rs) for rs in list(counts)[:3]) + (" …" if len(counts) > 3 else "")


def _offsets_words(offsets: Offsets, step: int | None) -> str:
    if isinstance(offsets, LinearOffsets):
        terms = [(offsets.a, "r"), (offsets.b, "i")]
        words = [f"{factor:,}·{letter}" for factor, letter in terms if factor]
        if offsets.c or not words:
            words.append(f"{offsets.c:,}")
        shown = " + ".join(words)
    elif isinstance(offsets, ListedOffsets):
        shown = f"list of {sum(len(runs) for runs in offsets.runs):,} runs"
    else:
        shown = "unknown"
    return shown if step is None else f"{shown}, then +{step:,} a phase"


def _size(size_bytes: int) -> Cell:
    return Cell(format_size(size_bytes), size_bytes)


def _known(word: str) -> Cell:
    """A word, or a dash where no data operation tells."""
    return number(None) if word in {"unknown", "none"} else text(word)


def _seconds(seconds: float | None) -> Cell:
    return number(seconds, None if seconds is None else format_duration(seconds))


def _rate(bytes_per_s: float | None) -> Cell:
    return number(bytes_per_s, None if bytes_per_s is None else format_rate(bytes_per_s))


def _share(part: int | None, whole: int) -> Cell:
    if part is None or whole == 0:
        return number(None)
    return Cell(f"{100 * part / whole:.0f} %", part / whole)
