"""Programs with many children: each is a rank of the replay, which begins and ends where the child did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fixed_point_run import Round, go_round
from tracer_run import FAMILIES, compile_c, need

from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models


def files_written(folder: Path) -> dict[str, int]:
    """Names and sizes."""
    return {
        path.name: path.stat().st_size for path in folder.iterdir() if not path.name.startswith(".")
    }


def check(found: Round, folder: Path, n_processes: int) -> None:
    """The replay does what the processes did."""
    assert found.model.n_ranks == found.again.n_ranks == n_processes
    assert files_written(folder / "root") == files_written(folder / "work")
    assert all(row.exact for row in replay_fidelity(found.kernel, found.model))
    assert compare_models(found.model, found.again).differences == ()


@pytest.mark.parametrize("shape", ["together", "turns", "grandchildren"])
def test_children_of_every_shape_are_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    need("libwavetank-trace-openmpi.so", "gcc", FAMILIES["openmpi"][2][0])
    program = compile_c("forks.c", tmp_path / "forks")
    n = 8
    found = go_round("openmpi", [str(program), shape, str(n)], tmp_path, monkeypatch)
    n_processes = 1 + n * (2 if shape == "grandchildren" else 1)
    check(found, tmp_path, n_processes)
    calls = Counter[str]()
    for phase in found.again.phases:
        for member in phase.pattern:
            calls[member.iop_type] += phase.ph_nrep * phase.ph_np
    # Each child writes 4 times to its own file and once to its parent's, which reads a piece of each child.
    assert calls == {"write": 4 * (n_processes - 1), "pwrite": n_processes - 1, "pread": n}


def test_children_of_several_mpi_ranks_are_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, starter = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, starter[0])
    program = compile_c("forks.c", tmp_path / "forks", "-DRANKS", compiler=compiler)
    argv = [*starter, "-n", "4", str(program), "together", "3"]
    check(go_round("openmpi", argv, tmp_path, monkeypatch), tmp_path, 4 + 4 * 3)


@pytest.mark.e2e
def test_many_children_at_once_are_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace-openmpi.so", "gcc", FAMILIES["openmpi"][2][0])
    program = compile_c("forks.c", tmp_path / "forks")
    check(
        go_round("openmpi", [str(program), "together", "60"], tmp_path, monkeypatch), tmp_path, 61
    )
