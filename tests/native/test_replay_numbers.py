"""A replay's numbers against a reckoning of their own: from a trace of that same replay, and from calls whose times are known."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import kernel_models as km
import pytest
from replay_run import replay
from replay_time import SIZE, told_ns, told_times
from tracer_run import need

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.results.replay_output import bucket_middle_ns, latency_bucket, outcome
from wavetank.kernel.results.result import ReplayResult, ReplayRun
from wavetank.model.document.program import DataStep, FileStep, Program, SyncStep
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace

COUNT = 200


def writes_and_reads(n_ranks: int) -> km.Model:
    """Each rank writes to a file of its own and reads it back; rank r does r + 1 times as much of it."""
    phases, programs = [], []
    for rank in range(n_ranks):
        n = COUNT * (rank + 1)
        for number, call in enumerate(("pwrite", "pread")):
            phases.append(
                km.phase(
                    2 * rank + number + 1,
                    rank + 1,
                    (rank,),
                    n,
                    [km.member(call, SIZE, SIZE)],
                    [km.linear(b=SIZE)],
                )
            )
        steps = (
            FileStep(iop_type="open", file_id=rank + 1, handle=0, flags=km.O_RDWR | km.O_CREAT),
            DataStep(ph_id=2 * rank + 1, n=n),
            SyncStep(communicator=0),
            DataStep(ph_id=2 * rank + 2, n=n),
            FileStep(iop_type="close", file_id=rank + 1, handle=0),
            SyncStep(communicator=0),
        )
        programs.append(Program(ranks=(rank,), steps=steps))
    files = [km.model_file(r + 1, f"/s/out-{r}", COUNT * (r + 1) * SIZE) for r in range(n_ranks)]
    return km.model(n_ranks, files, phases, programs, communicators=(tuple(range(n_ranks)),))


def traced_replay(
    family: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Kernel, ReplayResult, dict[tuple[int, int, str], list[int]]]:
    """Kernel, result, and the bytes of each operation by rank, file and direction."""
    made = writes_and_reads(2)
    kernel = make_kernel(made, km.written(made, folder))
    kernel.write(folder / "kernel.json")
    (folder / "root").mkdir()
    monkeypatch.chdir(folder)
    argv = [
        sys.executable, "-m", "wavetank", "replay", "kernel.json", "--root", "root", "--launcher", family,
        "-o", "result.json",
    ]  # fmt: skip
    trace(argv, folder / "replay.trace", CaptureOptions(times="event"))
    found = read_trace(folder / "replay.trace")
    folds = found.folds
    operations: defaultdict[tuple[int, int, str], list[int]] = defaultdict(list)
    file_ids = {file.name: file.file_id for file in kernel.files}
    for i in range(len(folds)):
        name = OPS[int(folds.op[i])].name
        path = Path(found.files[folds.file[i]].path).name if folds.file[i] >= 0 else ""
        if name in ("pwrite", "pread") and path in file_ids:
            assert folds.count[i] == 1  # with times of events each operation is a row
            operations[int(folds.rank[i]), file_ids[path], name].append(int(folds.moved[i]))
    return kernel, ReplayRun.read(folder / "result.json").result, operations


def nearest_rank(values: Sequence[int], percent: int) -> int:
    """The smallest value that at least ``percent`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def test_bytes_and_operations_are_those_of_the_events(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "mpirun.openmpi")
    kernel, result, operations = traced_replay("openmpi", tmp_path, monkeypatch)
    assert len(result.phases) == 4 and len(operations) == 4
    for phase, told in zip(kernel.phases, result.phases, strict=True):
        (rank,) = phase.ph_processid
        moved = operations[rank, phase.file_id, phase.pattern[0].iop_type]
        assert told.operations == len(moved) == COUNT * (rank + 1)
        assert told.bytes == sum(moved)
        (of_rank,) = told.ranks
        assert (of_rank.rank, of_rank.bytes, of_rank.operations) == (rank, told.bytes, len(moved))


@pytest.mark.parametrize(("name", "n_ranks"), [("none", 1), ("openmpi", 2)])
def test_times_and_percentiles_are_those_of_the_calls(tmp_path, monkeypatch, name, n_ranks):
    """Each call takes a time that the test knows, on a clock that stands still otherwise."""
    for variable, value in told_times(tmp_path / "library").items():
        monkeypatch.setenv(variable, value)
    made = writes_and_reads(n_ranks)
    result, _ = replay(made, tmp_path, name)
    assert result.status == "ok", result.failure
    assert len(result.phases) == 2 * n_ranks
    for phase, told in zip(made.phases, result.phases, strict=True):
        (rank,) = phase.ph_processid
        n = COUNT * (rank + 1)
        before = n if phase.pattern[0].iop_type == "pread" else 0  # each rank writes first
        took_ns = [told_ns(before + i) for i in range(n)]
        (of_rank,) = told.ranks
        assert of_rank.io_time_s == pytest.approx(sum(took_ns) * 1e-9)
        assert of_rank.end_s - of_rank.start_s == pytest.approx(sum(took_ns) * 1e-9)
        assert told.time_s == pytest.approx(sum(took_ns) * 1e-9)
        assert told.rate_bytes_per_s == pytest.approx(n * SIZE / (sum(took_ns) * 1e-9))
        assert told.iops == pytest.approx(n / (sum(took_ns) * 1e-9))
        assert told.latency is not None and of_rank.latency == told.latency
        for percent, value in (
            (50, told.latency.p50_s),
            (95, told.latency.p95_s),
            (99, told.latency.p99_s),
        ):
            expected = nearest_rank(took_ns, percent)
            assert value == pytest.approx(bucket_middle_ns(latency_bucket(expected)) * 1e-9)
        assert told.latency.max_s == pytest.approx(max(took_ns) * 1e-9)


def test_a_phase_of_several_ranks_is_the_sum_of_its_ranks(tmp_path):
    """Rates, percentiles and the slowest rank of a shared phase, reckoned anew from its ranks' own numbers."""

    def report(rank: int, first_ns: int, latencies: list[int]) -> str:
        buckets: defaultdict[int, int] = defaultdict(int)
        for ns in latencies:
            buckets[latency_bucket(ns)] += 1
        last = first_ns + sum(latencies)
        counted = ",".join(f"[{bucket},{n}]" for bucket, n in sorted(buckets.items()))
        n = len(latencies)
        phase = f"[1,{100 * n},{n},{sum(latencies)},{first_ns},{last},{max(latencies)},[{counted}]]"
        facts = ",".join(
            f'"{key}":0'
            for key in ("elapsed_ns", "metadata_ns", "metadata_operations", "sync_ns", "syncs", "pause_wanted_ns",
                        "pause_ns", "drift_ns", "extra_seeks", "long_reads", "waited_opens", "opens_again",
                        "waited_reads", "other_results", "final_flush_ns")
        )  # fmt: skip
        facts += ',"not_on_disk":0,"started":[0,0],"io":{"spans":[]}'
        return f'{{"rank":{rank},"host":"h","mpi":"m",{facts},"compared":[0,0,0,0],"phases":[{phase}]}}\n'

    quick, slow = [1000 + i for i in range(300)], [50_000 + 10 * i for i in range(100)]
    text = f"wavetank-replay-result 1\n{report(0, 500, quick)}{report(1, 900, slow)}wavetank-replay-result-end\n"
    (phase,) = outcome(text, "", 0, 2, {}).phases
    assert phase.bytes == 400 * 100 and phase.operations == 400
    time_ns = max(500 + sum(quick), 900 + sum(slow)) - 500
    assert phase.time_s == pytest.approx(time_ns * 1e-9)
    assert phase.latency is not None
    every = sorted(quick + slow)
    for percent, told in (
        (50, phase.latency.p50_s),
        (95, phase.latency.p95_s),
        (99, phase.latency.p99_s),
    ):
        expected = every[-(-400 * percent // 100) - 1]
        assert told == pytest.approx(expected * 1e-9, rel=1 / 64)
        assert told == pytest.approx(bucket_middle_ns(latency_bucket(expected)) * 1e-9)
    assert [rank.io_time_s for rank in phase.ranks] == pytest.approx(
        [sum(quick) * 1e-9, sum(slow) * 1e-9]
    )
