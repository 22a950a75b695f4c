"""How the memory of MPI-IO calls lies, and what the MPI library makes of gaps in it."""

from pathlib import Path

import numpy as np
import pytest
from fixed_point_run import go_round
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model
from wavetank.trace import arguments
from wavetank.trace.arguments import Memory
from wavetank.trace.ops import OPS_BY_NAME


@pytest.mark.parametrize("family", FAMILIES)
def test_each_call_says_how_its_memory_lies(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("memory_types.c", tmp_path / "memory_types", compiler=compiler)
    trace = run_traced([*launcher, "-np", "1", str(program)], tmp_path, monkeypatch)
    rows = np.flatnonzero(trace.folds.op == OPS_BY_NAME["MPI_File_write"].code)
    found = np.repeat(arguments.memory(trace.folds, rows), trace.folds.count[rows]).tolist()
    expected = [
        Memory.PLAIN, Memory.PLAIN, Memory.WHOLE, Memory.WHOLE, Memory.GAPS, Memory.GAPS, Memory.GAPS, Memory.PLAIN,
    ]  # fmt: skip
    assert found[:8] == expected
    assert found[8:] in ([], [Memory.WHOLE])  # MPI 4: a type that was made with a large count
    assert trace.folds.size[rows].max() == 64


def reads_below(model: Model) -> int:
    """POSIX reads of a run that only writes."""
    return sum(
        phase.ph_nrep * phase.ph_np
        for phase in model.phases
        for member in phase.pattern
        if phase.level == "posix" and "read" in member.iop_type
    )


@pytest.mark.parametrize("memory", ["gaps", "plain"])
def test_reads_that_romio_makes_for_memory_with_gaps_are_no_part_of_an_exact_kernel(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("memory_gaps.c", tmp_path / "memory_gaps", compiler=compiler)
    found = go_round(
        "mpich", [*launcher, "-n", "2", str(program), "out.bin", memory], tmp_path, monkeypatch
    )
    compared = compare_models(found.model, found.again)
    if memory == "plain":
        assert reads_below(found.model) == 0
        assert (found.kernel.doubts, found.kernel.not_reproduced, compared.notes) == ((), (), ())
        return
    # 4 calls of 2 ranks, each with a read before it writes.
    assert reads_below(found.model) == 8
    (said,) = found.model.untold
    assert "below 8 MPI-IO writes the MPI library made 8 reads" in said
    assert found.kernel.doubts == (said,)
    assert reads_below(found.again) == 0
    assert not compared.same
    assert f"a: {said}" in compared.notes
