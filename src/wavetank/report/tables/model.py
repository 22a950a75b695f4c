"""The three tables of a model (method, section 2; P18 table 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wavetank.model.document.model import LevelRelation, Model, levels_of_files
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, Phase
from wavetank.model.tables.model_tables import common_folder, short_names
from wavetank.report.tables.table import (
    Cell,
    Column,
    ReportTable,
    id_range,
    number,
    ranks_words,
    text,
)
from wavetank.trace.partial import partial_sentences
from wavetank.units import exact_size, format_duration, format_rate, format_size

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
    rows += [
        ("trace", "what is missing", text(sentence)) for sentence in partial_sentences(model.lost)
    ]
    return ReportTable(
        name="application",
        title="Application",
        columns=(Column("field", "Field"), Column("meaning", "Meaning"), Column("value", "Value")),
        rows=tuple((text(key), text(meaning), value) for key, meaning, value in rows),
    )


def file_table(model: Model) -> ReportTable:
    """The file level, largest first."""
    folder = common_folder(file.file_name for file in model.files)
    used = [file for file in model.files if file.n_operations]
    files = sorted(used, key=lambda file: (-file.file_size, file.file_id))
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
            text(file.title(folder)),
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
        caption=_files_caption(folder, len(model.files) - len(used)),
        filterable=len(rows) > 12,
        max_rows=MAX_FILES,
    )


def names_of(model: Model) -> dict[int, str]:
    """Names of the files without the folder that they share, by file_id."""
    return short_names({file.file_id: file.file_name for file in model.files})


def by_level(model: Model) -> tuple[tuple[Phase, ...], tuple[Phase, ...]]:
    """Phases of the application's own calls, and those of the MPI library below them."""
    levels = levels_of_files(model)
    own = tuple(phase for phase in model.phases if phase.level == levels[phase.file_id])
    below = tuple(phase for phase in model.phases if phase.level != levels[phase.file_id])
    return own, below


def phase_tables(model: Model) -> tuple[ReportTable, ...]:
    """The phase level; what the MPI library made of it below, and how the two belong together."""
    own, below = by_level(model)
    rows = series_rows(model, own)
    tables = [_phase_table(model, rows, "phases", "Phases", _PHASES_CAPTION)]
    if below:
        caption = "What the MPI library made of the phases above; the bytes are the same ones."
        rows = series_rows(model, below)
        tables.append(_phase_table(model, rows, "phases-below", "Phases below MPI-IO", caption))
    if model.relations:
        tables.append(_relation_table(model))
    return tuple(tables)


_PHASES_CAPTION = (
    "A row for each phase, or for each series of phases that are alike. "
    "Request sizes, offsets and distances are in bytes."
)


def _phase_table(
    model: Model,
    series: Sequence[tuple[list[Phase], int | None]],
    name: str,
    title: str,
    caption: str,
) -> ReportTable:
    """A row for each phase or series of equal ones, as in P15 table V."""
    names = names_of(model)
    rows = []
    for phases, step in series:
        first = phases[0]
        member = first.pattern[0]
        weight = sum(phase.ph_weight for phase in phases)
        times = [phase.io_time_s for phase in phases]
        io_time = None if None in times else sum(time for time in times if time is not None)
        rows.append(
            (
                _ids(phases),
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
        name=name,
        title=title,
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
        caption=caption,
        filterable=len(rows) > 12,
        max_rows=MAX_PHASES,
    )


def series_rows(model: Model, phases: Sequence[Phase]) -> list[tuple[list[Phase], int | None]]:
    """Phases, those of a series together, with the series' offset step; by first occurrence."""
    by_id = {phase.ph_id: phase for phase in phases}
    series_of = {ph_id: series for series in model.series for ph_id in series.ph_ids}
    rows: list[tuple[list[Phase], int | None]] = []
    for phase in phases:
        series = series_of.get(phase.ph_id)
        if series is None:
            rows.append(([phase], None))
        elif series.ph_ids[0] == phase.ph_id:
            members = [by_id[ph_id] for ph_id in series.ph_ids if ph_id in by_id]
            rows.append((members, series.offset_step))
    return rows


def _relation_table(model: Model) -> ReportTable:
    """Which POSIX phases the MPI-IO phases became, by aggregator and request size."""
    joined: dict[tuple[object, ...], list[LevelRelation]] = {}
    for relation in model.relations:
        key = (relation.below, relation.ranks, relation.rs_min, relation.rs_max)
        joined.setdefault(key, []).append(relation)
    rows = tuple(
        (
            text(id_range(relation.ph_id for relation in members)),
            number(members[0].below),
            Cell(ranks_words(members[0].ranks, model.n_ranks), id_range(members[0].ranks)),
            number(sum(relation.n_operations for relation in members)),
            _size(sum(relation.moved for relation in members)),
            Cell(exact_size(members[0].rs_min), members[0].rs_min),
            Cell(exact_size(members[0].rs_max), members[0].rs_max),
        )
        for members in joined.values()
    )
    return ReportTable(
        name="relations",
        title="What the phases became below MPI-IO",
        columns=(
            Column("ph_id", "Phase"),
            Column("below", "Became", numeric=True, help="phase at POSIX level"),
            Column("ranks", "Ranks", help="that made the POSIX calls: the aggregators"),
            Column("n_operations", "Operations", numeric=True),
            Column("moved", "Bytes", numeric=True),
            Column("rs_min", "Smallest", numeric=True, help="request"),
            Column("rs_max", "Largest", numeric=True, help="request"),
        ),
        rows=rows,
        filterable=len(rows) > 12,
        max_rows=MAX_PHASES,
    )


def _ids(phases: Sequence[Phase]) -> Cell:
    words = id_range(phase.ph_id for phase in phases)
    return Cell(words, phases[0].ph_id if len(phases) == 1 else words)


def _files_caption(folder: str, n_without: int) -> str:
    words = [f"Names are below {folder}."] if folder else []
    if n_without:
        words.append(f"{n_without:,} more files were touched without moving data.")
    return " ".join(words)


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
