"""MPI_Info hints: of each call that was given some, by file, and those in force."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.document import provenance
from wavetank.model.document.program import FileStep
from wavetank.model.extract import extract_model
from wavetank.trace.index import TraceIndex

AT_OPEN = (("cb_buffer_size", "2097152"), ("application_s_own", "a value with blanks"))
WITH_VIEW = (*AT_OPEN, ("cb_nodes", "1"))
SET = (("cb_buffer_size", "2097152"), ("cb_nodes", "1"))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_hints_of_every_call_reach_the_model(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("mpi_hints.c", tmp_path / "mpi_hints", compiler=compiler)
    trace = run_traced([*launcher, "-np", "2", str(program)], tmp_path, monkeypatch)
    model = extract_model(trace, provenance())
    (steps,) = {program.steps for program in model.programs}
    given = [
        (step.iop_type, None if step.info_id is None else dict(model.infos[step.info_id]))
        for step in steps
        if isinstance(step, FileStep) and step.iop_type != "MPI_File_close"
    ]
    assert given == [
        ("MPI_File_open", dict(AT_OPEN)),
        ("MPI_File_set_view", dict(WITH_VIEW)),
        ("MPI_File_set_info", dict(SET)),
    ]  # the opens behind are a loop: their step has no hints
    (file,) = trace.files
    assert dict(file.hints) == dict(WITH_VIEW)  # by file: all that were ever given
    in_force = TraceIndex.read(tmp_path / "run.trace" / "index.json").files[0].hints_in_force
    if (
        family == "mpich"
    ):  # ROMIO falls back to its default where none is given; Open MPI keeps the old ones
        assert in_force["cb_buffer_size"] == str(16 << 20)
    assert dict(file.hints_in_force) == in_force
