"""Files that an MPI library keeps beside a file that is used through MPI-IO: locks and shared file pointers.

Our tracer sees that only MPI-IO calls use them. A source that does not see opens goes by the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# OMPIO of Open MPI 4.1 makes "f_cid-0-13852.sm" in its session's folder and "f.locktest.0" beside f; for shared
# pointers in other ways "f-0-13852.lock", "f.data.0" and "f.metadata.0". ROMIO of MPICH 4.0 makes ".f.shfp.4102390861.7784".
_BESIDE = re.compile(
    r"(?P<base>.+?)(_cid-+\d+-\d+\.sm|-\d+-\d+\.lock|\.locktest\.\d+|\.(meta)?data\.\d+)"
)
_HIDDEN = re.compile(r"\.(?P<base>.+)\.shfp\.[\d.]+")


def library_files(used: Iterable[str], on_mpi: Iterable[str]) -> set[str]:
    """Those of the paths used that only stand beside one of the paths ``on_mpi``, used through MPI-IO."""
    mine = set(on_mpi)
    names = {_name(path) for path in mine}
    found = set()
    for path in set(used) - mine if names else ():
        match = _BESIDE.fullmatch(_name(path)) or _HIDDEN.fullmatch(_name(path))
        if match and match["base"] in names:
            found.add(path)
    return found


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
