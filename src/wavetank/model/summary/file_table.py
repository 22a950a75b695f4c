"""The file level of a model: sizes, access modes, who uses which file how.

Counts at the level at which the application itself uses a file. Source: method, section 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache
from os.path import commonpath
from typing import Literal

import numpy as np

from wavetank.model.columns import different, starts, sums
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.file import FileName, ModelFile
from wavetank.model.document.file_members import Members, Visits
from wavetank.model.document.offsets import ViewPositions, is_contiguous
from wavetank.model.document.phase import Phase, Series, writes
from wavetank.model.events.file_families import Family
from wavetank.model.phases.activity import Activity
from wavetank.model.summary.stream_sums import StreamSums, stream_sums
from wavetank.trace.schema import (
    BoolArray,
    FileView,
    FoldTable,
    Int64Array,
    Trace,
    TracedFile,
)
from wavetank.trace.texts import Texts
from wavetank.trace.traced_files import TracedFiles

AccessMode = Literal["sequential", "strided", "random", "unknown"]


def make_files(
    trace: Trace,
    activity: Activity,
    phases: Sequence[Phase],
    series: Sequence[Series],
    directories: Collection[int] = (),
) -> tuple[ModelFile, ...]:
    """One record for each file, in the order of their numbers; ``directories`` of the trace's files are such."""
    traced, views, n_files = trace.files, trace.views, len(trace.files)
    all_sums = stream_sums(activity.rows, activity.data)
    own = activity.is_own(all_sums.file, all_sums.level)
    # Below a file view that the trace does not hold, the POSIX level alone knows how far it reaches.
    highest = _highest_offsets(activity, all_sums, views, own, n_files)

    def of_files(column: Int64Array) -> Int64Array:
        """A sum of each file, of the application's own operations."""
        return sums(column[own], all_sums.file[own], n_files)

    sequential, consecutive = of_files(all_sums.sequential), of_files(all_sums.consecutive)
    unknown = of_files(all_sums.unknown) > 0
    n_reads, n_writes = of_files(all_sums.reads), of_files(all_sums.writes)
    n_operations, has_read, has_write = n_reads + n_writes, n_reads > 0, n_writes > 0
    users = _users(activity)
    by_file: dict[int, list[Phase]] = defaultdict(list)
    for phase in phases:
        by_file[phase.file_id].append(phase)
    steps = {number: one.offset_step for one in series for number in one.ph_ids}
    numbers = list(activity.file_ids)
    files = [traced[file] for file in numbers]
    own_phases = [
        [phase for phase in by_file[file_id] if not phase.by_library]
        for file_id in activity.file_ids.values()
    ]
    weights = [_size_by_weights(own) for own in own_phases]
    reached = [
        highest[file] if own else None for file, own in zip(numbers, own_phases, strict=True)
    ]
    n_users = [len(users.get(file, ())) for file in numbers]
    found = ModelFile.of_columns(
        file_id=list(activity.file_ids.values()),
        file_name=[file.path for file in files],
        other_names=[
            tuple([FileName(path=name.path, symlink=name.symlink) for name in file.other_names])
            for file in files
        ],
        file_size=[
            weight if end is None else end for end, weight in zip(reached, weights, strict=True)
        ],
        file_size_weights=weights,
        file_size_highest_offset=reached,
        file_size_before=[file.size_before for file in files],
        file_np=n_users,
        file_accessmode=[_access_mode(own, steps, views) for own in own_phases],
        file_fileaccesstype=[
            direction(*both)
            for both in zip(has_read[numbers].tolist(), has_write[numbers].tolist(), strict=True)
        ],
        file_accesstype=["shared" if n > 1 else "unique" for n in n_users],
        file_nphase=[len(own) for own in own_phases],
        n_operations=n_operations[numbers].tolist(),
        n_sequential=_told(sequential[numbers], ~unknown[numbers]),
        n_consecutive=_told(consecutive[numbers], ~unknown[numbers]),
        file_system=[file.file_system for file in files],
        directory=[file in directories for file in numbers],
        members=[None] * len(files),
    )
    families = activity.families
    return tuple(
        _of_family(one, families[file], trace.files) if file in families else one
        for one, file in zip(found, numbers, strict=True)
    )


def _of_family(file: ModelFile, family: Family, traced: Sequence[TracedFile]) -> ModelFile:
    """The record of several files: sizes are sums, and it is shared where one of them is."""
    paths = TracedFiles.of(traced).paths.take(family.members)
    paths = paths.changed(np.zeros(1, dtype=np.int64), Texts.of([family.first_path]))
    folders = paths.folders()
    above = set(folders.take(different(folders.first_equal())))
    above.update(path.rpartition("/")[0] for names in family.other_names for path in names)
    common = commonpath(above)
    folder = f"{common.rstrip('/')}/" if common else ""
    known = bool((family.size_before >= 0).all())
    visits = Visits.of(family.ranks.tolist(), family.n_visits, family.order)
    return file.model_copy(
        update={
            "file_size": int(family.size.sum()),
            "file_size_highest_offset": int(family.size.sum()) if file.file_nphase else None,
            "file_size_before": int(family.size_before.sum()) if known else None,
            "file_accessmode": "sequential"
            if family.sequential and file.file_nphase
            else file.file_accessmode,
            "file_accesstype": "shared" if visits.shared else "unique",
            "members": Members(
                folder=folder,
                names=[path.removeprefix(folder) for path in paths],
                other_names=tuple(
                    [path.removeprefix(folder) for path in names] for names in family.other_names
                ),
                size=family.size,
                size_before=family.size_before if known else None,
                visits=visits,
            ),
        }
    )


def direction(reads: bool, writes: bool) -> Literal["R", "W", "W/R", "none"]:
    """R, W, W/R or none."""
    if reads and writes:
        return "W/R"
    return "R" if reads else "W" if writes else "none"


def _users(activity: Activity) -> dict[int, set[int]]:
    """Ranks that open or otherwise touch each file themselves; probing calls that fail do not count."""
    rows, table = activity.rows, activity.rows.table
    some = (table.file >= 0) & (table.error == 0) & activity.is_own(table.file, rows.level)
    file, rank = table.file[some], table.rank[some]
    at = starts(file, rank)
    users: dict[int, set[int]] = defaultdict(set)
    for one, of_rank in zip(file[at].tolist(), rank[at].tolist(), strict=True):
        users[one].add(of_rank)
    return users


def _size_by_weights(phases: Sequence[Phase]) -> int:
    """P15 eq. 2 for written files, eq. 3 for input files; of mixed phases, what they wrote."""
    moved: dict[Set[str], int] = {}
    for phase in phases:
        both = directions(phase)
        moved[both] = moved.get(both, 0) + phase.ph_weight
    if of_one := moved.get(_WRITES) or moved.get(_READS):
        return of_one
    return sum(
        phase.ph_weight
        * sum(writes(member.iop_type) for member in phase.pattern)
        // len(phase.pattern)
        for phase in phases
    )


_WRITES, _READS = frozenset({"write"}), frozenset({"read"})


def directions(phase: Phase) -> Set[str]:
    """{"read"}, {"write"} or both."""
    return _directions(tuple([member.iop_type for member in phase.pattern]))


@lru_cache(maxsize=256)
def _directions(names: tuple[str, ...]) -> Set[str]:
    return frozenset({"write" if writes(name) else "read" for name in names})


# --- sums and maxima by file ----------------------------------------------------------------------


def _told(values: Int64Array, known: BoolArray) -> list[int | None]:
    return [
        value if tells else None
        for value, tells in zip(values.tolist(), known.tolist(), strict=True)
    ]


def _highest_offsets(
    activity: Activity, of: StreamSums, views: Sequence[FileView], own: BoolArray, n_files: int
) -> list[int | None]:
    """Highest offset touched + 1 of each file, bytes; None where offsets are unknown at its level and below it."""
    highest: list[int | None] = [0] * n_files
    told_below = set(of.file[(of.known > 0) & ~own].tolist())
    for file in different(of.file[own & (of.unknown > 0)]).tolist():
        highest[file] = 0 if file in told_below else None
    ends: dict[tuple[int, int], int] = {}
    some = of.known > 0
    columns = (column[some].tolist() for column in (of.file, of.view, of.end))
    for file, view, end in zip(*columns, strict=True):
        ends[file, view] = max(end, ends.get((file, view), 0))
    for (file, view), top in ends.items():
        if (so_far := highest[file]) is None:
            continue
        end = top
        if view >= 0:
            positions = ViewPositions(views[view])
            end = positions.end(top - 1, top)
            if positions.tiles_reached_over:
                table, row = activity.rows.table, activity.data.row
                rows = row[(table.file[row] == file) & (table.view[row] == view)]
                end = max([_end_in_view(table, one, positions) for one in rows.tolist()])
        highest[file] = max(so_far, end)
    return highest


def _end_in_view(table: FoldTable, row: int, positions: ViewPositions) -> int:
    """How far the operations of a row reach in a file whose view has tiles that reach over those behind them.

    Of operations that lie apart those in the last such tiles are looked at.
    """
    count, size, moved, first, disp = (
        int(column[row])
        for column in (table.count, table.size, table.moved, table.view_offset, table.view_disp)
    )
    if disp == size:
        return positions.end(first, first + moved)
    some = (positions.tiles_reached_over + 1) * positions.visible // max(abs(disp), 1) + 2
    numbers = range(max(count - some, 0), count) if disp > 0 else range(min(count, some))
    last_moved = moved - (count - 1) * size
    return max(
        [
            positions.end(at, at + (last_moved if number == count - 1 else size))
            for number in numbers
            for at in (first + number * disp,)
        ]
    )


# --- access mode ----------------------------------------------------------------------------------


def _access_mode(
    phases: Sequence[Phase], steps: Mapping[int, int | None], views: Sequence[FileView]
) -> AccessMode:
    """The least regular of the phases' modes; ``steps`` are the offset steps of series, by phase."""
    modes: set[AccessMode] = set()
    lone: list[Phase] = []
    for phase in phases:
        mode = _phase_mode(phase, steps.get(phase.ph_id), views)
        if mode is None:
            lone.append(phase)
        else:
            modes.add(mode)
    if lone:
        # A phase of one operation follows on no other.
        alone = len(lone) == 1 and lone[0].ph_np == len(lone[0].pattern) == 1
        modes.add("sequential" if alone else _lone_mode(lone))
    for mode in ("unknown", "random", "strided", "sequential"):
        if mode in modes:
            return mode
    return "unknown"


def _phase_mode(
    phase: Phase, series_step: int | None, views: Sequence[FileView]
) -> AccessMode | None:
    """Access mode of one phase; None for a single operation, which has no displacement."""
    functions = [offset.function for offset in phase.offset]
    if "unknown" in functions:
        return "unknown"
    if views:
        numbers = phase.view_ids or (() if phase.view_id is None else (phase.view_id,))
        if any(not is_contiguous(views[number]) for number in set(numbers)):
            return "strided"
    if phase.ph_nrep == 1:
        if series_step is None or len(phase.pattern) > 1:
            return None
        return "sequential" if series_step == phase.pattern[0].rs else "strided"
    found: set[AccessMode] = set()
    for member, offset in zip(phase.pattern, phase.offset, strict=True):
        if offset.function == "linear":
            found.add("sequential" if member.disp == member.rs else "strided")
        elif offset.function == "list":
            for position in range(len(offset.n_runs)):
                found.add(_runs_mode(offset.of_rank(position)))
    return "random" if "random" in found else "strided" if "strided" in found else "sequential"


_BEGINNING = 4096  # runs that are looked at first


def _runs_mode(runs: RunArrays) -> AccessMode:
    """Mode of a rank's runs in order: by gaps, and by displacements."""
    if len(runs) > _BEGINNING:
        columns = (
            getattr(runs, name)[:_BEGINNING]
            for name in ("count", "size", "moved", "offset", "disp")
        )
        if _runs_mode(RunArrays(*columns)) == "random":
            return "random"  # and so is what begins so
    count, rs, offset, disp = runs.count, runs.size, runs.offset, runs.disp
    several = count > 1
    jump = offset[1:] - (offset + (count - 1) * disp)[:-1]
    disps = np.concatenate([disp[several], jump])
    gaps = np.concatenate([(disp - rs)[several], jump - rs[:-1]])
    if not len(gaps) or not gaps.any():
        return "sequential"
    if (disps == disps[0]).all():
        return "strided"
    return "sequential" if gaps[0] > 0 and (gaps == gaps[0]).all() else "random"


def _lone_mode(phases: Sequence[Phase]) -> AccessMode:
    """Mode of phases of one operation each: sequential when they follow on each other."""
    ends: dict[tuple[int, bool], int] = {}
    for phase in phases:
        for member, offset in zip(phase.pattern, phase.offset, strict=True):
            is_write = writes(member.iop_type)
            for position, rank in enumerate(phase.ph_processid):
                if offset.function == "linear":
                    at, moved = offset.a * rank + offset.c, member.rs
                elif offset.function == "list":
                    run = offset.of_rank(position)
                    at, moved = int(run.offset[0]), int(run.moved[0])
                else:
                    return "unknown"
                key = (rank, is_write)
                if ends.get(key, at) != at:
                    return "random"
                ends[key] = at + moved
    return "sequential"


def shared_files(files: Sequence[ModelFile]) -> bool:
    """Whether any file is used by more than one rank, also one after the other."""
    return any(file.file_accesstype == "shared" for file in files)
