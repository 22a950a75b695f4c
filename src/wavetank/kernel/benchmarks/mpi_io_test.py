"""The nearest command lines of LANL's MPI-IO Test (fs_test) for a kernel's phases.

Each of N processes writes or reads -nobj objects of -size bytes: to a file of its own (-type 1, N to N) or
to one file (-type 2, N to 1), where object j of process i lies at (j*N + i)*size when -strided is 1 and
at (i*nobj + j)*size when it is 0. Options and layout as of fs_test 1.112 (github.com/fs-test/fs_test, fs_test.c:
its table of options, get_offset and read_write_buf): -collective and -nodb stand alone, and "%r" in the
target is the process's rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wavetank.kernel.benchmarks.groups import (
    Group,
    differences,
    in_a_folder,
    other_places,
    refusal,
    stem_of,
)
from wavetank.kernel.benchmarks.means import Notes, expressed, mean_operations
from wavetank.kernel.benchmarks.syncs import SyncedWrites
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import IorLine, Kernel, Refused
from wavetank.kernel.document.operations import totals
from wavetank.model.document.phase import Run, Series


@dataclass(frozen=True)
class ObjectParameters:
    """MPI-IO Test's parameters that decide which operations it makes. Sizes in bytes."""

    io: str  # "posix" or "mpi"
    collective: bool
    write: bool
    file_per_process: bool
    strided: bool
    n_tasks: int
    n_objects: int
    size: int
    target: str
    sync: bool = False  # after the last write

    def command(self) -> str:
        """The command line."""
        layout = (
            ["-type", "1"]
            if self.file_per_process
            else ["-type", "2", "-strided", str(int(self.strided))]
        )
        words = [
            "mpirun", "-np", str(self.n_tasks), "fs_test", "-nodb", "-io", self.io,
            "-op", "write" if self.write else "read", *layout, *(["-collective"] if self.collective else []),
            *(["-sync"] if self.sync else []), "-nobj", str(self.n_objects), "-size", str(self.size),
            "-target", (in_a_folder(self.target) if self.io == "mpi" else self.target)
            + (".%r" if self.file_per_process else ""),
        ]  # fmt: skip
        return " ".join(words)

    def operations(self, task: int) -> list[Run]:
        """What one process does, in order, offsets in its file."""
        if self.file_per_process:
            first, disp = 0, self.size
        elif self.strided:
            first, disp = task * self.size, self.n_tasks * self.size
        else:
            first, disp = task * self.n_objects * self.size, self.size
        return [
            Run(
                count=self.n_objects,
                rs=self.size,
                offset=first,
                disp=disp if self.n_objects > 1 else 0,
                moved=self.n_objects * self.size,
            )
        ]


def mpi_io_test_lines(
    kernel: Kernel, series: Sequence[Series]
) -> tuple[list[IorLine], list[Refused]]:
    """The nearest lines of a kernel, each with what it does not reproduce, and what is refused."""
    lines: list[IorLine] = []
    refused: list[Refused] = []
    synced = SyncedWrites(kernel).files
    for group, made, reason in expressed(kernel, series, _expressed, _approximated):
        ph_ids = tuple(phase.ph_id for phase in group.phases)
        if reason is not None:
            refused.append(Refused(ph_ids=ph_ids, reason=reason))
        for parameters, notes in made:
            sync = parameters.write and all(file.file_id in synced for file in group.files)
            found = replace(parameters, sync=sync)
            said = (*notes, *_other_calls(group, found))
            lines.append(IorLine(ph_ids=ph_ids, command=found.command(), not_reproduced=said))
    return lines, refused


_Line = tuple[ObjectParameters, Notes]


def _expressed(group: Group) -> tuple[list[_Line], str | None]:
    """The line that expresses a group, and why it does not do so exactly enough to be given unasked."""
    if (reason := refusal(group)) is not None:
        return [], reason
    found = _parameters(group)
    theirs = [found.operations(task) for task in range(found.n_tasks)]
    reason = other_places(group, theirs, found.size)
    notes = tuple(differences(group, theirs))
    if reason is not None:
        notes = (f"Approximate, because {reason}.", *notes)
    return [(found, notes)], reason


def _approximated(group: Group, reason: str) -> tuple[list[_Line], str | None]:
    """A line for each direction of a group that the program cannot express."""
    return list(_mean_lines(group, reason)), None


def _mean_lines(group: Group, reason: str) -> Iterator[_Line]:
    phase, names = group.phases[0], [file.name for file in group.files]
    means = mean_operations(group)
    for mean in means:
        found = ObjectParameters(
            io="mpi" if phase.level == "mpiio" else "posix",
            collective=phase.collective,
            write=mean.write,
            file_per_process=group.per_process,
            strided=False,
            n_tasks=len(group.ranks()),
            n_objects=mean.per_rank,
            size=mean.size,
            target=stem_of(names) if group.per_process else names[0],
        )
        made = totals(run for task in range(found.n_tasks) for run in found.operations(task))
        yield found, tuple(mean.notes(reason, made, found.size, alternates=len(means) > 1))


def _other_calls(group: Group, ours: ObjectParameters) -> Iterator[str]:
    """What the program does in other words than the application."""
    phase = group.phases[0]
    name = phase.pattern[0].iop_type
    verb = "write" if ours.write else "read"
    if ours.io == "posix":
        made = f"p{verb}"
    elif ours.collective:
        made = f"MPI_File_{verb}_at_all"
    else:
        made = f"MPI_File_seek, MPI_File_i{verb} and MPI_Wait"
    if name != made:
        yield f"{name} becomes {made}."
    if phase.view_id is not None or phase.view_ids is not None:
        yield "The MPI file view (many small pieces to an operation) becomes one contiguous block to an operation."
    if phase.memory is not None:
        yield "The memory of its calls has no gaps with mpi-io-test."
    if ours.file_per_process:
        yield f"The files are named {ours.target}.0, {ours.target}.1, ...; input files must be made under these names."
    if ours.sync:
        yield "Each process syncs once, after its last write."
    yield "Pauses and calls that move no data are left out."


def _parameters(group: Group) -> ObjectParameters:
    phase = group.phases[0]
    runs = group.runs(group.ranks()[0]) or []
    rs = runs[0].rs
    names = [file.name for file in group.files]
    return ObjectParameters(
        io="mpi" if phase.level == "mpiio" else "posix",
        collective=phase.collective,
        write=not calls.reads(phase.pattern[0].iop_type),
        file_per_process=group.per_process,
        strided=not (sum(run.count for run in runs) > 1 and runs[0].disp == rs),
        n_tasks=len(group.ranks()),
        n_objects=sum(run.count for run in runs),
        size=rs,
        target=stem_of(names) if group.per_process else names[0],
    )
