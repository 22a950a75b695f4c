"""Every operation that a trace can hold: WT_OPS of native/include/wavetank_trace.h, the same in a test.

Importers name their operations by this table too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType

import numpy as np

from wavetank.trace.schema import BoolArray, Level, Op, OpKind

_TABLE = (
    Op(1, "open", Level.POSIX, OpKind.OPEN),
    Op(2, "close", Level.POSIX, OpKind.CLOSE),
    Op(3, "read", Level.POSIX, OpKind.READ),
    Op(4, "write", Level.POSIX, OpKind.WRITE),
    Op(5, "pread", Level.POSIX, OpKind.READ),
    Op(6, "pwrite", Level.POSIX, OpKind.WRITE),
    Op(7, "readv", Level.POSIX, OpKind.READ),
    Op(8, "writev", Level.POSIX, OpKind.WRITE),
    Op(9, "preadv", Level.POSIX, OpKind.READ),
    Op(10, "pwritev", Level.POSIX, OpKind.WRITE),
    Op(11, "lseek", Level.POSIX, OpKind.SEEK),
    Op(12, "fsync", Level.POSIX, OpKind.SYNC),
    Op(13, "fdatasync", Level.POSIX, OpKind.SYNC),
    Op(14, "sync_file_range", Level.POSIX, OpKind.SYNC),
    Op(15, "truncate", Level.POSIX, OpKind.RESIZE),
    Op(16, "ftruncate", Level.POSIX, OpKind.RESIZE),
    Op(17, "fallocate", Level.POSIX, OpKind.RESIZE),
    Op(18, "dup", Level.POSIX, OpKind.OTHER),
    Op(19, "stat", Level.POSIX, OpKind.STAT),
    Op(20, "fstat", Level.POSIX, OpKind.STAT),
    Op(21, "access", Level.POSIX, OpKind.STAT),
    Op(22, "unlink", Level.POSIX, OpKind.NAMESPACE),
    Op(23, "rename", Level.POSIX, OpKind.NAMESPACE),
    Op(24, "mkdir", Level.POSIX, OpKind.NAMESPACE),
    Op(25, "rmdir", Level.POSIX, OpKind.NAMESPACE),
    Op(26, "link", Level.POSIX, OpKind.NAMESPACE),
    Op(27, "mmap", Level.POSIX, OpKind.MAP),
    Op(28, "munmap", Level.POSIX, OpKind.MAP),
    Op(29, "msync", Level.POSIX, OpKind.SYNC),
    Op(30, "sendfile", Level.POSIX, OpKind.READ),
    Op(31, "sendfile_to", Level.POSIX, OpKind.WRITE),
    Op(32, "copy_file_range", Level.POSIX, OpKind.READ),
    Op(33, "copy_file_range_to", Level.POSIX, OpKind.WRITE),
    Op(34, "aio_read", Level.POSIX, OpKind.READ),
    Op(35, "aio_write", Level.POSIX, OpKind.WRITE),
    Op(36, "aio_fsync", Level.POSIX, OpKind.SYNC),
    Op(37, "symlink", Level.POSIX, OpKind.NAMESPACE),
    Op(38, "readdir", Level.POSIX, OpKind.STAT),
    Op(39, "chmod", Level.POSIX, OpKind.NAMESPACE),
    Op(40, "fchmod", Level.POSIX, OpKind.NAMESPACE),
    Op(41, "chown", Level.POSIX, OpKind.NAMESPACE),
    Op(42, "fchown", Level.POSIX, OpKind.NAMESPACE),
    Op(43, "utime", Level.POSIX, OpKind.NAMESPACE),
    Op(44, "futime", Level.POSIX, OpKind.NAMESPACE),
    Op(45, "readlink", Level.POSIX, OpKind.STAT),
    Op(46, "mknod", Level.POSIX, OpKind.NAMESPACE),
    Op(47, "fcntl", Level.POSIX, OpKind.OTHER),  # F_SETFL alone: other flags of what is open
    Op(60, "MPI_File_open", Level.MPIIO, OpKind.OPEN, collective=True),
    Op(61, "MPI_File_close", Level.MPIIO, OpKind.CLOSE, collective=True),
    Op(62, "MPI_File_read", Level.MPIIO, OpKind.READ),
    Op(63, "MPI_File_write", Level.MPIIO, OpKind.WRITE),
    Op(64, "MPI_File_read_all", Level.MPIIO, OpKind.READ, collective=True),
    Op(65, "MPI_File_write_all", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(66, "MPI_File_read_at", Level.MPIIO, OpKind.READ),
    Op(67, "MPI_File_write_at", Level.MPIIO, OpKind.WRITE),
    Op(68, "MPI_File_read_at_all", Level.MPIIO, OpKind.READ, collective=True),
    Op(69, "MPI_File_write_at_all", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(70, "MPI_File_read_shared", Level.MPIIO, OpKind.READ),
    Op(71, "MPI_File_write_shared", Level.MPIIO, OpKind.WRITE),
    Op(72, "MPI_File_read_ordered", Level.MPIIO, OpKind.READ, collective=True),
    Op(73, "MPI_File_write_ordered", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(74, "MPI_File_iread", Level.MPIIO, OpKind.READ),
    Op(75, "MPI_File_iwrite", Level.MPIIO, OpKind.WRITE),
    Op(76, "MPI_File_iread_at", Level.MPIIO, OpKind.READ),
    Op(77, "MPI_File_iwrite_at", Level.MPIIO, OpKind.WRITE),
    Op(78, "MPI_File_iread_all", Level.MPIIO, OpKind.READ, collective=True),
    Op(79, "MPI_File_iwrite_all", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(80, "MPI_File_iread_at_all", Level.MPIIO, OpKind.READ, collective=True),
    Op(81, "MPI_File_iwrite_at_all", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(82, "MPI_File_iread_shared", Level.MPIIO, OpKind.READ),
    Op(83, "MPI_File_iwrite_shared", Level.MPIIO, OpKind.WRITE),
    Op(84, "MPI_File_read_all_begin", Level.MPIIO, OpKind.READ, collective=True),
    Op(85, "MPI_File_write_all_begin", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(86, "MPI_File_read_at_all_begin", Level.MPIIO, OpKind.READ, collective=True),
    Op(87, "MPI_File_write_at_all_begin", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(88, "MPI_File_read_ordered_begin", Level.MPIIO, OpKind.READ, collective=True),
    Op(89, "MPI_File_write_ordered_begin", Level.MPIIO, OpKind.WRITE, collective=True),
    Op(90, "MPI_File_end", Level.MPIIO, OpKind.OTHER, collective=True),
    Op(91, "MPI_File_seek", Level.MPIIO, OpKind.SEEK),
    Op(92, "MPI_File_seek_shared", Level.MPIIO, OpKind.SEEK, collective=True),
    Op(93, "MPI_File_set_view", Level.MPIIO, OpKind.VIEW, collective=True),
    Op(94, "MPI_File_set_size", Level.MPIIO, OpKind.RESIZE, collective=True),
    Op(95, "MPI_File_preallocate", Level.MPIIO, OpKind.RESIZE, collective=True),
    Op(96, "MPI_File_sync", Level.MPIIO, OpKind.SYNC, collective=True),
    Op(97, "MPI_File_delete", Level.MPIIO, OpKind.NAMESPACE),
    Op(98, "MPI_File_set_atomicity", Level.MPIIO, OpKind.OTHER, collective=True),
    Op(99, "MPI_File_set_info", Level.MPIIO, OpKind.OTHER, collective=True),
    Op(100, "MPI_Wait", Level.MPIIO, OpKind.OTHER),  # that completed an MPI-IO request
    Op(101, "MPI_Test", Level.MPIIO, OpKind.OTHER),
    Op(200, "MPI_Barrier", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(201, "MPI_Allreduce", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(202, "MPI_Allgather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(203, "MPI_Allgatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(204, "MPI_Alltoall", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(205, "MPI_Alltoallv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(206, "MPI_Alltoallw", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(207, "MPI_Reduce_scatter", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(208, "MPI_Reduce_scatter_block", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(209, "MPI_Bcast", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(210, "MPI_Reduce", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(211, "MPI_Gather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(212, "MPI_Gatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(213, "MPI_Scatter", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(214, "MPI_Scatterv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(215, "MPI_Scan", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(216, "MPI_Exscan", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(217, "MPI_Comm_dup", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(218, "MPI_Comm_split", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(219, "MPI_Comm_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(220, "MPI_Init", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(221, "MPI_Finalize", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(110, "MPI_Ibarrier", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(111, "MPI_Iallreduce", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(112, "MPI_Iallgather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(113, "MPI_Iallgatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(114, "MPI_Ialltoall", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(115, "MPI_Ialltoallv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(116, "MPI_Ialltoallw", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(117, "MPI_Ireduce_scatter", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(118, "MPI_Ireduce_scatter_block", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(119, "MPI_Ibcast", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(120, "MPI_Ireduce", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(121, "MPI_Igather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(122, "MPI_Igatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(123, "MPI_Iscatter", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(124, "MPI_Iscatterv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(125, "MPI_Iscan", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(126, "MPI_Iexscan", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(127, "MPI_Neighbor_allgather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(128, "MPI_Neighbor_allgatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(129, "MPI_Neighbor_alltoall", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(130, "MPI_Neighbor_alltoallv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(131, "MPI_Neighbor_alltoallw", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(132, "MPI_Ineighbor_allgather", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(133, "MPI_Ineighbor_allgatherv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(134, "MPI_Ineighbor_alltoall", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(135, "MPI_Ineighbor_alltoallv", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(136, "MPI_Ineighbor_alltoallw", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(137, "MPI_Comm_dup_with_info", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(138, "MPI_Comm_idup", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(139, "MPI_Comm_split_type", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(140, "MPI_Comm_create_group", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(141, "MPI_Cart_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(142, "MPI_Cart_sub", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(143, "MPI_Graph_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(144, "MPI_Dist_graph_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(145, "MPI_Dist_graph_create_adjacent", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(146, "MPI_Intercomm_merge", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(147, "MPI_Win_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(148, "MPI_Win_allocate", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(149, "MPI_Win_allocate_shared", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(150, "MPI_Win_create_dynamic", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(151, "MPI_Win_fence", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(152, "MPI_Win_free", Level.MPI, OpKind.SYNC_RANKS, collective=True),
    Op(153, "MPI_Intercomm_create", Level.MPI, OpKind.SYNC_RANKS, collective=True),
)  # fmt: skip

OPS: Mapping[int, Op] = MappingProxyType({op.code: op for op in _TABLE})
"""By code, the number in ``FoldTable.op``."""

OPS_BY_NAME: Mapping[str, Op] = MappingProxyType({op.name: op for op in _TABLE})
"""By name, as the field writes it."""

DATA_KINDS = frozenset({OpKind.READ, OpKind.WRITE})
"""Operations that move bytes."""


def codes_where(chosen: Callable[[Op], bool], ops: Mapping[int, Op] = OPS) -> BoolArray:
    """Which operation codes satisfy a condition: shape (256,), False for codes that are no operation; read-only.

    A condition that depends on nothing but the operation and constants of its module is asked once about ``OPS``,
    however often it is given: an extraction has some twenty conditions, and of a short trace they would be a quarter
    of its time.
    """
    if not isinstance(chosen, FunctionType) or chosen.__closure__ or chosen.__defaults__:
        return _codes_where(chosen, ops)
    if ops is not OPS:
        return _codes_where(chosen, ops)
    key = (chosen.__module__, chosen.__code__)
    if key not in _ASKED:
        _ASKED[key] = _codes_where(chosen, ops)
    return _ASKED[key]


_ASKED: dict[tuple[str, CodeType], BoolArray] = {}


def _codes_where(chosen: Callable[[Op], bool], ops: Mapping[int, Op]) -> BoolArray:
    found = np.zeros(256, dtype=bool)
    found[[code for code, op in ops.items() if chosen(op)]] = True
    found.setflags(write=False)
    return found
