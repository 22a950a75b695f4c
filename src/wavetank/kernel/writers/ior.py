"""The nearest IOR command lines of a kernel's phases (method, section 3; P15 table II).

IOR lays out -s segments, each with one block of -b bytes for each task, each block read or written
by transfers of -t bytes in order (IOR user guide). What of a phase that layout cannot say is listed
with the line: the operations that the line will produce are worked out and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wavetank.kernel import calls
from wavetank.kernel.groups import (
    Group,
    differences,
    in_a_folder,
    other_places,
    overlap,
    refusal,
    some,
    stem_of,
    synced_files,
)
from wavetank.kernel.operations import totals
from wavetank.kernel.plan import IorLine, Kernel, Refused
from wavetank.kernel.writers.means import Notes, expressed, mean_operations
from wavetank.model.phase import Run, Series

TRANSFER_UNIT = 8
"""bytes: IOR refuses a transfer size that is not a multiple of its access size, sizeof(long long)."""
MOST_NAMED = 8  # phases in a sentence


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
    fsync: bool = False  # after the last write, inside of the timing

    def command(self, version: str = "4.0") -> str:
        """The command line, in the dialect of IOR 2.10 (P16, P18) or of 3.x and 4.x."""
        program = "./IOR" if version.startswith("2") else "ior"
        words = [
            "mpirun", "-np", str(self.n_tasks), program, "-w" if self.write else "-r", "-N", str(self.n_tasks),
            "-a", self.api, *(["-c"] if self.collective else []), *(["-F"] if self.file_per_process else []),
            "-s", str(self.segments), "-b", str(self.block), "-t", str(self.transfer), "-k",
            *(["-e"] if self.fsync else []), "-o", in_a_folder(self.file) if self.api == "MPIIO" else self.file,
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
        file=option["-o"].removeprefix("./"),
        fsync="-e" in words,
    )


def ior_lines(
    kernel: Kernel, series: Sequence[Series], version: str = "4.0"
) -> tuple[list[IorLine], list[Refused]]:
    """The nearest IOR lines of a kernel, and the phases that IOR cannot express.

    Args:
        kernel: the kernel; where it says "approximate", phases that IOR cannot express are approximated.
        series: of the model: equal phases that recur become one line.
        version: IOR's; "2.10" is the papers' dialect.
    """
    lines: list[IorLine] = []
    refused: list[Refused] = []
    found = list(expressed(kernel, series, _expressed, _approximated))
    beside = _Surroundings([group for group, _, _ in found])
    synced = synced_files(kernel)
    for group, made, reason in found:
        ph_ids = tuple(phase.ph_id for phase in group.phases)
        fsync = all(file.file_id in synced for file in group.files)
        if reason is not None:
            refused.append(Refused(ph_ids=ph_ids, reason=reason))
        for parameters, notes in made:
            line = replace(parameters, fsync=fsync and parameters.write)
            lines.append(
                IorLine(
                    ph_ids=ph_ids, command=line.command(version),
                    not_reproduced=(*notes, *beside.of(group)),
                )
            )  # fmt: skip
    return lines, refused


_Line = tuple[IorParameters, Notes]


def _expressed(group: Group) -> tuple[list[_Line], str | None]:
    """The line that expresses a group, and why it does not do so exactly enough to be given unasked."""
    reason = refusal(group)
    if reason is not None:
        return [], reason
    parameters = ior_parameters(group)
    if parameters.block == 0:
        return [], "what is read is less than one transfer of IOR's"
    theirs = [parameters.operations(task) for task in range(parameters.n_tasks)]
    reason = other_places(group, theirs, parameters.transfer)
    notes = tuple(_rounding(group, parameters))
    if reason is not None:
        notes = (f"Approximate, because {reason}.", *notes)
    return [(parameters, notes)], reason


def _approximated(group: Group, reason: str) -> Iterator[_Line]:
    """A line for each direction of a group that IOR cannot express."""
    phase = group.phases[0]
    means = mean_operations(group)
    for mean in means:
        transfer = _rounded_up(mean.size, TRANSFER_UNIT)
        parameters = IorParameters(
            api="MPIIO" if phase.level == "mpiio" else "POSIX",
            collective=phase.collective,
            write=mean.write,
            file_per_process=group.per_process,
            n_tasks=len(group.ranks()),
            segments=1,
            block=mean.per_rank * transfer,
            transfer=transfer,
            file=_file(group),
        )
        made = totals(
            run for task in range(parameters.n_tasks) for run in parameters.operations(task)
        )
        notes = mean.notes(reason, made, transfer, alternates=len(means) > 1)
        yield parameters, tuple(notes)


def _file(group: Group) -> str:
    names = [file.name for file in group.files]
    return stem_of(names) if group.per_process else names[0]


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def ior_parameters(group: Group) -> IorParameters:
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
        file=_file(group),
    )


def _rounding(group: Group, ior: IorParameters) -> Iterator[str]:
    rs = group.phases[0].pattern[0].rs
    if ior.transfer != rs:
        yield f"Request size {rs} becomes {ior.transfer}: IOR's must be a multiple of {TRANSFER_UNIT} bytes."
    yield from differences(group, [ior.operations(task) for task in range(ior.n_tasks)])


def _name(group: Group) -> str:
    return group.phases[0].pattern[0].iop_type


class _Surroundings:
    """What of a kernel is not in the operations of one line themselves."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._n_groups = len(groups)
        self._written = {
            group.phases[0].file_id for group in groups if not calls.reads(_name(group))
        }
        self._by_ranks: dict[frozenset[int], list[Group]] = {}
        for group in groups:
            self._by_ranks.setdefault(frozenset(group.ranks()), []).append(group)

    def of(self, group: Group) -> Iterator[str]:
        """Sentences on one group."""
        phase = group.phases[0]
        ranks = group.ranks()
        if group.per_process:
            example = f"{stem_of([file.name for file in group.files])}.00000000"
            yield f"The files are named by IOR ({example}, ...); input files must be made under these names."
        if ranks != list(range(len(ranks))):
            yield f"IOR's tasks are ranks 0 to {len(ranks) - 1}, the application's are {some(ranks)}."
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
        if calls.reads(name) and phase.file_id in self._written:
            yield "The line reads what a write line left, from the cache of the same node where it still is; -C reads another's."
        concurrent = [other.phases[0].ph_id for other in self._beside(group)]
        if concurrent:
            yield (
                f"Other ranks do phase {_first_of(concurrent)} at the same time: start those lines together "
                "with this one."
            )
        elif self._n_groups > 1:
            yield "The order against the other phases is that in which the lines are run."
        yield "Pauses between operations are left out."

    def _beside(self, group: Group) -> list[Group]:
        """Groups of other ranks that ran at the same time."""
        ranks = group.ranks()
        return [
            other
            for theirs, others in self._by_ranks.items()
            if theirs.isdisjoint(ranks)
            for other in others
            if overlap(group, other)
        ]


def _first_of(ph_ids: Sequence[int]) -> str:
    """Numbers of phases in a sentence: all of a few, the first of many."""
    shown = ", ".join(str(ph_id) for ph_id in sorted(ph_ids)[:MOST_NAMED])
    more = len(ph_ids) - MOST_NAMED
    return shown if more <= 0 else f"{shown} and {more} more"
