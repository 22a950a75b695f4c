"""A kernel's files: safe names below a root, what each is for, and how large it is beforehand."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import KernelFile, KernelMembers, KernelName, Role
from wavetank.kernel.document.operations import member_runs
from wavetank.kernel.files.beforehand import Evidence, evidence_of
from wavetank.model.document.file import ROOT, ModelFile, plain_name
from wavetank.model.document.file_members import Members
from wavetank.model.document.model import View
from wavetank.model.document.offsets import ViewPositions
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, Run
from wavetank.model.document.program import FileStep, Program
from wavetank.model.document.step_walks import file_steps

NAME_LIMIT = 200  # bytes; file systems allow 255, and a temporary suffix needs some


def safe_names(paths: Mapping[int, str]) -> dict[int, str]:
    """A readable name below a root for each path, by file id.

    A name is the path's last component; paths that share it get as many of their directories in
    front as keep them apart ("a-reads.fq", "b-reads.fq"). No name holds a slash, so none leaves the root.
    """
    names = {file_id: _last(path) for file_id, path in paths.items()}
    parts: dict[int, list[str]] = {}  # of those that share a name: there may be a million paths
    depth = 1
    while clashes := _clashes(names):
        depth += 1
        sharing = [file_id for group in clashes for file_id in group]
        parts.update({i: _parts(paths[i]) for i in sharing if i not in parts})
        deeper = [file_id for file_id in sharing if len(parts[file_id]) >= depth]
        if not deeper:
            _number(names, clashes)
            break
        for file_id in deeper:
            names[file_id] = "-".join(parts[file_id][-depth:])
    long = {i: name for i, name in names.items() if len(name) > NAME_LIMIT}
    names |= {i: f"{i}-{name[-(NAME_LIMIT - 20) :]}" for i, name in long.items()}
    return names


def _parts(path: str) -> list[str]:
    return [plain_name(part) for part in PurePosixPath(path).parts if part not in ("/", "")]


def _last(path: str) -> str:
    last = path.rpartition("/")[2]
    if last not in ("", "."):
        return plain_name(last)
    return (_parts(path) or [ROOT])[-1]


def _clashes(names: Mapping[int, str]) -> list[list[int]]:
    """File ids that share a name; upper and lower case count as one, as on some file systems."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for file_id, name in names.items():
        groups[name.casefold()].append(file_id)
    return [group for group in groups.values() if len(group) > 1]


def _number(names: dict[int, str], clashes: Iterable[Sequence[int]]) -> None:
    taken = {name.casefold() for name in names.values()}
    for group in clashes:
        for file_id in group[1:]:
            candidate = f"{names[file_id]}-{file_id}"
            while candidate.casefold() in taken:
                candidate += "_"
            names[file_id] = candidate
            taken.add(candidate.casefold())


def kernel_files(
    files: Collection[ModelFile],
    phases: Sequence[Phase],
    programs: Sequence[Program],
    views: Sequence[View] = (),
) -> list[KernelFile]:
    """Name, role and size beforehand of each file.

    Args:
        files: of the model, those that the kernel touches.
        phases: that the kernel performs.
        programs: that the kernel performs.
        views: of the model.
    """
    apart = [f.file_id for f in files if f.members is not None and not f.members.visits.shared]
    evidence = evidence_of(programs, phases, apart)
    made = _made_by_name(programs)
    origins = _origins(programs)
    names = safe_names({file.file_id: file.file_name for file in files})
    by_file: defaultdict[int, list[Phase]] = defaultdict(list)
    for phase in phases:
        by_file[phase.file_id].append(phase)
    found = []
    for file in files:
        number, name = file.file_id, names[file.file_id]
        used, of_calls = by_file.get(number, []), evidence.get(number, Evidence())
        if file.members is not None:
            of_members = _several(file, file.members, name, used, of_calls, made=number in made)
            found.append(of_members)
        elif number in made:
            origin = origins.get(number)
            found.append(
                KernelFile(
                    file_id=number,
                    name=name,
                    role="output",
                    prepare_bytes=0,
                    content_of=origin,
                    directory=file.directory or of_calls.is_folder,
                )
            )
        else:
            one = _kernel_file(file, name, used, of_calls, views)
            found.append(one.model_copy(update={"content_of": origins.get(number)}))
    return found


def _made_by_name(programs: Sequence[Program]) -> set[int]:
    """Files and directories that come to be by a call on their name, before the same rank does anything else with them."""
    made: set[int] = set()
    for program in programs:
        seen: set[int] = set()
        for step in file_steps(program.steps):
            if step.error or step.file_id in seen:
                continue
            seen.add(step.file_id)
            if step.new_name or step.iop_type in ("mkdir", "mknod"):
                made.add(step.file_id)
    return made


def _origins(programs: Sequence[Program]) -> dict[int, int]:
    """For each file that was renamed or linked from another: the first one of those."""
    origins: dict[int, int] = {}
    for program in programs:
        old: FileStep | None = None
        for step in file_steps(program.steps):
            if step.iop_type not in calls.ON_TWO_NAMES:
                continue
            if step.is_old_name:
                old = step
            elif old is not None and not step.error and step.file_id not in origins:
                first = origins.get(old.file_id, old.file_id)
                if first != step.file_id:
                    origins[step.file_id] = first
    return origins


def _kernel_file(
    file: ModelFile, name: str, phases: Sequence[Phase], evidence: Evidence, views: Sequence[View]
) -> KernelFile:
    size = _size_beforehand(file, phases, evidence, views)
    if evidence.is_never_there:
        return KernelFile(file_id=file.file_id, name=name, role="none", prepare_bytes=0)
    if file.directory or evidence.is_folder:
        role: Role = "output" if size is None else "both" if evidence.changes else "input"
        return KernelFile(
            file_id=file.file_id, name=name, role=role, prepare_bytes=0, directory=True
        )
    written = any(not calls.reads(member.iop_type) for phase in phases for member in phase.pattern)
    role = "output" if size is None else "both" if written or evidence.changes else "input"
    return KernelFile(file_id=file.file_id, name=name, role=role, prepare_bytes=size or 0)


def _several(
    file: ModelFile,
    members: Members,
    name: str,
    phases: Sequence[Phase],
    evidence: Evidence,
    *,
    made: bool,
) -> KernelFile:
    """A file with members, of which all are what the largest of them is by the rules for one file."""
    before = members.size_before
    largest = int(np.argmax(members.size if before is None else before))
    sample = file.model_copy(
        update={
            "file_size": int(members.size[largest]),
            "file_size_before": None if before is None else int(before[largest]),
        }
    )
    one = _kernel_file(sample, name, phases, evidence, ())
    sizes = members.size if before is None else before
    if made or one.prepare_bytes == 0:
        sizes = np.zeros(len(members), dtype=np.int64)
    paths = dict.fromkeys(members.all_paths())  # some may have a name one after another
    safe = dict(zip(paths, safe_names(dict(enumerate(paths))).values(), strict=True))
    names, *others = (
        tuple(safe[path] for path in members.paths(which))
        for which in range(1 + len(members.other_names))
    )
    return KernelFile(
        file_id=file.file_id,
        name=name,
        other_names=tuple(KernelName(name=name) for _ in others),
        role="output" if made else one.role,
        prepare_bytes=int(sizes.sum()),
        directory=one.directory,
        members=KernelMembers(
            names=names,
            other_names=tuple(others),
            prepare_bytes=sizes,
            visits=members.visits,
        ),
    )


def _size_beforehand(
    file: ModelFile, phases: Sequence[Phase], evidence: Evidence, views: Sequence[View]
) -> int | None:
    """Bytes that must be there before the run; None when the run makes the file itself.

    A file that was there, but empty and to be created, or to be made or emptied before anything was read or needed
    it, is what an earlier run or another rank left: the run makes it. Of a file that is looked at and never opened
    no call sees the size.
    """
    before, flags = file.file_size_before, evidence.flags
    if evidence.must_be_there or not (phases or evidence.made_by or evidence.missed_by):
        if before is not None:
            return before if evidence.is_opened or phases else 0
        return max(_read_first(file, phases, views), evidence.mapped_bytes)
    if evidence.missed_by:
        return None
    reads_first = bool(phases) and calls.reads(phases[0].pattern[0].iop_type)
    if before is not None and not (
        (before == 0 and flags & os.O_CREAT)
        or (flags & os.O_TRUNC and flags & os.O_CREAT and not reads_first)
    ):
        return before
    if before == 0:
        return None
    return _read_first(file, phases, views) or None


def _read_first(file: ModelFile, phases: Sequence[Phase], views: Sequence[View]) -> int:
    """How far the reads reach that come before any write.

    A read is not one of them where other ranks wrote that far earlier, as their times tell: those ranks' phases may be
    listed behind it.
    """
    highest = 0
    for phase in phases:  # in order of first occurrence
        if not calls.reads(phase.pattern[0].iop_type):
            break
        for index, member in enumerate(phase.pattern):
            if calls.reads(member.iop_type):
                reach = _reach(phase, index, views)
                end = file.file_size if reach is None else reach
                if not any(
                    other.ended_before(phase) and _writes_to(other, end, views) for other in phases
                ):
                    highest = max(highest, end)
    return highest


def _writes_to(phase: Phase, end: int, views: Sequence[View]) -> bool:
    """Whether a phase of writes is known to reach as far as ``end``."""
    if any(calls.reads(member.iop_type) for member in phase.pattern):
        return False
    reaches = (_reach(phase, index, views) for index in range(len(phase.pattern)))
    return any(reach is not None and reach >= end for reach in reaches)


def _reach(phase: Phase, index: int, views: Sequence[View]) -> int | None:
    """Where what a pattern member moves ends; None where offsets are unknown."""
    return _end(phase, index) if phase.offset_view is None else _end_in_views(phase, index, views)


def _end_in_views(phase: Phase, index: int, views: Sequence[View]) -> int | None:
    """The same through MPI file views. Repetitions that lie apart count with what is between them."""
    offsets = (phase.offset_view or phase.offset)[index]
    ends = []
    for number, rank in enumerate(phase.ph_processid):
        view_id = phase.view_id if phase.view_ids is None else phase.view_ids[number]
        runs = member_runs(phase, index, rank, offsets)
        if runs is None or view_id is None or view_id < 0:
            return None
        positions = ViewPositions(views[view_id])
        ends += [positions.end(_run_begin(run), _run_end(run)) for run in runs]
    return max(ends, default=0)


def _end(phase: Phase, index: int) -> int | None:
    """The end of what a pattern member moves, over ranks and repetitions; None where offsets are unknown."""
    offsets, rs = phase.offset[index], phase.pattern[index].rs
    if isinstance(offsets, LinearOffsets):
        last = phase.ph_nrep - 1
        moved_last = rs if phase.moved_last is None else phase.moved_last[index]
        return max(
            offsets.a * rank + offsets.b * repetition + offsets.c + (moved_last if repetition == last else rs)
            for rank in (phase.ph_processid[0], phase.ph_processid[-1])
            for repetition in {0, max(0, last - 1), last}
        )  # fmt: skip
    if isinstance(offsets, ListedOffsets):
        return _listed_end(offsets)
    return None


def _listed_end(offsets: ListedOffsets) -> int:
    """Where what runs move ends: of each its last operation, which may be short, or its first or last whole one."""
    count, rs, offset, disp = offsets.count, offsets.rs, offsets.offset, offsets.disp
    last = rs if offsets.moved is None else offsets.moved - (count - 1) * rs
    whole = np.maximum(offset, offset + (count - 2) * disp) + rs
    end = offset + (count - 1) * disp + last
    ends = np.where(count == 1, end, np.maximum(end, whole))
    return int(ends.max()) if len(ends) else 0


def _run_begin(run: Run) -> int:
    return run.offset + min(0, (run.count - 1) * run.disp)


def _run_end(run: Run) -> int:
    moved_last = run.moved - (run.count - 1) * run.rs
    end = run.offset + (run.count - 1) * run.disp + moved_last
    if run.count == 1:
        return end
    return max(end, run.offset + run.rs, run.offset + (run.count - 2) * run.disp + run.rs)
