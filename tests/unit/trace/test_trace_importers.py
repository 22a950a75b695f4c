"""Logs of other tools come into the same tables, and say what they lack."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.importers import strace
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_stored
from wavetank.trace.schema import Level, Trace
from wavetank.trace.store import TABLES_NAME, read_imported, write_imported

LOGS = Path(__file__).parents[2] / "data" / "darshan"

darshan = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("darshan"), reason="PyDarshan is not installed"
)


def first_offsets(trace: Trace, op: str) -> list[int]:
    """First offset of an operation, by rank."""
    events = unfold(trace.folds)
    wanted = events.op == OPS_BY_NAME[op].code
    return [int(events.offset[wanted & (events.rank == r)][0]) for r in range(trace.n_ranks)]


@darshan
def test_bt_io_class_w_has_its_known_operations() -> None:
    trace = open_trace(LOGS / "bt.W.4.mpi_io_full.darshan")
    events = unfold(trace.folds)
    assert trace.source == "darshan-dxt"
    assert first_offsets(trace, "MPI_File_write_at_all") == [0, 480, 11520, 12000]
    for op in ("MPI_File_write_at_all", "MPI_File_read_at_all"):
        for rank in range(4):
            mine = (events.op == OPS_BY_NAME[op].code) & (events.rank == rank)
            assert events.size[mine].tolist() == [138_240] * 40
            assert np.diff(events.offset[mine]).tolist() == [552_960] * 39
    posix = events.op == OPS_BY_NAME["write"].code
    assert set(events.rank[posix].tolist()) == {0}
    assert events.size[posix].tolist() == [552_960] * 40


@darshan
def test_segments_with_a_thread_are_read_although_the_library_refuses_them() -> None:
    trace = open_trace(LOGS / "bt.S.4.mpi_io_full.dxt-40-byte-segments.darshan")
    events = unfold(trace.folds)
    for rank in range(4):
        writes = (events.op == OPS_BY_NAME["MPI_File_write_at_all"].code) & (events.rank == rank)
        assert events.size[writes].tolist() == [17_280] * 12
    assert not any("no DXT" in warning for warning in texts(trace.notes))


@darshan
def test_a_file_per_rank_is_read_in_order() -> None:
    trace = open_trace(LOGS / "ior_seq_fpp_posix_1m.darshan")
    folds = trace.folds
    assert (
        folds.count.tolist() == [8] * 8
    )  # a row of writes, then one of reads, for each of 4 ranks
    assert set(folds.size.tolist()) == {2**20}
    assert set(folds.disp.tolist()) == {2**20}
    names = [OPS_BY_NAME["write"].code, OPS_BY_NAME["read"].code]
    assert folds.op.tolist() == names * 4
    assert len({trace.files[f].path for f in folds.file}) == 4


@darshan
def test_a_strided_shared_file_has_its_displacement() -> None:
    trace = open_trace(LOGS / "ior_strided_shared_mpiio_coll_256k.darshan")
    events = unfold(trace.folds)
    for rank in range(4):
        mine = (events.op == OPS_BY_NAME["MPI_File_write_at_all"].code) & (events.rank == rank)
        assert events.offset[mine].tolist() == [rank * 2**18 + i * 2**20 for i in range(16)]


@darshan
def test_offsets_that_darshan_does_not_know_are_unknown_and_said_to_be() -> None:
    trace = open_trace(LOGS / "s3dio_np4_40c_method0_openmpi_ompio.darshan")
    events = unfold(trace.folds)
    together = events.op == OPS_BY_NAME["MPI_File_write_at_all"].code
    assert together.sum() == 5 * 16
    assert (events.offset[together] == -1).all()
    # Rank 0 writes each file's header alone: one POSIX write inside of the call, at 0.
    alone = events.op == OPS_BY_NAME["MPI_File_write_at"].code
    assert events.offset[alone].tolist() == [0] * 5
    assert any(
        "offsets of MPI-IO operations are unknown" in warning for warning in texts(trace.notes)
    )
    sizes = events.size[(events.rank == 1) & together]
    for size in (1_408_000, 384_000, 128_000):
        assert size in sizes


@darshan
def test_counters_of_each_file_are_kept() -> None:
    trace = open_trace(LOGS / "bt.W.4.mpi_io_full.darshan")
    (posix,) = [one for one in trace.counters if one.level == Level.POSIX]
    assert posix.writes.moved == posix.reads.moved == 22_118_400
    assert (posix.writes.n, posix.common_sizes) == (40, ((552_960, 80),))
    (mpi,) = [one for one in trace.counters if one.level == Level.MPIIO]
    assert (mpi.rank, mpi.writes.n, mpi.writes.n_collective) == (None, 160, 160)
    # 138,240 bytes are in the bin from 100 KiB to 1 MiB.
    assert mpi.writes.by_size == (0, 0, 0, 0, 160, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("<STDIN>", False), ("<STDERR>", False), ("/proc/self/statm", False), ("/sys/devices/cpu", False),
        ("/dev/urandom", False), ("/dev/shm/scratch", True), ("/data/proc/f", True),
    ],
)  # fmt: skip
def test_what_the_system_shows_as_files_is_not_stored(path: str, stored: bool) -> None:
    assert is_stored(path) is stored


@darshan
def test_an_imported_trace_keeps_its_counters(tmp_path: Path) -> None:
    log = LOGS / "ior_strided_shared_mpiio_coll_256k.darshan"
    trace = open_trace(log)
    write_imported(trace, tmp_path / "t", log)
    assert read_imported(tmp_path / "t").counters == trace.counters
    tables = tmp_path / "t" / TABLES_NAME
    tables.write_text(tables.read_text().replace('"level": 2', '"level": 9'))
    with pytest.raises(TraceError, match="9 is no level"):
        read_imported(tmp_path / "t")


@darshan
@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_a_log_that_is_cut_short_is_an_error_and_never_a_crash(tmp_path: Path, keep: float) -> None:
    content = (LOGS / "ior_seq_fpp_posix_1m.darshan").read_bytes()
    cut = tmp_path / "cut.darshan"
    cut.write_bytes(content[: int(len(content) * keep)])
    try:
        trace = open_trace(cut)
    except TraceError:
        return
    assert texts(trace.notes) or len(trace.folds) == 8


STRACE = """\
7 1700000000.000000 execve("./app", ["./app", "x y"], 0x7ffd /* 3 vars */) = 0 <0.000100>
7 1700000000.100000 openat(AT_FDCWD, "/data/in", O_RDONLY) = 3</data/in> <0.000010>
7 1700000000.200000 read(3</data/in>, "a, b) = \\"c"..., 8191) = 8191 <0.000020>
7 1700000000.300000 lseek(3</data/in>, 0, SEEK_CUR) = 8191 <0.000001>
7 1700000000.400000 read(3</data/in>,  <unfinished ...>
8 1700000000.450000 pwrite64(5</data/out>, ""..., 100, 700) = 100 <0.000003>
7 1700000000.500000 <... read resumed>""..., 8191) = 17 <0.100000>
7 1700000000.600000 read(3</data/in>, "", 8191) = 0 <0.000001>
7 1700000000.700000 close(3</data/in>)      = 0 <0.000001>
7 1700000000.800000 read(3</proc/self/statm>, "1", 1024) = 1 <0.000001>
7 1700000000.900000 +++ exited with 0 +++
"""


def test_strace_halves_are_joined_and_positions_followed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(STRACE)
    assert kind_of(log) == "strace"
    trace = open_trace(log)
    events = unfold(trace.folds)
    mine = events.rank == 0
    assert trace.command == ("./app", "x y")
    assert [(int(o), int(s), int(m)) for o, s, m in zip(events.offset[mine], events.size[mine], events.moved[mine], strict=True)] == [
        (-1, 0, 0), (0, 8191, 8191), (8191, 0, 0), (8191, 8191, 17), (8208, 8191, 0), (-1, 0, 0),
    ]  # fmt: skip
    other = events.rank == 1
    assert events.offset[other].tolist() == [700]
    assert {file.path for file in trace.files} == {"/data/in", "/data/out"}


# strace 6.1 -f -ttt -y -T --seccomp-bpf -e trace=execve,openat,read,write,lseek,close,clone of a program that writes 100
# bytes, starts another that reads a file and writes 50 more by the same descriptor, waits for it, writes 30, and reads
# these again. Filtered in the kernel, other calls are not seen at all; the loader's own files were removed.
SECCOMP = """\
4242 1700000000.269540 execve("./w", ["./w"], 0x7ffd266afb68 /* 35 vars */) = 0 <0.000359>
4242 1700000000.273270 openat(AT_FDCWD</scratch>, "out", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3</scratch/out> <0.000261>
4242 1700000000.273601 write(3</scratch/out>, ""..., 100) = 100 <0.000035>
4242 1700000000.273692 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f02) = 4243 <0.000208>
4243 1700000000.274040 openat(AT_FDCWD</scratch>, "in.txt", O_RDONLY) = 4</scratch/in.txt> <0.000027>
4243 1700000000.274172 read(4</scratch/in.txt>, "hello\\nworld\\n", 100) = 12 <0.000013>
4243 1700000000.274225 write(3</scratch/out>, "hello\\nworld\\n"..., 50) = 50 <0.000012>
4243 1700000000.274283 close(4</scratch/in.txt>) = 0 <0.000013>
4243 1700000000.274435 +++ exited with 0 +++
4242 1700000000.274483 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=4243, si_uid=0, si_status=0, si_utime=0, si_stime=0} ---
4242 1700000000.274517 write(3</scratch/out>, ""..., 30) = 30 <0.000014>
4242 1700000000.274574 lseek(3</scratch/out>, -30, SEEK_CUR) = 150 <0.000013>
4242 1700000000.274623 read(3</scratch/out>, ""..., 100) = 30 <0.000013>
4242 1700000000.274676 close(3</scratch/out>) = 0 <0.000014>
4242 1700000000.274898 +++ exited with 0 +++
"""


def test_strace_that_filters_in_the_kernel_is_read_alike(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(SECCOMP)
    trace = open_trace(log)
    assert (trace.command, trace.n_ranks) == (("./w",), 2)
    events = unfold(trace.folds)
    moved = events.moved > 0
    names = [Path(trace.files[file].path).name for file in events.file[moved]]
    columns = (events.rank, events.offset, events.moved)
    found = zip(names, *(column[moved].tolist() for column in columns), strict=True)
    assert list(found) == [
        ("out", 0, 0, 100), ("out", 0, 150, 30), ("out", 0, 150, 30),  # the other's 50 bytes lie between
        ("in.txt", 1, 0, 12), ("out", 1, 100, 50),
    ]  # fmt: skip


def test_strace_of_threads_shares_descriptors(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        '7 1700000001.0 openat(AT_FDCWD, "/data/in", O_RDONLY) = 3</data/in> <0.1>\n'
        "7 1700000001.1 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 9 <0.1>\n"
        '9 1700000001.2 read(3</data/in>, "", 10) = 10 <0.1>\n'
        '7 1700000001.3 read(3</data/in>, "", 10) = 10 <0.1>\n'
    )
    trace = open_trace(log)
    assert trace.n_ranks == 1
    assert unfold(trace.folds).offset.tolist() == [-1, 0, 10]


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    for name, content in {"empty": b"", "text": b"hello\nworld\n", "zeros": b"\0" * 5000}.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TraceError, match=r"empty|no kind"):
            open_trace(path)
    with pytest.raises(TraceError, match="there is no trace"):
        open_trace(tmp_path / "absent")
    assert not strace.recognises(tmp_path, b"\xff\xfe\n")


DFTRACER = """\
[
{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/data/x","value":"ab"}}
{"id":2,"name":"open","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1700,"dur":1,"ph":1,"args":{"flags":66,"fhash":"ab"}}
{"id":3,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1710,"dur":0,"ph":1,"args":{"ret":1000,"count":1000,"fhash":"ab"}}
{"id":4,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1710,"dur":0,"ph":1,"args":{"ret":1000,"count":1000,"fhash":"ab"}}
{"id":5,"name":"lseek","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1720,"dur":1,"ph":1,"args":{"ret":10,"whence":0,"offset":10,"fhash":"ab"}}
{"id":6,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1730,"dur":1,"ph":1,"args":{"ret":1990,"count":8191,"fhash":"ab"}}
{"id":7,"name":"pread","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1740,"dur":1,"ph":1,"args":{"ret":5,"offset":77,"count":5,"fhash":"ab"}}
]
"""


@pytest.mark.parametrize("packed", [False, True])
def test_dftracer_events_are_followed_through_the_file(tmp_path: Path, packed: bool) -> None:
    log = tmp_path / "log"
    log.write_bytes(gzip.compress(DFTRACER.encode()) if packed else DFTRACER.encode())
    assert kind_of(log) == "dftracer"
    events = unfold(open_trace(log).folds)
    assert events.offset.tolist() == [-1, 0, 1000, 10, 10, 77]
    assert events.size.tolist() == [0, 1000, 1000, 0, 8191, 5]
    assert events.moved.tolist() == [0, 1000, 1000, 0, 1990, 5]


def test_dftracer_without_metadata_is_refused_with_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        '{"id":3,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1710,"dur":0,"ph":1}\n'
    )
    with pytest.raises(TraceError, match="DFTRACER_INC_METADATA=1"):
        open_trace(log)


def test_dftracer_cut_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    log = tmp_path / "log"
    packed = gzip.compress((DFTRACER[:-2] + DFTRACER[2:-2] * 500).encode())
    log.write_bytes(packed[:-20])
    trace = open_trace(log)
    assert len(unfold(trace.folds)) > 6
    assert any("cut short" in warning for warning in texts(trace.notes))
