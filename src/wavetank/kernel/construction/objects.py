"""A synthetic kernel: each client reads or writes objects of one size in a file of its own.

The clients' pattern of method, section 9. A file holds a whole number of objects, and a run goes round in it: what
is stored stays bounded however long the run. Between two objects lies a pause of one second, which the replay
multiplies by the interval in seconds (0: back to back). No step opens or closes a file: the replay opens it when
it is first needed and keeps it to the run's end, since at a close some file systems write all that is waiting.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from wavetank.document import provenance
from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.model.document.phase import LinearOffsets, PatternMember, Phase
from wavetank.model.document.program import DataStep, PauseStep, Program, RepeatStep
from wavetank.units import format_size

ObjectOperation = Literal["write", "read"]


def object_kernel(
    name: str, operation: ObjectOperation, size_bytes: int, n_clients: int, file_bytes: int
) -> Kernel:
    """The kernel of clients that write or read objects.

    Args:
        name: of the group, for titles and files.
        operation: "write" or "read".
        size_bytes: of an object.
        n_clients: ranks; each has a file of its own.
        file_bytes: of each file, cut to whole objects.

    Raises:
        KernelError: a file holds no object, or sizes and counts are not positive.
    """
    if size_bytes < 1 or n_clients < 1 or file_bytes < size_bytes:
        raise KernelError(
            f"{name}: {n_clients} clients with objects of {format_size(size_bytes)} in files of "
            f"{format_size(file_bytes)} cannot be performed: a file must hold at least one object"
        )
    n_objects = file_bytes // size_bytes
    stored = n_objects * size_bytes
    call = "pwrite" if operation == "write" else "pread"
    words = f"{n_clients} x {call} {size_bytes} of {stored}"
    return Kernel(
        provenance=provenance(),
        application=name,
        model_sha256=hashlib.sha256(words.encode()).hexdigest(),
        n_ranks=n_clients,
        files=tuple(
            KernelFile(file_id=rank, name=f"objects-{rank}", role="both", prepare_bytes=file_bytes)
            for rank in range(n_clients)
        ),
        phases=tuple(_phase(rank, call, size_bytes, n_objects) for rank in range(n_clients)),
        programs=tuple(_program(rank, n_objects) for rank in range(n_clients)),
        capacity_bytes=n_clients * file_bytes,
    )


def _phase(rank: int, call: str, size_bytes: int, n_objects: int) -> Phase:
    return Phase(
        ph_id=rank + 1,
        file_id=rank,
        level="posix",
        ph_processid=(rank,),
        ph_np=1,
        ph_weight=n_objects * size_bytes,
        ph_nrep=n_objects,
        ph_niop=n_objects,
        pattern=(PatternMember(iop_type=call, rs=size_bytes, disp=size_bytes, dist=None),),
        offset=(LinearOffsets(a=0, b=size_bytes, c=0),),
        exact=True,
        tick_first=0,
        tick_last=0,
        start_s=None,
        end_s=None,
        io_time_s=None,
    )


def _program(rank: int, n_objects: int) -> Program:
    return Program(
        ranks=(rank,),
        steps=(
            RepeatStep(
                times=n_objects, steps=(DataStep(ph_id=rank + 1, n=1), PauseStep(seconds=1.0))
            ),
        ),
    )
