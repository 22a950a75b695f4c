"""Extracts the I/O model from a trace: the entry point of this stage.

    trace -> folded rows -> rows and streams -> patterns, ranks' parts, phases -> programs -> summary

Each arrow is a room: compression, events, phases (and metadata for calls that move no data), programs, summary.
Source: method, section 2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.document import Provenance
from wavetank.errors import ModelError
from wavetank.model.compression.compactor import Compactor
from wavetank.model.compression.folded_table import unfold_idle
from wavetank.model.compression.folding import fold
from wavetank.model.compression.interleavings import kinds_of
from wavetank.model.document.file_views import shared_programs
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import Phase, Series
from wavetank.model.events.file_families import Families, fold_alike
from wavetank.model.events.file_identity import join_names
from wavetank.model.events.own_levels import files_of_mpi, own_levels
from wavetank.model.events.process_order import ProcessEvent, between_processes, process_events
from wavetank.model.events.program_name import program_name
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows, prepare, without_library_files
from wavetank.model.events.streams import data_rows
from wavetank.model.events.validation import in_order, mended
from wavetank.model.metadata.phases import directories_of, metadata_phases
from wavetank.model.native.survey import OpKinds
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.memory_layouts import memory_layouts
from wavetank.model.phases.pattern_ranges import find_ranges
from wavetank.model.phases.phase_table import PartTimes, clocks, make_phases
from wavetank.model.phases.rank_merging import group_ranks
from wavetank.model.phases.rank_phase import RankPhase, describe
from wavetank.model.phases.series import find_series
from wavetank.model.programs.rank_programs import make_programs
from wavetank.model.rules import Rules
from wavetank.model.summary.file_table import make_files
from wavetank.model.summary.file_times import times_of_counters, times_of_rows, with_aggregators
from wavetank.model.summary.level_relations import relate_levels
from wavetank.model.summary.library_calls import library_calls
from wavetank.model.summary.requirements import make_requirements
from wavetank.model.summary.run_times import IdleTimes, find_idle
from wavetank.model.summary.timeline import make_timeline
from wavetank.model.summary.warnings import nothing_to_model, shortcomings
from wavetank.notes import notes_of
from wavetank.steps import doing
from wavetank.trace.memory import return_freed_memory, without_collection
from wavetank.trace.ops import OPS, codes_where
from wavetank.trace.schema import BoolArray, Int64Array, Level, Op, Trace
from wavetank.trace.shared_pointer import without_races
from wavetank.trace.traced_files import TracedFiles


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
    counted = times_of_counters(trace) if trace.counters else None
    with without_collection(), doing("making the model", 4, "steps") as making:
        run = _compressed(trace, rules, ops)
        making.at(1)
        del trace  # its rows are not needed any more
        activity = _taken_apart(run, rules, ops)
        making.at(2)
        if not len(activity.data):
            # Seldom needed, and half of the rooms below.
            from wavetank.model.counters.description import approximation_of  # noqa: PLC0415
            from wavetank.model.counters.trace import approximate_trace  # noqa: PLC0415

            made = approximate_trace(run.trace, _levels(rules), rules.thresholds)
            if made is not None:
                model = extract_model(made.trace, provenance, rules, ops, name)
                return model.model_copy(
                    update={
                        "approximation": approximation_of(made, model.files),
                        "run_times": counted or model.run_times,
                    }
                )
        found = _phases(run, activity, rules)
        making.at(3)
        if not found.phases and not found.metadata:
            raise ModelError(nothing_to_model(run.trace, rules))
        model = _model(run, activity, found, rules, name, provenance)
        if counted is None:
            return model
        return model.model_copy(update={"run_times": with_aggregators(counted, model.run_times)})


def _levels(rules: Rules) -> tuple[int, ...]:
    return rules.levels or (Level.POSIX, Level.MPIIO)


# --- trace -> folded rows ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compressed:
    """A trace in folded rows.

    Attributes:
        trace: with these rows.
        families: files that stand for several, which are used alike.
        of_mpi: files whose POSIX calls are the MPI library's, where its own calls are not modelled.
        idle: times in which a rank moved no data, which folded rows do not show.
        events: where processes begin and end, beside what a launcher started.
        notes: what was mended, and which names are of one file.
    """

    trace: Trace
    families: Families
    of_mpi: Collection[int]
    idle: IdleTimes
    events: Sequence[ProcessEvent]
    notes: tuple[str, ...]

    @property
    def by_time(self) -> bool:
        """Whether times order what processes do that make no MPI calls: only Darshan and DFTracer leave ticks out of MPI programs."""
        return self.trace.source in ("wavetank", "strace")


def _compressed(trace: Trace, rules: Rules, ops: Mapping[int, Op]) -> _Compressed:
    """One file for all names of one, one for files that are used alike; then as few rows as can be."""
    trace, rows, names = join_names(trace, in_order(without_races(trace.folds)))
    families: Families = {}
    if rules.families:
        trace, rows, families = fold_alike(trace, rows, ops, rules.thresholds)
    return_freed_memory()
    of_mpi = set() if Level.MPIIO in _levels(rules) else files_of_mpi(rows, ops)
    idle = find_idle(rows, ops, rules.thresholds)
    gap_s = rules.shortest_gap_s
    events = process_events(trace.ranks)
    pieces = between_processes(unfold_idle(rows, gap_s), events)
    folds = fold(pieces, gap_s, compactor(rules, ops, interleavings=not events))
    table, mends = mended(folds, trace)
    trace = replace(trace, folds=table)
    del rows, pieces, folds
    return_freed_memory()
    return _Compressed(trace, families, of_mpi, idle, events, (*mends, *names))


# --- rows -> streams -> patterns, ranks' parts ------------------------------------------------------


def _taken_apart(run: _Compressed, rules: Rules, ops: Mapping[int, Op]) -> Activity:
    """What each row is, and the ranks' parts of phases: ranges of operations that repeat one pattern."""
    levels = _levels(rules)
    rows, library_files = without_library_files(prepare(run.trace.folds, ops, rules))
    data = data_rows(rows, levels)
    own_level = own_levels(rows, levels, run.by_time)
    file_ids = {file: number for number, file in enumerate(own_level, start=1)}
    parts: list[RankPhase] = []
    if len(data):
        rows, data, ranges = find_ranges(rows, data, levels, rules, run.families)
        parts = describe(data, ranges, rules.work)
    return Activity(
        rows,
        data,
        parts,
        file_ids,
        own_level,
        run.families,
        rules.thresholds,
        rules.work,
        library_files,
    )


# --- ranks' parts -> phases -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Phases:
    """Phases of all ranks.

    Attributes:
        phases: of data.
        metadata: of calls that move none.
        series: equal phases that recur.
        ph_id: for each part of the activity the number of its phase.
        times: of each part.
        directories: those of the trace's files that are directories, by index.
        memory_told: for each row whether its phase says where the gaps in its memory are.
    """

    phases: Sequence[Phase]
    metadata: tuple[MetadataPhase, ...]
    series: Sequence[Series]
    ph_id: Int64Array
    times: PartTimes
    directories: Collection[int]
    memory_told: BoolArray


def _phases(run: _Compressed, activity: Activity, rules: Rules) -> _Phases:
    """One phase for the ranks that do the same thing, of data and of calls that move none."""
    trace, times = run.trace, clocks(activity)
    files = TracedFiles.of(trace.files)
    unknown = {*files.numbers(attribute="collective_unknown"), *run.of_mpi}
    counts_calls = trace.source.startswith("darshan")  # no communication
    groups = group_ranks(activity.parts, rules, run.families)
    layouts = memory_layouts(activity)
    phases, ph_id = make_phases(
        activity, groups, times, run.by_time, counts_calls, layouts, unknown
    )
    directories = directories_of(files, activity)
    metadata = metadata_phases(activity, files.paths, directories, by_time=run.by_time)
    series = find_series(phases)
    return _Phases(phases, metadata, series, ph_id, times, directories, layouts.told)


# --- phases -> programs, summary --------------------------------------------------------------------


def _model(
    run: _Compressed, activity: Activity, found: _Phases, rules: Rules, name: str | None, provenance: Provenance
) -> Model:  # fmt: skip
    """The model: phases with the order of each rank's steps, and what they come to."""
    trace, rows, phases, ph_id = run.trace, activity.rows, found.phases, found.ph_id
    files = make_files(trace, activity, phases, found.series, found.directories)
    return_freed_memory()
    own = [phase for phase in phases if not phase.by_library]
    app_np = len(
        {rank for phase in own for rank in phase.ph_processid}
        or {rank for phase in found.metadata for rank in phase.ranks}
    )
    programs = make_programs(activity, ph_id, phases, rules.pauses_s, run.events)
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
        run_times=times_of_rows(rows, trace),
        boundaries=rules.boundaries(),
        thresholds=rules.thresholds,
        requirements=make_requirements(files, own, activity.parts, ph_id, found.times, app_np),
        files=files,
        phases=tuple(phases),
        metadata=found.metadata,
        series=tuple(found.series),
        views=_views(trace),
        infos=trace.infos,
        communicators=_communicators(trace, rows),
        programs=shared_programs(programs),
        relations=relate_levels(activity, ph_id),
        timeline=make_timeline(activity, run.idle, ph_id),
        notes=(
            *trace.notes,
            *notes_of("inferred", "files", run.notes),
            *shortcomings(activity, trace, rules),
            *library_calls(activity, ph_id, found.memory_told),
        ),
    )


def _views(trace: Trace) -> tuple[View, ...]:
    return tuple(
        View.model_construct(
            displacement=view.displacement,
            etype_size=view.etype_size,
            extent=view.extent,
            run_offsets=view.run_offsets,
            run_lengths=view.run_lengths,
        )
        for view in trace.views
    )


def _communicators(trace: Trace, rows: Rows) -> tuple[tuple[int, ...], ...]:
    """The trace's communicators; all ranks where it synchronises but names none."""
    if not trace.communicators and (rows.kind == RowKind.SYNC_RANKS).any():
        return (tuple(range(trace.n_ranks)),)
    return trace.communicators


# --- how rows are folded ----------------------------------------------------------------------------


def compactor(
    rules: Rules,
    ops: Mapping[int, Op] = OPS,
    *,
    interleavings: bool = True,
) -> Compactor:
    """What folds the operations of a run for an extraction by these rules.

    ``interleavings`` is False where the times of single operations matter.
    """
    separating = codes_where(lambda op: rules.split_at_communication.get(op.level, False), ops)
    calls = codes_where(lambda op: op.level == Level.MPIIO, ops)
    interleaved, seeks = kinds_of(ops)
    if not interleavings or rules.shortest_gap_s is not None:
        interleaved = np.zeros_like(interleaved)
    kinds = OpKinds(*(codes.astype(np.uint8) for codes in (separating, calls, interleaved, seeks)))
    return Compactor(rules, kinds)
