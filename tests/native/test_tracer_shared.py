"""Places of calls by the shared file pointer, and of ordered ones: those at which the file holds what they wrote."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, calls, compile_c, need, run_traced

from wavetank.trace.schema import Level

N = 3  # ranks
CALLS = 8  # of a rank that write; letters of the alphabet
BEFORE = (0, 10, 30)  # bytes that the ranks before one write in an ordered call
RUNS = 5
"""Open MPI 4.1.4 itself now and then writes an ordered call through a view elsewhere, where processors are busy: without the tracer in 1
of 15 runs beside twenty busy processes."""


def place(rank: int, call: int) -> int:
    """Where MPI has an ordered call write."""
    in_view = BEFORE[rank] + (120 if call == 7 else 0)
    return {0: in_view, 4: 1000 + in_view}.get(call, 2000 + in_view // 4 * 8 + in_view % 4)


def is_as_mpi_says(content: bytes) -> bool:
    return all(
        content.index(letters(rank)[call]) == place(rank, call)
        for rank in range(N)
        for call in (0, 4, 5, 7)
    )


def letters(rank: int) -> list[bytes]:
    return [bytes([ord("A") + rank * CALLS + i]) for i in range(CALLS)]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_call_s_place_is_where_its_letter_begins(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("mpi_shared.c", tmp_path / "mpi_shared", compiler=compiler)
    for run in range(RUNS):
        where = tmp_path / str(run)
        where.mkdir()
        trace = run_traced([*launcher, "-np", str(N), str(program), "out.bin"], where, monkeypatch)
        content = (where / "out.bin").read_bytes()
        if is_as_mpi_says(content):
            break
    for rank in range(N):
        writes = [
            call
            for call in calls(trace, rank, Level.MPIIO)
            if "write" in call.op and call.file == "out.bin"
        ]
        assert [call.size for call in writes] == [10 * (rank + 1)] * CALLS
        assert [call.offset for call in writes] == [
            content.index(letter) for letter in letters(rank)
        ]
