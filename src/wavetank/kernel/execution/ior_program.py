"""The IOR that is installed: where it is, which MPI it is linked with, and what its version can do."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from wavetank.errors import KernelError

_NAMES = ("ior", "IOR")


@dataclass(frozen=True)
class IorProgram:
    """An installed IOR.

    Attributes:
        path: the program.
        family: MPI that it is linked with ("openmpi", "mpich"); None when that cannot be told.
        tells_operations: it writes the time of every operation where it is asked to (from 4.0 on).
        takes_seed: the order of random offsets can be given (from 4.0 on).
    """

    path: str
    family: str | None
    tells_operations: bool
    takes_seed: bool = True


def find_ior() -> IorProgram:
    """The IOR on the PATH.

    Raises:
        KernelError: there is none.
    """
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        raise KernelError(
            "IOR is not installed. Build it from its source (github.com/hpc/ior) and put 'ior' on the PATH, or leave "
            "out --with ior"
        )
    content = Path(path).read_bytes()
    family = "mpich" if b"libmpich" in content else "openmpi" if b"libmpi.so" in content else None
    return IorProgram(
        path, family, b"savePerOpDataCSV" in content, b"random-offset-seed" in content
    )
