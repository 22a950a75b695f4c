"""The tables of a model as plain rows: what the command line prints and a report shows.

Column names are those of the method, section 2 (P18 table 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from posixpath import commonpath

from wavetank.model.document.file import ModelFile
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model, levels_of_files
from wavetank.model.document.phase import ListedOffsets, Offsets, Phase, Series
from wavetank.model.findings.all_findings import model_findings
from wavetank.model.findings.finding import Finding
from wavetank.model.tables.approximation_tables import approximation_tables
from wavetank.model.tables.metadata_table import metadata_table
from wavetank.model.tables.table import Cell, ModelTable, ranks_text
from wavetank.trace.partial import partial_sentences
from wavetank.units import format_rate, format_size


def model_tables(model: Model) -> tuple[ModelTable, ...]:
    """The application, file and phase tables, what the I/O shows; the phases of the level below where there are any."""
    level = levels_of_files(model)
    own = [phase for phase in model.phases if phase.level == level[phase.file_id]]
    lower = [phase for phase in model.phases if phase.level != level[phase.file_id]]
    names = short_names({file.file_id: file.file_name for file in model.files})
    tables = [*approximation_tables(model.approximation), application_table(model)]
    if own or not model.metadata:
        tables += [file_table(model), phase_table("Phases", own, model.series, names)]
    if model.metadata:
        tables.append(metadata_table(model.metadata))
    if own or model.metadata:
        tables.append(findings_table(model_findings(model)))
    if lower:
        tables.append(
            phase_table(
                "Phases of the level below",
                lower,
                model.series,
                names,
                note="What the MPI library made of the phases above; not counted twice.",
            )
        )
    if model.relations:
        tables.append(relation_table(model))
    return tuple(tables)


def relation_table(model: Model) -> ModelTable:
    """Which phases at POSIX level the MPI-IO phases became; for people equal neighbours are joined."""
    columns = ("ph_id", "below", "ranks", "n_operations", "moved", "rs_min", "rs_max")
    rows = tuple(
        (r.ph_id, r.below, ranks_text(r.ranks), r.n_operations, r.moved, r.rs_min, r.rs_max)
        for r in model.relations
    )
    shown: list[tuple[str, ...]] = []
    begin = 0
    for end in range(1, len(rows) + 1):
        if end < len(rows) and rows[end][1:] == rows[begin][1:]:
            continue
        first, last = rows[begin], rows[end - 1]
        each = "" if end - begin == 1 else " each"
        span = str(first[0]) if end - begin == 1 else f"{first[0]} to {last[0]}"
        moved = exact_size(int(first[4])) + each
        shown.append(
            (
                span,
                str(first[1]),
                str(first[2]),
                f"{first[3]}{each}",
                moved,
                str(first[5]),
                str(first[6]),
            )
        )
        begin = end
    return ModelTable("What the phases became below MPI-IO", columns, rows, tuple(shown))


def findings_table(findings: Sequence[Finding]) -> ModelTable:
    """What the I/O shows: a row for each finding, with its numbers and its remedy."""
    rows = tuple(
        (
            one.kind, one.sentence, one.remedy, ranks_text(one.ph_ids), one.n_operations, one.moved_bytes,
            one.share_of_operations, one.share_of_bytes,
        )
        for one in findings
    )  # fmt: skip
    return ModelTable(
        "What the I/O shows",
        (
            "kind",
            "finding",
            "remedy",
            "phases",
            "n_operations",
            "moved_bytes",
            "share_of_operations",
            "share_of_bytes",
        ),
        rows,
        tuple(line for one in findings for line in _finding_lines(one)),
        None
        if findings
        else "None of the patterns that are known to be slow (docs/reference/findings.md).",
        key="findings",
        shown_columns=("kind", "phases", "what"),
    )


def _finding_lines(finding: Finding) -> list[tuple[str, ...]]:
    """A finding for people: the sentence, and under it the remedy."""
    lines: list[tuple[str, ...]] = [
        (finding.kind, numbers_text(finding.ph_ids) or "-", finding.sentence)
    ]
    if finding.remedy is not None:
        lines.append(("", "", f"Remedy: {finding.remedy}"))
    return lines


def common_folder(paths: Iterable[str]) -> str:
    """The deepest folder that all absolute paths lie in, with its slash; "" for none below the root."""
    folders = [path.rsplit("/", 1)[0] or "/" for path in paths if path.startswith("/")]
    common = commonpath(folders) if folders else "/"
    return "" if common == "/" else f"{common}/"


def short_names(names: Mapping[int, str]) -> dict[int, str]:
    """File names without the folder that they share, by file_id."""
    folder = common_folder(names.values())
    return {file_id: name.removeprefix(folder) for file_id, name in names.items()}


def _why_global(model: Model) -> str:
    """Which files several ranks open, so that all nodes must see them."""
    if not model.requirements.needs_global_file_system:
        return "no"
    names = short_names({file.file_id: file.file_name for file in model.files})
    shared = [names[file.file_id] for file in model.files if file.file_accesstype == "shared"]
    more = f" and {len(shared) - 1} more are" if len(shared) > 1 else " is"
    return f"yes: {shared[0]}{more} opened by several ranks" if shared else "yes"


def application_table(model: Model) -> ModelTable:
    """The application level, and what it requires."""
    need = model.requirements
    values: list[tuple[str, Cell, str]] = [
        ("application", model.application, model.application),
        *(("trace", sentence, sentence) for sentence in partial_sentences(model.lost)),
        ("app_np", model.app_np, f"{model.app_np} of {model.n_ranks} ranks do I/O"),
        ("app_nfiles", model.app_nfiles, _files_words(model)),
        ("app_st", model.app_st, exact_size(model.app_st)),
        (
            "storage_capacity",
            need.storage_capacity_bytes,
            exact_size(need.storage_capacity_bytes),
        ),
        (
            "needs_global_file_system",
            str(need.needs_global_file_system),
            _why_global(model),
        ),
        ("reached_read", need.reached_read_bytes_per_s, _rate(need.reached_read_bytes_per_s)),
        ("reached_write", need.reached_write_bytes_per_s, _rate(need.reached_write_bytes_per_s)),
    ]
    return ModelTable(
        title="Application",
        columns=("field", "value"),
        rows=tuple((name, value) for name, value, _ in values),
        shown=tuple((name, text) for name, _, text in values),
    )


def _files_words(model: Model) -> str:
    if model.app_nfiles or not model.metadata:
        return str(model.app_nfiles)
    n_directories = sum(file.n_files for file in model.files if file.directory)
    n_files = sum(file.n_files for file in model.files) - n_directories
    return (
        f"0 with data; {n_files:,} files and {n_directories:,} directories "
        "are made, looked at or removed"
    )


def file_table(model: Model) -> ModelTable:
    """The file level. Files without data operations are counted in the note; other names where there are any."""
    folder = common_folder(file.file_name for file in model.files)
    columns = (
        "file_id", "file_name", "file_size", "file_size_weights", "file_np", "file_accessmode",
        "file_fileaccesstype", "file_accesstype", "file_nphase", "n_operations", "n_sequential", "n_consecutive",
    )  # fmt: skip
    with_names = any(file.other_names for file in model.files if file.n_operations)
    rows: list[tuple[Cell, ...]] = []
    shown: list[tuple[str, ...]] = []
    for file in model.files:
        if file.n_operations == 0:
            continue
        values: list[Cell] = [getattr(file, column) for column in columns]
        if with_names:
            values.append(", ".join(name.path for name in file.other_names) or None)
        rows.append(tuple(values))
        texts = ["-" if value is None else str(value) for value in values]
        texts[1] = file.title(folder)
        texts[2] = exact_size(file.file_size)
        same = file.file_size_weights == file.file_size
        texts[3] = "the same" if same else exact_size(file.file_size_weights)
        if with_names:
            texts[-1] = _other_names(file, folder) or "-"
        shown.append(tuple(texts))
    n_without = len(model.files) - len(rows)
    notes = [f"file_name is below {folder}"] if folder else []
    if n_without:
        notes.append(f"{n_without} more files were touched without moving data")
    note = f"{'; '.join(notes)}." if notes else None
    shown_columns = (*columns, "other_names") if with_names else columns
    return ModelTable("Files", shown_columns, tuple(rows), tuple(shown), note)


def _other_names(file: ModelFile, folder: str) -> str:
    """A file's further names without the common folder; symbolic links marked."""
    return ", ".join(
        name.path.removeprefix(folder) + (" (symbolic link)" if name.symlink else "")
        for name in file.other_names
    )


PHASE_COLUMNS = (
    "ph_id", "file_id", "file_name", "ph_processid", "ph_np", "iop_type", "rs", "offset", "disp", "dist", "ph_nrep", "ph_niop",
    "ph_weight", "metadata_ops",
)  # fmt: skip


def phase_table(
    title: str,
    phases: Sequence[Phase],
    series: Sequence[Series],
    file_names: Mapping[int, str],
    note: str | None = None,
) -> ModelTable:
    """The phase level: a row per phase; for people a row per series.

    Args:
        title: of the table.
        phases: to show.
        series: those of the model; ones of other phases are left out.
        file_names: by file_id.
        note: below the table.
    """
    by_id = {phase.ph_id: phase for phase in phases}
    rows = tuple(_phase_row(phase, file_names) for phase in phases)
    texts = {row[0]: _shown(row) for row in rows}
    first_of = {one.ph_ids[0]: one for one in series if one.ph_ids[0] in by_id}
    later = {ph_id for one in first_of.values() for ph_id in one.ph_ids[1:]}
    shown = []
    for row in rows:
        ph_id = row[0]
        if ph_id in later:
            continue
        text = list(texts[ph_id])
        if isinstance(ph_id, int) and ph_id in first_of:
            _tell_series(
                text, first_of[ph_id], [by_id[number] for number in first_of[ph_id].ph_ids]
            )
        shown.append(tuple(text))
    return ModelTable(title, PHASE_COLUMNS, rows, tuple(shown), note)


def _phase_row(phase: Phase, file_names: Mapping[int, str]) -> tuple[Cell, ...]:
    members = phase.pattern
    return (
        phase.ph_id,
        phase.file_id,
        file_names.get(phase.file_id, ""),
        ranks_text(phase.ph_processid),
        phase.ph_np,
        operations_text(phase),
        request_sizes(phase),
        "; ".join(dict.fromkeys(offset_text(offset) for offset in phase.offset)),
        _joined([member.disp for member in members]),
        _joined([None if m.dist is None else f"({m.dist[0]}, {m.dist[1]})" for m in members]),
        phase.ph_nrep,
        phase.ph_niop,
        phase.ph_weight,
        ", ".join(f"{name} {count}" for name, count in phase.metadata_ops.items()),
    )


def operations_text(phase: Phase) -> str:
    """The operations of a phase's pattern: pwrite x 5 + pread."""
    return _counted([member.iop_type for member in phase.pattern])


def request_sizes(phase: Phase) -> Cell:
    """The request sizes of a phase, bytes: a number where they are equal, else a text."""
    return _joined([_rs(phase, number) for number in range(len(phase.pattern))])


def _rs(phase: Phase, member: int) -> Cell:
    """Request size of a pattern member; from the least to the most where they are only similar."""
    offset = phase.offset[member]
    listed = offset.sizes if offset.function == "unknown" else offset
    if isinstance(listed, ListedOffsets | ListedSizes):
        least, most = int(listed.rs.min()), int(listed.rs.max())
        if least < most:
            return f"{least} to {most}"
    return phase.pattern[member].rs


def _shown(row: tuple[Cell, ...]) -> tuple[str, ...]:
    texts = ["-" if cell is None or cell == "" else str(cell) for cell in row]
    weight = row[PHASE_COLUMNS.index("ph_weight")]
    texts[PHASE_COLUMNS.index("ph_weight")] = exact_size(int(weight or 0))
    return tuple(texts)


_LONGEST = 40  # characters of a list of numbers


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers as ranges; the first, how many, and the last where that is long."""
    text = ranks_text(numbers)
    if len(text) <= _LONGEST:
        return text
    return (
        f"{text[: text.rindex(', ', 0, _LONGEST // 2)]} ... {numbers[-1]} ({len(numbers)} phases)"
    )


def phases_text(numbers: Sequence[int]) -> str:
    """Phases in a sentence: "phase 7", "phases 1-40"."""
    return f"phase{'s' if len(numbers) > 1 else ''} {numbers_text(numbers)}"


def _tell_series(text: list[str], series: Series, phases: Sequence[Phase]) -> None:
    ids = series.ph_ids
    step = ids[1] - ids[0]
    regular = ids == tuple(range(ids[0], ids[-1] + 1, step))
    text[0] = (
        f"{ids[0]} to {ids[-1]}" + ("" if step == 1 else f" by {step}")
        if regular
        else numbers_text(ids)
    )
    if series.offset_step is not None:
        text[PHASE_COLUMNS.index("offset")] += f", {series.offset_step:+d} a phase"
    text[PHASE_COLUMNS.index("ph_weight")] += " each"
    totals: dict[str, int] = {}
    for phase in phases:
        for name, count in phase.metadata_ops.items():
            totals[name] = totals.get(name, 0) + count
    calls = ", ".join(f"{name} {count}" for name, count in totals.items())
    text[PHASE_COLUMNS.index("metadata_ops")] = calls or "-"


def _joined(values: Sequence[Cell]) -> Cell:
    """One value, or all of them where a pattern's members differ."""
    different = list(dict.fromkeys(values))
    if len(different) == 1:
        return different[0]
    return _counted(["-" if value is None else str(value) for value in values])


def _counted(texts: Sequence[str]) -> str:
    """A pattern's members in a line: pwrite x 5 + pread."""
    runs = [(text, len(list(same))) for text, same in groupby(texts)]
    return " + ".join(text if n == 1 else f"{text} x {n}" for text, n in runs)


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


def exact_size(size_bytes: int) -> str:
    """Bytes, and what they are in binary units where that is shorter to read."""
    return f"{size_bytes} B" if size_bytes < 1024 else f"{size_bytes} B ({format_size(size_bytes)})"


def _rate(bytes_per_s: float | None) -> str:
    return "not known" if bytes_per_s is None else format_rate(bytes_per_s)
