"""Clocks of different hosts: measured by the ranks at MPI_Init and MPI_Finalize, and taken out of the times.

A time name space stands for another host: its CLOCK_MONOTONIC, by which a process's times are kept, is shifted.
"""

import os
import subprocess
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.trace.clocks import common_times
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.part import Part
from wavetank.trace.part_records import PartClock
from wavetank.trace.reader import read_parts

SECOND = 1_000_000_000
SHIFT_S = 1000


def part(name: str, utc_ns: int, mono_ns: int, *clocks: PartClock) -> Part:
    return Part(Path(name), name, 1, 1, utc_ns, mono_ns, clocks=list(clocks))


def test_hosts_are_put_on_the_reference_clock_with_their_drift() -> None:
    """Host b booted later (its monotonic clock is 40 s behind), and its UTC is 3 s ahead; it runs 50 ppm fast."""
    a = part("a", 100 * SECOND, 50 * SECOND, PartClock(1, 1, 1, 0, 0, 0))
    b = part(
        "b", 103 * SECOND, 10 * SECOND,
        PartClock(2, 1, 2, 0, 40 * SECOND, 20_000),
        PartClock(2, 1, 2, 1000 * SECOND, 40 * SECOND - 50_000_000, 20_000),
    )  # fmt: skip
    child = part("b", 104 * SECOND, 11 * SECOND)
    times, hosts = common_times([a, b, child])
    assert [time.start_ns for time in times] == [100 * SECOND, 100 * SECOND, 101 * SECOND - 50_000]
    assert times[1].drift == pytest.approx(-50e-6)
    assert {host.host: host.utc_ahead_ns for host in hosts} == {"a": 0, "b": 3 * SECOND}


def test_ranks_of_one_host_keep_its_clock() -> None:
    a = part("a", 100 * SECOND, 50 * SECOND, PartClock(1, 1, 1, 0, 0, 0))
    b = part("a", 101 * SECOND, 51 * SECOND, PartClock(1, 1, 3, 0, 0, 0))
    times, hosts = common_times([a, b])
    assert [time.start_ns for time in times] == [100 * SECOND, 101 * SECOND]
    assert hosts == ()


def test_a_shifted_clock_is_measured_and_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, launcher[0])
    shifted = ["unshare", "-T", "--monotonic", str(SHIFT_S)]
    if os.geteuid() != 0 or subprocess.run([*shifted, "true"], check=False).returncode != 0:
        pytest.skip("does not apply: no time name spaces for this user or kernel")
    program = compile_c("mpiio_calls.c", tmp_path / "mpiio_calls", compiler=compiler)
    wrapper = tmp_path / "one_shifted"
    wrapper.write_text(
        '#!/bin/sh\n[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] && exec '
        f'{" ".join(shifted)} "$@"\nexec "$@"\n'
    )
    wrapper.chmod(0o755)
    trace = run_traced([*launcher, "-np", "2", str(wrapper), str(program)], tmp_path, monkeypatch)
    parts, _ = read_parts(tmp_path / "run.trace")
    measured = [p for part in parts for p in part.clocks if p.role == 2]
    assert len(measured) == 2  # at MPI_Init and before MPI_Finalize
    # Rank 1's clock is ahead by the shift; a measurement is off by what its question and answer took at most.
    for point in measured:
        assert abs(point.offset_ns + SHIFT_S * SECOND) <= point.round_trip_ns
    ends = {
        int(rank): int(end)
        for rank, op, end in zip(trace.folds.rank, trace.folds.op, trace.folds.end_ns, strict=True)
        if op == OPS_BY_NAME["MPI_Finalize"].code
    }
    assert abs(ends[0] - ends[1]) < SHIFT_S / 2 * SECOND
    (clock,) = trace.clocks[-1:]
    assert abs(clock.utc_ahead_ns) < SECOND  # of both, UTC is the same
