"""Loops of several operations are folded as they happen, and every operation comes back."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fold_builder import PROVENANCE
from tracer_run import Call, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank import native
from wavetank.model.extract import extract_model
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.part import read_part
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Trace

N = 40


@pytest.fixture(autouse=True)
def _built() -> None:
    need("libwavetank-trace-decode.so", "gcc")
    need("libwavetank-trace-openmpi.so")


def expected(n: int) -> list[Call]:
    """The calls of loop_calls.c."""
    a, b, log = "a.bin", "b.bin", "log.txt"
    size_of_a = size_of_b = 0

    def pwrite(file: str, offset: int, size: int) -> Call:
        nonlocal size_of_a, size_of_b
        if file == a:
            size_of_a = max(size_of_a, offset + size)
        else:
            size_of_b = max(size_of_b, offset + size)
        return Call("pwrite", file, offset, size, size)

    def pread(file: str, offset: int, size: int) -> Call:
        there = size_of_a if file == a else size_of_b
        return Call("pread", file, offset, size, max(0, min(size, there - offset)))

    found = [Call("open", a), Call("open", b)]
    for i in range(n):
        found += [pwrite(a, i * 1000, 100), pwrite(b, i * 300, 200), pread(a, i * 7, 50)]
    for i in range(n):
        found.append(Call("lseek", a, i * 4096))
        found.append(Call("write", a, i * 4096, 1024, 1024))
        size_of_a = max(size_of_a, i * 4096 + 1024)
    for i in range(n):
        for k in range(4):
            found += [pwrite(a, i * 100000 + k * 500, 10), pread(b, i * 3 + k, 20)]
        found += [pwrite(b, i * 2000 + k * 30, 30) for k in range(5)]
        found.append(Call("fsync", a))
    for i in range(n):
        found += [Call("open", log), Call("write", log, i * 10, 10, 10), Call("close", log)]
    for i in range(n):
        found += [pwrite(a, i * 64, 10), pwrite(b, i * 64, 11 if i % 5 == 0 else 10)]
    for i in range(n):
        for k in range(50):
            found += [pwrite(a, i * 10000 + k * k, 1 + k), pread(b, i + k * k, 1 + k)]
    return found


def n_operations(n: int) -> int:
    return 2 + n * (3 + 2 + 14 + 3 + 2 + 100)


def traced(n: int, where: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> Trace:
    program = compile_c("loop_calls.c", where / "loop_calls")
    return run_traced([str(program), str(n)], where, monkeypatch, **options)


def test_every_operation_of_every_loop_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = traced(N, tmp_path, monkeypatch)
    for view in (trace, read_trace(tmp_path / "run.trace", loops=True)):
        found = calls(view)
        assert len(found) == n_operations(N)
        assert found == expected(N)
        seq = unfold(view.folds).seq
        assert seq.tolist() == list(range(n_operations(N)))
    assert not trace.folds.loop.any()


def test_a_trace_s_size_does_not_depend_on_the_repetitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds, sizes = [], []
    for n in (60, 600):
        where = tmp_path / str(n)
        where.mkdir()
        folds.append(traced(n, where, monkeypatch).n_folds)
        sizes.append(sum(path.stat().st_size for path in (where / "run.trace").glob("part-*.wt")))
    # Opens; loops of 3, 2, (2 in 4 times 2, a run, a sync), 3, (1 + 9 in turns of five), 100 rows; what is
    # before, between and behind them may stay on its own: at most three repetitions of each.
    assert folds[0] is not None
    assert folds[1] is not None
    assert folds[0] < 2 + 4 * (3 + 2 + 4 + 3 + 10 + 100)
    assert (
        abs(folds[1] - folds[0]) <= 110
    )  # not ten times as many; a loop of 100 may be cut elsewhere
    assert sizes[1] < 1.5 * sizes[0]


def test_regular_loops_are_rows_with_a_loop_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(N, tmp_path, monkeypatch)
    folds = read_trace(tmp_path / "run.trace", loops=True).folds
    seeks = (folds.op == OPS_BY_NAME["lseek"].code) & (folds.loop > 0)
    row = int(seeks.nonzero()[0][0])
    assert folds.count[row : row + 2].tolist() == [N, N]
    assert folds.disp[row : row + 2].tolist() == [4096, 4096]
    assert folds.loop[row] == folds.loop[row + 1]
    assert folds.seq[row + 1] == folds.seq[row] + 1
    assert (folds.subtick_step[row : row + 2] == 2).all()
    closes = (folds.op == OPS_BY_NAME["close"].code) & (folds.loop > 0)
    row = int(closes.nonzero()[0][0])
    assert folds.count[row - 2 : row + 1].tolist() == [N, N, N]  # open, write, close
    assert (folds.handle_step[row - 2 : row + 1] == 1).all()  # each through a handle of its own


def test_a_longer_loop_behind_shorter_ones_is_one_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_c("uneven_loops.c", tmp_path / "uneven_loops")
    assert len(calls(run_traced([str(program)], tmp_path, monkeypatch))) == 2 + 2 * (32 + 32 + 40)
    folds = read_trace(tmp_path / "run.trace", loops=True).folds
    writes = folds.op == OPS_BY_NAME["pwrite"].code
    assert folds.count[writes].tolist() == [32, 32, 32, 32, 40, 40]


def test_times_of_a_loop_are_its_first_its_last_and_their_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(N, tmp_path, monkeypatch)
    trace = read_trace(tmp_path / "run.trace", loops=True)
    folds = trace.folds
    assert (folds.end_ns >= folds.start_ns).all()
    assert (folds.busy_ns >= 0).all()
    in_loop = folds.loop > 0
    assert (folds.busy_ns[in_loop] <= folds.end_ns[in_loop] - folds.start_ns[in_loop]).all()
    singles = int(((folds.count == 1) & (folds.loop == 0)).sum())
    # Each recorded fold of several operations has its histogram; what is single has none, unless taken apart.
    assert n_operations(N) - singles <= int(trace.durations.counts.sum()) <= n_operations(N)
    assert (trace.durations.counts.sum(axis=1) > 1).all()


def test_event_times_keep_every_operation_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = traced(N, tmp_path, monkeypatch, times="event")
    assert len(trace.folds) == n_operations(N)
    assert not trace.folds.loop.any()
    assert calls(trace) == expected(N)
    assert (trace.folds.start_ns[1:] >= trace.folds.end_ns[:-1]).all()  # exact: one thread


def run_killed(where: Path, n: int) -> Path:
    program = compile_c("loop_calls.c", where / "loop_calls")
    out = where / "killed.trace"
    out.mkdir()
    library = native.find("lib/libwavetank-trace-openmpi.so", "test")
    done = subprocess.run(
        [str(program), str(n), "kill"], cwd=where, timeout=HANG_S, check=False,
        env={**os.environ, "LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    return out


def test_loops_of_a_killed_program_come_back_from_its_tail(tmp_path: Path) -> None:
    out = run_killed(tmp_path, N)
    assert list(out.glob("part-*.tail"))
    for loops in (False, True):
        assert calls(read_trace(out, loops=loops)) == expected(N)


def test_a_damaged_tail_is_left_out(tmp_path: Path) -> None:
    out = run_killed(tmp_path, 3)
    tail = next(out.glob("part-*.tail"))
    content = bytearray(tail.read_bytes())
    for place in range(8, 120):  # the head, byte by byte
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        tail.write_bytes(bytes(damaged))
        part = read_part(next(out.glob("part-*.wt")))
        assert len(part.columns["seq"]) <= n_operations(3)


PAUSES = """
import os, time
fd = os.open("data.bin", os.O_CREAT | os.O_RDWR)
for k in range(3):
    for i in range(5):
        os.lseek(fd, (k * 5 + i) * 8192, 0)
        os.write(fd, b"x" * 100)
    time.sleep(1.1)
for k in range(2):
    for i in range(6):
        os.pwrite(fd, b"x" * 100, (k * 6 + i) * 100)
    time.sleep(1.1 * (k == 0))
"""
BETWEEN_PAUSES = {"lseek": 5 * 8192, "write": 5 * 8192, "pwrite": 6 * 100}  # bytes of the file


def test_no_row_hides_a_pause_of_more_than_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_traced([sys.executable, "-c", PAUSES], tmp_path, monkeypatch)
    wanted = []
    for i in range(15):
        wanted.append(Call("lseek", "data.bin", i * 8192))
        wanted.append(Call("write", "data.bin", i * 8192, 100, 100))
    wanted += [Call("pwrite", "data.bin", i * 100, 100, 100) for i in range(12)]
    for loops in (False, True):
        trace = read_trace(tmp_path / "run.trace", loops=loops)
        folds = trace.folds
        assert folds.end_ns.max() - folds.start_ns.min() > 4 * 1.1e9
        for op, first, disp, count in zip(
            folds.op, folds.offset, folds.disp, folds.count, strict=True
        ):
            if step := BETWEEN_PAUSES.get(OPS[int(op)].name):
                last = first + (count - 1) * disp
                assert first // step == last // step, "a row from before a pause to behind it"
        assert [call for call in calls(trace) if call.op != "open"] == wanted


BURSTS = """
import os, time
fd = os.open("data.bin", os.O_CREAT | os.O_RDWR)
for burst in range(6):
    for i in range(20):
        os.write(fd, b"x" * 100)
    {flush}
    time.sleep(0.2)
"""


@pytest.mark.parametrize("flush", ["", "os.fsync(fd)"])
def test_bursts_between_shorter_pauses_keep_their_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush: str
) -> None:
    run_traced([sys.executable, "-c", BURSTS.format(flush=flush)], tmp_path, monkeypatch)
    trace = read_trace(tmp_path / "run.trace", loops=True)
    writes = [call for call in calls(trace) if call.op == "write"]
    assert writes == [Call("write", "data.bin", i * 100, 100, 100) for i in range(120)]
    (phase,) = (model := extract_model(trace, PROVENANCE)).phases
    assert phase.ph_nrep == 120
    # Each burst's operations are between two pauses of 0.2 s: what is drawn of one touches no other's.
    offsets = {point.offset_first // 2000 for point in model.timeline}
    assert offsets == set(range(6))
    for point in model.timeline:
        assert point.offset_first // 2000 == point.offset_last // 2000
    assert trace.n_folds is not None and trace.n_folds < 30


@pytest.mark.parametrize("seed", [2, 9, 12, 14, 20, 24])
def test_random_loops_in_loops_unfold_to_what_was_recorded_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    program = compile_c("random_loops.c", tmp_path / "random_loops")
    single, folded = tmp_path / "single", tmp_path / "folded"
    single.mkdir()
    folded.mkdir()
    one_by_one = run_traced([str(program), str(seed)], single, monkeypatch, times="event")
    run_traced([str(program), str(seed)], folded, monkeypatch)
    wanted = unfold(one_by_one.folds)
    numbers = one_by_one.folds.details.number[wanted.given].tolist()
    for loops in (False, True):
        trace = read_trace(folded / "run.trace", loops=loops)
        found = unfold(trace.folds)
        for name in (
            "seq",
            "op",
            "file",
            "handle",
            "size",
            "moved",
            "offset",
            "error",
            "tick",
            "subtick",
        ):
            assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
        assert trace.folds.details.number[found.given].tolist() == numbers
    assert trace.n_folds is not None
    assert trace.n_folds < len(wanted) / 2


def test_values_unlike_those_that_are_looked_at_for_their_width_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a column of many values every seventh tells how wide they are."""
    n, random = 3000, 1
    expected = [Call("open", "empty.bin")]
    for i in range(1, 2 * n + 1):
        random = (random * 6364136223846793005 + 1442695040888963407) % 2**64
        near = (i % 7 == 0) == (i <= n)
        size = 1 + (random >> 40) % (3 if near else 65535)
        expected.append(Call("pread", "empty.bin", random >> (60 if near else 24), size, 0))
    program = compile_c("sampled_columns.c", tmp_path / "sampled_columns")
    trace = run_traced([str(program), str(n)], tmp_path, monkeypatch)
    assert calls(trace) == [*expected, Call("close", "empty.bin")]
