"""Extracts the I/O model from a trace: the entry point of this stage.

    trace -> folded rows -> rows and streams -> patterns, ranks' parts, phases -> programs -> summary

Each arrow is a room: compression, events, phases (and metadata for calls that move no data), programs, summary.
Source: method, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from wavetank.document import Provenance
from wavetank.errors import ModelError
from wavetank.model.compression.compactor import Compactor
from wavetank.model.compression.folded_table import blocks, unfold_idle
from wavetank.model.compression.folding import fold
from wavetank.model.compression.weaves import kinds_of
from wavetank.model.counters.description import approximation_of
from wavetank.model.counters.trace import approximate_trace
from wavetank.model.document.file_views import shared_programs
from wavetank.model.document.model import Model, View
from wavetank.model.events.file_families import Families, fold_alike
from wavetank.model.events.file_identity import join_names
from wavetank.model.events.process_order import between_processes, process_events
from wavetank.model.events.program_name import program_name
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows, prepare, without_library_files
from wavetank.model.events.streams import data_rows
from wavetank.model.events.validation import in_order, mended
from wavetank.model.metadata.phases import directories_of, metadata_phases
from wavetank.model.native.survey import OpKinds
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.pattern_ranges import find_ranges
from wavetank.model.phases.phase_table import clocks, make_phases
from wavetank.model.phases.rank_merging import group_ranks
from wavetank.model.phases.rank_phase import RankPhase, describe
from wavetank.model.phases.series import find_series
from wavetank.model.programs.rank_programs import make_programs
from wavetank.model.rules import LEVEL_NAMES, Rules
from wavetank.model.summary.file_table import make_files
from wavetank.model.summary.level_relations import relate_levels
from wavetank.model.summary.requirements import make_requirements
from wavetank.model.summary.run_times import find_idle, run_times_of_rows
from wavetank.model.summary.timeline import make_timeline
from wavetank.trace.memory import return_freed_memory, without_collection
from wavetank.trace.ops import DATA_KINDS, OPS, codes_where
from wavetank.trace.schema import UNKNOWN, FoldTable, Int32Array, Int64Array, Level, Op, Trace
from wavetank.trace.shared_pointer import without_races
from wavetank.trace.traced_files import TracedFiles


@without_collection()
def extract_model(
    trace: Trace,
    provenance: Provenance,
    rules: Rules | None = None,
    ops: Mapping[int, Op] = OPS,
    name: str | None = None,
) -> Model:
    """The I/O model of a traced run.

    Args:
        trace: what a reader or an importer left.
        provenance: of the model file.
        rules: how phases are split; the method's defaults if None.
        ops: operations by their code in the trace; the native format's by default.
        name: of the application, for titles; found in the command if None.

    Raises:
        ModelError: the trace has no operations on files at the levels asked for, or holds what cannot be.
    """
    rules = rules or Rules()
    levels = rules.levels or (Level.POSIX, Level.MPIIO)
    gap_s = rules.shortest_gap_s
    trace, named, names = join_names(trace, in_order(without_races(trace.folds)))
    families: Families = {}
    if rules.families:
        trace, named, families = fold_alike(trace, named, ops, rules.thresholds)
    return_freed_memory()
    of_mpi = set() if Level.MPIIO in levels else _of_mpi_library(named, ops)
    idle = find_idle(named, ops, rules.thresholds)
    single = unfold_idle(named, gap_s)
    events = process_events(trace.ranks)
    pieces = between_processes(single, events)
    folds = fold(pieces, gap_s, compactor(rules, ops, weaves=not events))
    table, notes = mended(folds, trace)
    trace = replace(trace, folds=table)  # the rows as recorded are not needed any more
    del named, single, pieces, folds
    return_freed_memory()
    rows = prepare(table, ops, rules)
    rows, library_files = without_library_files(rows)
    data = data_rows(rows, levels)
    if not len(data) and (made := approximate_trace(trace, levels, rules.thresholds)) is not None:
        model = extract_model(made.trace, provenance, rules, ops, name)
        return model.model_copy(update={"approximation": approximation_of(made, model.files)})
    # Only Darshan and DFTracer leave ticks out of MPI programs.
    by_time = trace.source in ("wavetank", "strace")
    own_level = _own_levels(rows, levels, by_time)
    file_ids = {file: number for number, file in enumerate(own_level, start=1)}
    parts: list[RankPhase] = []
    if len(data):
        rows, data, ranges = find_ranges(rows, data, levels, rules, families)
        parts = describe(data, ranges)
    activity = Activity(rows, data, parts, file_ids, own_level, families, rules.thresholds)
    times = clocks(activity)
    traced = TracedFiles.of(trace.files)
    unknown = {*traced.numbers(attribute="collective_unknown"), *of_mpi}
    counts_calls = trace.source.startswith("darshan")  # no communication
    phases, ph_id = make_phases(
        activity, group_ranks(parts, rules, families), times, by_time, counts_calls, unknown
    )
    directories = directories_of(traced, activity)
    metadata = metadata_phases(activity, traced.paths, directories, by_time=by_time)
    if not phases and not metadata:
        raise ModelError(_nothing(trace, rules))
    series = find_series(phases)
    files = make_files(trace, activity, phases, series, directories)
    return_freed_memory()
    by_id = {file_id: LEVEL_NAMES[own_level[file]] for file, file_id in file_ids.items()}
    own = [phase for phase in phases if phase.level == by_id[phase.file_id]]
    app_np = len(
        {rank for phase in own for rank in phase.ph_processid}
        or {rank for phase in metadata for rank in phase.ranks}
    )
    return Model.model_construct(
        provenance=provenance,
        application=name or program_name(trace.command),
        command=trace.command,
        source=trace.source,
        n_ranks=trace.n_ranks,
        app_np=app_np,
        app_nfiles=sum(file.n_files for file in files if file.n_operations > 0),
        app_st=sum(phase.ph_weight for phase in own),
        elapsed_s=trace.elapsed_s,
        run_times=run_times_of_rows(rows, trace.elapsed_s),
        boundaries=rules.boundaries(),
        thresholds=rules.thresholds,
        requirements=make_requirements(files, own, parts, ph_id, times, app_np),
        files=files,
        phases=tuple(phases),
        metadata=metadata,
        series=tuple(series),
        views=tuple(
            View(
                displacement=view.displacement,
                etype_size=view.etype_size,
                extent=view.extent,
                run_offsets=view.run_offsets,
                run_lengths=view.run_lengths,
            )
            for view in trace.views
        ),
        infos=trace.infos,
        communicators=_communicators(trace, rows),
        programs=shared_programs(make_programs(activity, ph_id, phases, rules.pauses_s, events)),
        relations=relate_levels(activity, ph_id),
        timeline=make_timeline(activity, idle, ph_id),
        warnings=(
            *trace.warnings,
            *notes,
            *names,
            *_findings(activity, trace, rules),
            *_library(trace, library_files),
        ),
        lost=trace.lost,
        untold=trace.untold,
    )


def compactor(
    rules: Rules,
    ops: Mapping[int, Op] = OPS,
    *,
    weaves: bool = True,
) -> Compactor:
    """What folds the operations of a run for an extraction by these rules.

    ``weaves`` is False where the times of single operations matter.
    """
    parting = codes_where(lambda op: rules.split_at_communication.get(op.level, False), ops)
    calls = codes_where(lambda op: op.level == Level.MPIIO, ops)
    woven, seeks = kinds_of(ops)
    if not weaves or rules.shortest_gap_s is not None:
        woven = np.zeros_like(woven)
    kinds = OpKinds(*(codes.astype(np.uint8) for codes in (parting, calls, woven, seeks)))
    return Compactor(rules, kinds)


def _own_levels(rows: Rows, levels: tuple[Level, ...], by_time: bool) -> dict[int, Level]:
    """The level at which the application itself uses each file, in the order of their first use.

    First is by logical clocks: ticks, then operations of the rank, then rank; by time where processes
    take part that make no MPI calls.

    A file that is used through MPI-IO at all is used at that level: its POSIX calls are the MPI
    library's (Choice).
    """
    table = rows.table
    found: dict[int, Level] = {}
    for level in sorted(levels):
        some = (table.file >= 0) & (rows.level == level) & (rows.kind != RowKind.IGNORED)
        found.update(dict.fromkeys(np.unique(table.file[some]).tolist(), Level(level)))
    own = np.full(int(table.file.max(initial=-1)) + 2, 255, dtype=np.uint8)
    for file, level in found.items():
        own[file] = level
    index = np.flatnonzero(own[table.file] == rows.level)
    keys: list[Int32Array | Int64Array] = [table.rank[index], table.seq[index], table.tick[index]]
    if by_time:
        keys.append(rows.launched(table.rank[index], table.start_ns[index]))
    order = index[np.lexsort(keys)]
    _, first = np.unique(table.file[order], return_index=True)
    return {file: found[file] for file in table.file[order[np.sort(first)]].tolist()}


def _of_mpi_library(table: FoldTable, ops: Mapping[int, Op]) -> set[int]:
    """Files that are used through MPI-IO: their POSIX calls are the MPI library's."""
    is_mpi = codes_where(lambda op: op.level == Level.MPIIO, ops)
    return set(np.unique(table.file[is_mpi[table.op] & (table.file >= 0)]).tolist())


def _communicators(trace: Trace, rows: Rows) -> tuple[tuple[int, ...], ...]:
    """The trace's communicators; all ranks where it synchronises but names none."""
    if not trace.communicators and (rows.kind == RowKind.SYNC_RANKS).any():
        return (tuple(range(trace.n_ranks)),)
    return trace.communicators


def _nothing(trace: Trace, rules: Rules) -> str:
    asked = " and ".join(LEVEL_NAMES[level] for level in rules.levels) if rules.levels else None
    n_rows = len(trace.folds)
    command = " ".join(trace.command) or trace.source
    held = "I/O at all" if n_rows == 0 else "operation on a file"
    what = f"the trace of '{command}' holds no {held}"
    if asked:
        what += f" at level {asked}"
    hint = "Check that the program uses files that the tracer was told to keep"
    if trace.warnings:
        hint += "; the trace says: " + "; ".join(trace.warnings)
    return f"{what}, so there is nothing to model. {hint}"


def _library(trace: Trace, files: Int64Array) -> list[str]:
    """Files that were left out because only the MPI library used them."""
    if not len(files):
        return []
    names = [PurePath(trace.files[file].path).name for file in files.tolist()]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return [f"files that only the MPI library used are left out: {shown}"]


def _findings(activity: Activity, trace: Trace, rules: Rules) -> list[str]:
    """What a reader of the model must know about it."""
    found = []
    rows = activity.rows
    table = rows.table
    beside = (
        (rows.kind == RowKind.DATA)
        & (rows.level == Level.POSIX)
        & (rows.inside < 0)
        & (table.start_ns != UNKNOWN)
    )
    beside &= activity.own_levels()[table.file] == Level.MPIIO
    if beside.any():
        names = sorted(
            {
                PurePath(trace.files[file].path).name
                for file in np.unique(table.file[beside]).tolist()
            }
        )
        found.append(
            f"{', '.join(names)} was used through MPI-IO and beside it: {int(table.count[beside].sum())} POSIX operations "
            "outside of MPI-IO calls are phases of the level below, and in no program"
        )
    lost = [facts.rank for facts in trace.ranks if not facts.complete]
    if lost:
        found.append(
            f"the trace of rank {_listed(lost)} is cut short (killed, or damaged): the model holds what was recorded"
        )
    missing = sorted(set(range(trace.n_ranks)) - {facts.rank for facts in trace.ranks})
    if missing:
        found.append(
            f"the trace has no part for rank {_listed(missing)}: its I/O is not in the model"
        )
    failed = (table.error != 0) & (rows.kind == RowKind.FILE) & (table.file >= 0)
    is_data = codes_where(lambda op: op.kind in DATA_KINDS, rows.ops)
    n_failed = int(table.count[failed & is_data[table.op]].sum())
    if n_failed:
        found.append(f"{n_failed} reads or writes failed; they are no part of any phase")
    for level, splits in rules.split_at_communication.items():
        at = (rows.level == level) & (rows.kind == RowKind.DATA)
        unseen = trace.source.startswith("darshan") or (
            not (rows.comm[at] > 0).any() and trace.source != "wavetank"
        )
        if splits and at.any() and (unseen or not (table.tick[at] > 0).any()):
            found.append(
                f"the trace counts no communication, so that it could not split phases at level {LEVEL_NAMES[level]}"
            )
    if rules.split_at_computation_s is not None:
        found.extend(_hidden_gaps(rows, rules.split_at_computation_s))
    unknown = sorted(
        {
            PurePath(trace.files[file].path).name
            for file in np.unique(
                table.file[(rows.kind == RowKind.DATA) & (table.offset < 0)]
            ).tolist()
        }
    )
    if unknown:
        found.append(f"the trace does not say at which offsets {', '.join(unknown)} was accessed")
    return found


def _hidden_gaps(rows: Rows, gap_s: float) -> list[str]:
    """Folded rows whose inner pauses might be longer than the gap."""
    table = rows.table
    some = (rows.kind == RowKind.DATA) & (table.count > 1) & (table.start_ns >= 0)
    busy = table.busy_ns.copy()
    loops = blocks(table)
    if len(loops):
        inside = loops.of_row >= 0
        of_loop = np.add.reduceat(np.where(inside, busy, 0), loops.start)
        busy[inside] = of_loop[loops.of_row[inside]]
    idle = table.end_ns[some] - table.start_ns[some] - busy[some]
    n = int((idle > gap_s * 1e9).sum())
    if not n:
        return []
    return [
        f"{n} folded rows of the trace hold pauses of {gap_s:g} s or more in all; where in them is not recorded, "
        "so computation could not split there"
    ]


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"
