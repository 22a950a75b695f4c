"""The nearest IOR command lines of a kernel's phases (method, section 3; P15 table II).

IOR lays out -s segments, each with one block of -b bytes for each task, each block read or written
by transfers of -t bytes in order (IOR user guide). What of a phase that layout cannot say is listed
with the line: the operations that the line will produce are worked out and compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wavetank.kernel import calls
from wavetank.kernel.operations import first_difference, member_runs, normal, totals
from wavetank.kernel.plan import IorLine, Kernel, KernelFile, Refused
from wavetank.model.phase import Phase, Run, Series

TRANSFER_UNIT = 8
"""bytes: IOR refuses a transfer size that is not a multiple of its access size, sizeof(long long)."""
_FILES_ON_THEIR_OWN = 4  # up to as many read-only files get a line each; more are one line with -F


@dataclass(frozen=True)
class IorParameters:
    """IOR's parameters that decide which operations it makes. Sizes in bytes."""

    api: str  # "POSIX" or "MPIIO"
    collective: bool
    write: bool
    file_per_process: bool
    n_tasks: int
    segments: int
    block: int
    transfer: int
    file: str

    def command(self, version: str = "4.0") -> str:
        """The command line, in the dialect of IOR 2.10 (P16, P18) or of 3.x and 4.x."""
        program = "./IOR" if version.startswith("2") else "ior"
        words = [
            "mpirun", "-np", str(self.n_tasks), program, "-w" if self.write else "-r", "-N", str(self.n_tasks),
            "-a", self.api, *(["-c"] if self.collective else []), *(["-F"] if self.file_per_process else []),
            "-s", str(self.segments), "-b", str(self.block), "-t", str(self.transfer), "-k", "-o", self.file,
        ]  # fmt: skip
        return " ".join(words)

    def operations(self, task: int) -> list[Run]:
        """What one task does, in order, offsets in its file."""
        per_block = self.block // self.transfer
        first = 0 if self.file_per_process else task * self.block
        stride = self.block if self.file_per_process else self.n_tasks * self.block
        if per_block == 1:
            return [
                Run(count=self.segments, rs=self.transfer, offset=first, disp=stride if self.segments > 1 else 0,
                    moved=self.segments * self.transfer)
            ]  # fmt: skip
        return [
            Run(count=per_block, rs=self.transfer, offset=first + segment * stride, disp=self.transfer,
                moved=self.block)
            for segment in range(self.segments)
        ]  # fmt: skip


def parse_command(command: str) -> IorParameters:
    """The parameters of a command line that ``IorParameters.command`` wrote.

    Raises:
        ValueError: it is not one of those.
    """
    words = command.split()
    option = {words[i]: words[i + 1] for i in range(len(words) - 1)}
    return IorParameters(
        api=option["-a"],
        collective="-c" in words,
        write="-w" in words,
        file_per_process="-F" in words,
        n_tasks=int(option["-np"]),
        segments=int(option["-s"]),
        block=int(option["-b"]),
        transfer=int(option["-t"]),
        file=option["-o"],
    )


@dataclass(frozen=True)
class _Group:
    """Phases that one IOR run stands for: a series on one file, or the same phase on a file per rank."""

    phases: tuple[Phase, ...]
    files: tuple[KernelFile, ...]  # one, or one for each phase

    @property
    def per_process(self) -> bool:
        return len(self.files) > 1

    def ranks(self) -> list[int]:
        if self.per_process:
            return [phase.ph_processid[0] for phase in self.phases]
        return list(self.phases[0].ph_processid)

    def runs(self, rank: int) -> list[Run] | None:
        """One rank's operations, in order; None where offsets are unknown."""
        phases = (
            [phase for phase in self.phases if phase.ph_processid[0] == rank]
            if self.per_process
            else self.phases
        )
        found: list[Run] = []
        for phase in phases:
            runs = member_runs(phase, 0, rank)
            if runs is None:
                return None
            found.extend(runs)
        return normal(found)


def ior_lines(
    kernel: Kernel, series: Sequence[Series], version: str = "4.0"
) -> tuple[list[IorLine], list[Refused]]:
    """The nearest IOR lines of a kernel, and the phases that IOR cannot express.

    Args:
        kernel: the kernel.
        series: of the model: equal phases that recur become one line.
        version: IOR's; "2.10" is the papers' dialect.
    """
    lines: list[IorLine] = []
    refused: list[Refused] = []
    groups = list(_groups(kernel, series))
    for group in groups:
        ph_ids = tuple(phase.ph_id for phase in group.phases)
        reason = _refusal(group)
        if reason is not None:
            refused.append(Refused(ph_ids=ph_ids, reason=reason))
            continue
        parameters = ior_parameters(group)
        if parameters.block == 0:
            refused.append(
                Refused(ph_ids=ph_ids, reason="what is read is less than one transfer of IOR's")
            )
            continue
        notes = [*_differences(group, parameters), *_surroundings(group, groups)]
        lines.append(
            IorLine(ph_ids=ph_ids, command=parameters.command(version), not_reproduced=tuple(notes))
        )
    return lines, refused


def _groups(kernel: Kernel, series: Sequence[Series]) -> Iterator[_Group]:
    files = {file.file_id: file for file in kernel.files}
    phases = {phase.ph_id: phase for phase in kernel.phases}
    in_series = {ph_id: one.ph_ids for one in series for ph_id in one.ph_ids}
    per_process = _per_process(kernel, files)
    done: set[int] = set()
    for phase in kernel.phases:
        if phase.ph_id in done:
            continue
        together = in_series.get(phase.ph_id, (phase.ph_id,))
        of = per_process.get(phase.ph_id)
        if of is not None and len(together) == 1:
            members = tuple(phases[ph_id] for ph_id in of)
            done.update(of)
            yield _Group(members, tuple(files[member.file_id] for member in members))
            continue
        members = tuple(
            phases[ph_id]
            for ph_id in together
            if ph_id in phases and phases[ph_id].file_id == phase.file_id and ph_id not in done
        )
        done.update(member.ph_id for member in members)
        yield _Group(members, (files[phase.file_id],))


def _per_process(kernel: Kernel, files: dict[int, KernelFile]) -> dict[int, tuple[int, ...]]:
    """Phases that are the same on a file of each rank's own, by each of their ids."""
    alike: defaultdict[tuple[object, ...], list[Phase]] = defaultdict(list)
    for phase in kernel.phases:
        if phase.ph_np == 1 and len(phase.pattern) == 1:
            runs = member_runs(phase, 0, phase.ph_processid[0])
            if runs is not None:
                shape = tuple((run.count, run.rs, run.offset, run.disp, run.moved) for run in runs)
                alike[(phase.pattern[0].iop_type, shape)].append(phase)
    result: dict[int, tuple[int, ...]] = {}
    for group in alike.values():
        ranks = {phase.ph_processid[0] for phase in group}
        ids = {phase.file_id for phase in group}
        inputs = all(files[file_id].role == "input" for file_id in ids)
        if len(group) == len(ranks) == len(ids) > (_FILES_ON_THEIR_OWN if inputs else 1):
            ordered = sorted(group, key=lambda phase: phase.ph_processid[0])
            for phase in ordered:
                result[phase.ph_id] = tuple(member.ph_id for member in ordered)
    return result


def _refusal(group: _Group) -> str | None:
    phase = group.phases[0]
    if len(phase.pattern) > 1:
        members = ", ".join(member.iop_type for member in phase.pattern)
        return f"it mixes operations ({members}) in one pattern; an IOR run writes everything, then reads everything"
    if phase.pattern[0].rs == 0:
        return "its operations move nothing"
    for rank in group.ranks():
        runs = group.runs(rank)
        if runs is None:
            return "its offsets are unknown"
        regular = len(runs) == 1 or (len(runs) == 2 and runs[1].count == 1 and _is_short(runs[1]))
        if not regular:
            return f"rank {rank}'s offsets or sizes are irregular ({len(runs)} different stretches); IOR has one -b and one -t"
    counts = {sum(run.count for run in group.runs(rank) or []) for rank in group.ranks()}
    if len(counts) > 1:
        return f"its ranks do different numbers of operations ({min(counts)} to {max(counts)})"
    return None


def _is_short(run: Run) -> bool:
    return run.moved < run.count * run.rs


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def ior_parameters(group: _Group) -> IorParameters:
    """P15 table II: strided: -s rep -b rs -t rs; sequential: -s 1 -b weight/np -t rs."""
    phase = group.phases[0]
    name = phase.pattern[0].iop_type
    runs = group.runs(group.ranks()[0]) or []
    rs = runs[0].rs
    transfer = _rounded_up(rs, TRANSFER_UNIT)
    operations = sum(run.count for run in runs)
    weight_per_rank = sum(run.moved for run in runs)
    sequential = operations > 1 and runs[0].disp == rs
    if sequential:
        segments = 1
        # A read must not go past the end of the file; a write may write a little more.
        whole = (
            weight_per_rank // transfer * transfer
            if calls.reads(name)
            else _rounded_up(weight_per_rank, transfer)
        )
        block = whole
    else:
        segments, block = operations, transfer
    return IorParameters(
        api="MPIIO" if phase.level == "mpiio" else "POSIX",
        collective=phase.collective,
        write=not calls.reads(name),
        file_per_process=group.per_process,
        n_tasks=len(group.ranks()),
        segments=segments,
        block=block,
        transfer=transfer,
        file=_stem([file.name for file in group.files])
        if group.per_process
        else group.files[0].name,
    )


def _stem(names: Sequence[str]) -> str:
    stem = _common_start(names).rstrip("0123456789.-_")
    return stem or names[0]


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    n = 0
    while n < min(len(first), len(last)) and first[n] == last[n]:
        n += 1
    return first[:n]


def _differences(group: _Group, ior: IorParameters) -> Iterator[str]:
    """What the line's operations are and the model's are not."""
    ranks = group.ranks()
    rs = group.phases[0].pattern[0].rs
    if ior.transfer != rs:
        yield f"Request size {rs} becomes {ior.transfer}: IOR's must be a multiple of {TRANSFER_UNIT} bytes."
    models = [group.runs(rank) or [] for rank in ranks]
    iors = [ior.operations(task) for task in range(ior.n_tasks)]
    model_total = totals(run for runs in models for run in runs)
    ior_total = totals(run for runs in iors for run in runs)
    if model_total.operations != ior_total.operations:
        yield f"Operations: {model_total.operations} become {ior_total.operations}."
    if model_total.bytes != ior_total.bytes:
        percent = 100 * (ior_total.bytes - model_total.bytes) / model_total.bytes
        yield f"Bytes: {model_total.bytes} become {ior_total.bytes} ({percent:+.3f} %)."
    short = [runs[-1] for runs in models if _is_short(runs[-1])]
    if short:
        last = short[0].moved - (short[0].count - 1) * short[0].rs
        yield f"The last operation, which moves {last} bytes only, is a whole one or missing."
    different = [
        (rank, first)
        for rank, model, line in zip(ranks, models, iors, strict=True)
        if (first := first_difference(model, line)) is not None
    ]
    if different and any(not _same_layout(m, i) for m, i in zip(models, iors, strict=True)):
        rank, _ = different[0]
        where = (
            "" if len(ranks) == 1 else f" on {len(different)} of {len(ranks)} ranks, as rank {rank}"
        )
        yield (
            f"Offsets{where}: {_layout(models[ranks.index(rank)])} becomes "
            f"{_layout(iors[ranks.index(rank)])}."
        )


def _same_layout(model: Sequence[Run], line: Sequence[Run]) -> bool:
    """Whether offsets differ by no more than the end of the sequence."""
    return (
        bool(model)
        and bool(line)
        and model[0].offset == line[0].offset
        and (model[0].disp == line[0].disp or min(model[0].count, line[0].count) == 1)
    )


def _layout(runs: Sequence[Run]) -> str:
    run = runs[0]
    return f"from {run.offset}" + (f" every {run.disp} bytes" if run.count > 1 else "")


def _surroundings(group: _Group, groups: Sequence[_Group]) -> Iterator[str]:
    """What is not in the operations themselves."""
    phase = group.phases[0]
    ranks = group.ranks()
    if group.per_process:
        example = f"{_stem([file.name for file in group.files])}.00000000"
        yield f"The files are named by IOR ({example}, ...); input files must be made under these names."
    if ranks != list(range(len(ranks))):
        yield f"IOR's tasks are ranks 0 to {len(ranks) - 1}, the application's are {_some(ranks)}."
    if phase.view_id is not None or phase.view_ids is not None:
        yield "The MPI file view (many small pieces to an operation) becomes one contiguous block to an operation."
    name = phase.pattern[0].iop_type
    if phase.level == "mpiio" and "_at" not in name:
        yield f"{name} becomes a call with an explicit offset."
    if len(group.phases) > 1 and not group.per_process:
        yield f"The {len(group.phases)} phases follow each other without what lies between them."
    metadata = sum(sum(one.metadata_ops.values()) for one in group.phases)
    if metadata:
        yield "Calls that move no data (open, close, seek, ...) become IOR's own open and close."
    others = [
        other for other in groups if other is not group and not set(other.ranks()) & set(ranks)
    ]
    concurrent = [other for other in others if _overlap(group, other)]
    if concurrent:
        ids = ", ".join(str(other.phases[0].ph_id) for other in concurrent)
        yield f"Other ranks do phase {ids} at the same time: start those lines together with this one."
    elif len(groups) > 1:
        yield "The order against the other phases is that in which the lines are run."
    yield "Pauses between operations are left out."


def _overlap(group: _Group, other: _Group) -> bool:
    def span(phases: Iterable[Phase]) -> tuple[float, float] | None:
        starts = [phase.start_s for phase in phases if phase.start_s is not None]
        ends = [phase.end_s for phase in phases if phase.end_s is not None]
        return (min(starts), max(ends)) if starts and ends else None

    ours, theirs = span(group.phases), span(other.phases)
    if ours is None or theirs is None:
        return True
    return ours[0] < theirs[1] and theirs[0] < ours[1]


def _some(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:6]))
    return shown if len(ranks) <= 6 else f"{shown}, ..."
