"""POSIX calls of an application on a file that it uses through MPI-IO, too: modelled, replayed and counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_run import replay  # first: makes fold_builder importable
from tracer_run import FAMILIES, compile_c, need, run_traced

from waiting import HANG_S
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.model.document.model import own_phases
from wavetank.model.extract import extract_model

from fold_builder import PROVENANCE  # isort: skip

HEADER, BLOCK, BLOCKS = 921, 4096, 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_header_and_a_footer_by_hand_are_in_model_and_replay(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, start = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, start[0])
    program = compile_c("headers_by_hand.c", tmp_path / "headers", compiler=compiler)
    written = tmp_path / "restart"
    trace = run_traced([*start, "-n", "2", str(program), str(written)], tmp_path, monkeypatch)
    model = extract_model(trace, PROVENANCE)
    data = 2 * BLOCKS * BLOCK
    assert [
        (phase.pattern[0].iop_type, phase.level, phase.ph_processid, phase.ph_weight)
        for phase in own_phases(model)
    ] == [
        ("write", "posix", (0,), HEADER),
        ("MPI_File_write_at_all", "mpiio", (0, 1), data),
        ("read", "posix", (1,), 100),
        ("pwrite", "posix", (1,), 4),
    ]
    assert sum(phase.ph_weight for phase in model.phases if phase.by_library) >= data
    assert model.app_st == HEADER + data + 100 + 4
    (file,) = model.files
    assert file.file_size == written.stat().st_size == HEADER + data + 4
    result, root = replay(model, tmp_path, family, ReplayOptions(verify=True, timeout_s=HANG_S))
    assert result.status == "ok", result.failure
    assert [phase.bytes for phase in result.phases] == [HEADER, data, 100, 4]
    (copy,) = root.rglob("restart")
    content = copy.read_bytes()
    assert len(content) == HEADER + data + 4
    assert any(content[:HEADER]) and any(content[-4:])
