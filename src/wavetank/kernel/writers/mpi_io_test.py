"""The nearest command lines of LANL's MPI-IO Test (fs_test) for a kernel's phases.

Each of N processes writes or reads -nobj objects of -size bytes: to a file of its own (-type 1, N to N) or
to one file (-type 2, N to 1), where object j of process i lies at (j*N + i)*size when -strided is 1 and
at (i*nobj + j)*size when it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.kernel import calls
from wavetank.kernel.groups import Group, differences, phase_groups, refusal, stem_of
from wavetank.kernel.plan import IorLine, Kernel, Refused
from wavetank.model.phase import Run, Series


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

    def command(self) -> str:
        """The command line."""
        kind = 1 if self.file_per_process else 2
        return (
            f"mpirun -np {self.n_tasks} fs_test -io {self.io} -op {'write' if self.write else 'read'} -type {kind} "
            f"-strided {int(self.strided)} -collective {int(self.collective)} -nobj {self.n_objects} "
            f"-size {self.size} -target {self.target}"
        )

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
    for group in phase_groups(kernel, series):
        ph_ids = tuple(phase.ph_id for phase in group.phases)
        if (reason := refusal(group)) is not None:
            refused.append(Refused(ph_ids=ph_ids, reason=reason))
            continue
        found = _parameters(group)
        theirs = [found.operations(task) for task in range(found.n_tasks)]
        notes = (*differences(group, theirs), "Pauses and calls that move no data are left out.")
        lines.append(IorLine(ph_ids=ph_ids, command=found.command(), not_reproduced=notes))
    return lines, refused


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
