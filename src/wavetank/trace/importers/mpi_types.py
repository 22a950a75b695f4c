"""Sizes of MPI's predefined datatypes by name, on 64-bit Linux, for importers of logs that keep names only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# MPI 3.1, appendix A.1.1; Fortran's with the default kinds of gfortran.
SIZES: Mapping[str, int] = MappingProxyType({
    "MPI_BYTE": 1, "MPI_PACKED": 1, "MPI_CHAR": 1, "MPI_SIGNED_CHAR": 1, "MPI_UNSIGNED_CHAR": 1, "MPI_CHARACTER": 1,
    "MPI_SHORT": 2, "MPI_UNSIGNED_SHORT": 2, "MPI_INT": 4, "MPI_UNSIGNED": 4, "MPI_FLOAT": 4, "MPI_WCHAR": 4,
    "MPI_LONG": 8, "MPI_UNSIGNED_LONG": 8, "MPI_LONG_LONG": 8, "MPI_LONG_LONG_INT": 8, "MPI_UNSIGNED_LONG_LONG": 8,
    "MPI_DOUBLE": 8, "MPI_LONG_DOUBLE": 16, "MPI_C_BOOL": 1, "MPI_AINT": 8, "MPI_OFFSET": 8, "MPI_COUNT": 8,
    "MPI_INT8_T": 1, "MPI_INT16_T": 2, "MPI_INT32_T": 4, "MPI_INT64_T": 8,
    "MPI_UINT8_T": 1, "MPI_UINT16_T": 2, "MPI_UINT32_T": 4, "MPI_UINT64_T": 8,
    "MPI_C_COMPLEX": 8, "MPI_C_FLOAT_COMPLEX": 8, "MPI_C_DOUBLE_COMPLEX": 16, "MPI_C_LONG_DOUBLE_COMPLEX": 32,
    "MPI_INTEGER": 4, "MPI_REAL": 4, "MPI_LOGICAL": 4, "MPI_DOUBLE_PRECISION": 8, "MPI_COMPLEX": 8,
    "MPI_DOUBLE_COMPLEX": 16, "MPI_INTEGER1": 1, "MPI_INTEGER2": 2, "MPI_INTEGER4": 4, "MPI_INTEGER8": 8,
    "MPI_REAL4": 4, "MPI_REAL8": 8, "MPI_REAL16": 16, "MPI_COMPLEX8": 8, "MPI_COMPLEX16": 16,
})  # fmt: skip
