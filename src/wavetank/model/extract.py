"""Extracts the I/O model from a trace: the entry point of this stage.

    trace -> rows without loops -> streams -> ranks' parts -> phases -> programs -> summary

Each arrow is a room: events, phases (and metadata for calls that move no data), programs, summary.
Source: method, section 2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from wavetank.document import Provenance
from wavetank.errors import ModelError
from wavetank.model.document.file_views import shared_programs
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import Phase, Series
from wavetank.model.document.program import Program
from wavetank.model.events.file_families import Families, fold_alike
from wavetank.model.events.file_identity import join_names
from wavetank.model.events.own_levels import files_of_mpi, own_levels
from wavetank.model.events.process_order import ProcessEvent, process_events
from wavetank.model.events.program_name import program_name
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows, prepare
from wavetank.model.events.single_rows import join_singles
from wavetank.model.events.validation import in_order, mended
from wavetank.model.metadata.phases import directories_of, metadata_phases
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.memory_layouts import memory_layouts
from wavetank.model.phases.pattern_members import describe
from wavetank.model.phases.phase_table import make_phases
from wavetank.model.phases.rank_merging import Merged, merge
from wavetank.model.phases.series import find_series
from wavetank.model.phases.streams import find_parts
from wavetank.model.programs.orders import LoopsApartError
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
from wavetank.trace.schema import BoolArray, Level, Trace
from wavetank.trace.shared_pointer import without_races
from wavetank.trace.traced_files import TracedFiles


def extract_model(
    trace: Trace,
    provenance: Provenance,
    rules: Rules | None = None,
    name: str | None = None,
) -> Model:
    """The I/O model of a traced run.

    Args:
        trace: what a reader or an importer left.
        provenance: of the model file.
        rules: how phases are split; the method's defaults if None.
        name: of the application, for titles; found in the command if None.

    Raises:
        ModelError: the trace has no operations on files at the levels asked for, or holds what cannot be.
    """
    rules = rules or Rules()
    counted = times_of_counters(trace) if trace.counters else None
    with without_collection(), doing("making the model", 3, "steps") as making:
        run = _mended(trace, rules)
        making.at(1)
        del trace  # its rows are not needed any more
        try:
            activity, found = _taken_apart(run, rules, whole=bool(run.events))
        except LoopsApartError:
            activity, found = _taken_apart(run, rules, whole=True)
        making.at(2)
        if not len(activity.data):
            # Seldom needed, and half of the rooms below.
            from wavetank.model.counters.description import approximation_of  # noqa: PLC0415
            from wavetank.model.counters.trace import approximate_trace  # noqa: PLC0415

            made = approximate_trace(run.trace, _levels(rules))
            if made is not None:
                model = extract_model(made.trace, provenance, rules, name)
                return model.model_copy(
                    update={
                        "approximation": approximation_of(made, model.files),
                        "run_times": counted or model.run_times,
                    }
                )
        if not found.phases and not found.metadata:
            raise ModelError(nothing_to_model(run.trace, rules))
        model = _model(run, activity, found, rules, name, provenance)
        if counted is None:
            return model
        return model.model_copy(update={"run_times": with_aggregators(counted, model.run_times)})


def _levels(rules: Rules) -> tuple[int, ...]:
    return rules.levels or (Level.POSIX, Level.MPIIO)


# --- trace -> its rows ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mended:
    """A trace whose rows can be.

    Attributes:
        trace: with one file for all names of one, and one for files that are used alike.
        families: files that stand for several, which are used alike.
        of_mpi: files whose POSIX calls are the MPI library's, where its own calls are not modelled.
        idle: times in which a rank moved no data.
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


def _mended(trace: Trace, rules: Rules) -> _Mended:
    table, mends = mended(in_order(without_races(trace.folds)), trace)
    trace, table, names = join_names(trace, table)
    families: Families = {}
    if rules.families:
        trace, table, families = fold_alike(trace, table, rules.thresholds)
    return_freed_memory()
    of_mpi = set() if Level.MPIIO in _levels(rules) else files_of_mpi(table)
    idle = find_idle(table)
    events = process_events(trace.ranks)
    if not events:
        table = join_singles(table, rules)
    trace = replace(trace, folds=table)
    return _Mended(trace, families, of_mpi, idle, events, (*mends, *names))


# --- rows -> streams -> ranks' parts -> phases, programs --------------------------------------------


@dataclass(frozen=True)
class _Found:
    """What ranks do.

    Attributes:
        merged: parts of the phases.
        phases: of data.
        metadata: phases of calls that move none.
        series: equal phases that recur.
        programs: the order of each rank's steps.
        directories: those of the trace's files that are directories, by index.
        memory_told: for each row whether its phase says where the gaps in its memory are.
    """

    merged: Merged
    phases: Sequence[Phase]
    metadata: tuple[MetadataPhase, ...]
    series: Sequence[Series]
    programs: tuple[Program, ...]
    directories: Collection[int]
    memory_told: BoolArray


def _taken_apart(run: _Mended, rules: Rules, *, whole: bool) -> tuple[Activity, _Found]:
    """What each row is, the phases that data rows are of, and the order of all steps.

    Raises:
        LoopsApartError: loops must be laid out as a whole.
    """
    levels, trace = _levels(rules), run.trace
    rows = prepare(trace.folds, rules, whole=whole)
    own_level = own_levels(rows, levels, run.by_time)
    file_ids = {file: number for number, file in enumerate(own_level, start=1)}
    data, parts = find_parts(rows, levels, rules, run.families)
    members = describe(rows, data, parts)
    activity = Activity(
        rows, data, parts, members, file_ids, own_level, run.families, rules.thresholds
    )
    counts_calls = trace.source.startswith("darshan")  # no communication
    merged = merge(activity, rules, by_time=run.by_time, own_ticks=counts_calls)
    files = TracedFiles.of(trace.files)
    layouts = memory_layouts(activity)
    unknown = {*files.numbers(attribute="collective_unknown"), *run.of_mpi}
    phases = make_phases(activity, merged, layouts, unknown)
    directories = directories_of(files, activity)
    metadata = metadata_phases(activity, files.paths, directories, by_time=run.by_time)
    programs = make_programs(activity, merged.of_part, phases, rules.pauses_s, run.events)
    return activity, _Found(
        merged, phases, metadata, find_series(phases), programs, directories, layouts.told
    )


# --- phases, programs -> summary --------------------------------------------------------------------


def _model(
    run: _Mended, activity: Activity, found: _Found, rules: Rules, name: str | None, provenance: Provenance
) -> Model:  # fmt: skip
    """The model: phases with the order of each rank's steps, and what they come to."""
    trace, rows, phases = run.trace, activity.rows, found.phases
    ph_id = found.merged.of_part + 1
    files = make_files(trace, activity, phases, found.series, found.directories)
    own = [phase for phase in phases if not phase.by_library]
    app_np = len(
        {rank for phase in own for rank in phase.ph_processid}
        or {rank for phase in found.metadata for rank in phase.ranks}
    )
    return Model.model_construct(
        provenance=provenance,
        application=name or program_name(trace.command),
        command=trace.command,
        source=trace.source,
        mpi_library=trace.mpi_library,
        n_ranks=trace.n_ranks,
        app_np=app_np,
        app_nfiles=sum(file.n_files for file in files if file.n_operations > 0),
        app_st=sum(phase.ph_weight for phase in own),
        elapsed_s=trace.elapsed_s,
        run_times=times_of_rows(rows, trace),
        boundaries=rules.boundaries(),
        thresholds=rules.thresholds,
        requirements=make_requirements(
            files, own, activity.parts.rank, ph_id, found.merged.times, app_np
        ),
        files=files,
        phases=tuple(phases),
        metadata=found.metadata,
        series=tuple(found.series),
        views=_views(trace),
        infos=trace.infos,
        communicators=_communicators(trace, rows),
        programs=shared_programs(found.programs),
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
