"""Places of calls by the shared file pointer, and of ordered ones: those at which the file holds what they wrote."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, calls, compile_c, need, run_traced

from wavetank.trace.schema import Level

N = 3  # ranks
CALLS = 8  # of a rank that write; letters of the alphabet


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_call_s_place_is_where_its_letter_begins(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("mpi_shared.c", tmp_path / "mpi_shared", compiler=compiler)
    trace = run_traced([*launcher, "-np", str(N), str(program), "out.bin"], tmp_path, monkeypatch)
    content = (tmp_path / "out.bin").read_bytes()
    for rank in range(N):
        writes = [
            call
            for call in calls(trace, rank, Level.MPIIO)
            if "write" in call.op and call.file == "out.bin"
        ]
        letters = [bytes([ord("A") + rank * CALLS + i]) for i in range(CALLS)]
        assert [call.size for call in writes] == [10 * (rank + 1)] * CALLS
        assert [call.offset for call in writes] == [content.index(letter) for letter in letters]
