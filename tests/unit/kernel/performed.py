"""What a kernel's ranks will do, call by call, and what is there before: the kernel as the certificate looks at it.

Lowering decides nothing more about a call: it writes these steps, with waits and ticks between them. That a plan says what
its kernel says is shown by tests, over all that they make kernels of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import are_of_one_call, bytes_asked
from wavetank.kernel.lowering.step_lines import Communicators
from wavetank.model.document.program import DataStep, FileStep, Step
from wavetank.model.document.step_walks import Around, changed_among


@dataclass(frozen=True)
class Performed:
    """What a kernel's ranks will do.

    Attributes:
        names: of each file those that steps call it by, by number.
        sizes: of the files that are there beforehand, bytes; of several that take turns their sum.
        several: files that are several which take turns.
        programs: each once, with the ranks that perform it.
        communicators: of its steps, with those of MPI_File_open that the trace did not tell.
    """

    names: Mapping[int, Sequence[str]]
    sizes: Mapping[int, int]
    several: frozenset[int]
    programs: Sequence[tuple[tuple[int, ...], tuple[Step, ...]]]
    communicators: Sequence[tuple[int, ...]]


def performed_by(kernel: Kernel) -> Performed:
    """What the ranks of a kernel will do."""
    communicators = Communicators(kernel.communicators, kernel.programs)

    def change(step: DataStep | FileStep, around: Around) -> DataStep | FileStep | None:
        if isinstance(step, DataStep):
            return step
        is_first = are_of_one_call(step, around.after)
        is_pair = is_first or are_of_one_call(around.before, step)
        return performed_as(step, communicators, is_first=is_first, is_pair=is_pair)

    several = frozenset(file.file_id for file in kernel.files if file.members is not None)
    names = {
        file.file_id: [
            each
            for name in file.names
            for each in ((name, of_next_member(name)) if file.file_id in several else (name,))
        ]
        for file in kernel.files
    }
    return Performed(
        names=names,
        sizes={file.file_id: file.prepare_bytes for file in kernel.files if file.is_prepared},
        several=several,
        programs=[
            (program.ranks, changed_among(program.steps, change)) for program in kernel.programs
        ],
        communicators=communicators.table,
    )


def of_next_member(name: str) -> str:
    """What stands for a name of the next member, where that of the one at hand is ``name``."""
    return f"{name} of the next member"


def performed_as(
    step: FileStep, communicators: Communicators, *, is_first: bool, is_pair: bool
) -> FileStep | None:
    """A call as a replay makes it; None where it makes no such call.

    Args:
        step: the call.
        communicators: those of opens.
        is_first: whether it is the first name of a call on two, which is counted with the second one.
        is_pair: whether it is one of the two.
    """
    name = calls.performed(step.iop_type)
    if name is None:
        return None
    count = int(not is_first) if is_pair else step.count
    told: dict[str, Any] = {
        "iop_type": name,
        "file_id": step.file_id,
        "error": step.error,
        "count": count,
    }
    if name in calls.DATA:
        asked: dict[str, Any] = {
            "offset": step.offset,
            "size": bytes_asked(step),
            "handle": step.handle,
        }
        return FileStep.model_construct(**told, **asked)
    if is_pair:
        return FileStep.model_construct(handle=-1, new_name=step.new_name, name=step.name, **told)
    return step.model_copy(
        update={"iop_type": name, "size": 0, "communicator": communicators.of_open(step)}
    )
