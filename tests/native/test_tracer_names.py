"""A traced program is told the same functions as an untraced one: those that its MPI library has."""

import subprocess
from pathlib import Path

import pytest
from tracer_run import FAMILIES, Call, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank import native
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

N = 2  # ranks
# Tells our libraries of each other; and libaio's, which is there without it: called so, it does what libaio does.
OURS = {"wt_trace_claimed", "io_submit"}


def exported(family: str) -> list[str]:
    """Every function that a tracer's library defines for others."""
    library = native.find(f"lib/libwavetank-trace-{family}.so", "test")
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    )
    return sorted({line.split()[-1] for line in listed.stdout.splitlines()} - OURS)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_program_finds_the_functions_that_it_finds_untraced(
    family: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0], "nm")
    names = exported(family)
    assert len(names) > 400  # the POSIX calls and MPI's
    (tmp_path / "names.txt").write_text("\n".join(names))
    program = compile_c("asked_names.c", tmp_path / "asked_names", compiler=compiler)
    argv = [*launcher, "-np", str(N), str(program), str(tmp_path / "names.txt")]
    monkeypatch.chdir(tmp_path)
    untraced = subprocess.run(
        argv, check=True, capture_output=True, text=True, timeout=HANG_S
    ).stdout
    capfd.readouterr()
    trace = run_traced(argv, tmp_path, monkeypatch)
    traced = capfd.readouterr().out
    assert len(untraced.splitlines()) == 1 + len(names)
    assert traced == untraced
    if "weak 1 1 0 1 1" in untraced or "weak 1 1 1 1 1" in untraced:
        check_large_counts(trace)


def check_large_counts(trace: Trace) -> None:
    """Calls of functions that are not exported are recorded all the same."""
    events = unfold(trace.folds)
    for rank in range(N):
        assert Call("MPI_File_write_at", "large.bin", 100 * rank, 100, 100) in calls(trace, rank)
        of_rank = [i for i in range(len(events)) if events.rank[i] == rank]
        ticks = {OPS[int(events.op[i])].name: int(events.tick[i]) for i in of_rank}
        assert ticks["MPI_Bcast"] == ticks["MPI_Init"] + 1
        # MPI_Send_c or MPI_Recv_c lies between.
        assert ticks["MPI_File_open"] == ticks["MPI_Bcast"] + 2
