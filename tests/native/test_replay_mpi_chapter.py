"""A program with every call of MPI 3.1's chapter 13: traced, modelled, replayed, under both MPIs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fixed_point_run import assert_equal, go_round
from tracer_run import FAMILIES, PROGRAMS, compile_c, need

from wavetank.kernel.document import calls
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import flat
from wavetank.trace.ops import OPS

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "mpi-io.md"
ASKED_ONLY = {
    "get_amode", "get_atomicity", "get_byte_offset", "get_group", "get_info", "get_position", "get_position_shared",
    "get_size", "get_type_extent", "get_view",
}  # fmt: skip
"""Calls that move nothing and change nothing: no I/O, so a trace has no rows of them."""
ENDS = {"MPI_File_end"}
"""What a trace calls all six MPI_File_..._end."""


def of_the_program() -> set[str]:
    source = (PROGRAMS / "mpiio_chapter.c").read_text()
    return set(re.findall(r"MPI_File_\w+", source))


def of_the_table() -> dict[str, str]:
    """By call what the documentation says of it: the second column."""
    rows = re.findall(r"^\| `(MPI_\w+)` \| (\w+)", TABLE.read_text(), re.MULTILINE)
    return dict(rows)


def test_the_program_calls_all_that_is_documented_and_nothing_else():
    table = of_the_table()
    assert of_the_program() == {name for name in table if name.startswith("MPI_File_")} - {
        name for name, says in table.items() if says == "not"
    }
    asked = {f"MPI_File_{name}" for name in ASKED_ONLY}
    assert {name for name, says in table.items() if says == "asks"} == asked
    known = {op.name for op in OPS.values()} & calls.KNOWN
    begun = {f"{name[: -len('_end')]}_begin" for name in table if name.endswith("_end")}
    assert {
        name for name, says in table.items() if says == "yes" and not name.endswith("_end")
    } <= known
    assert begun <= known and known >= ENDS


@pytest.mark.parametrize("family", FAMILIES)
def test_every_call_of_the_chapter_comes_back(family, tmp_path, monkeypatch):
    compiler, _, starter = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, starter[0])
    program = compile_c("mpiio_chapter.c", tmp_path / "program", compiler=compiler)
    found = go_round(family, [*starter, "-n", "2", str(program)], tmp_path, monkeypatch)
    rows = replay_fidelity(found.kernel, found.model)
    assert all(row.exact or row.left_to_mpi for row in rows)
    # write, read, iwrite and iread by the shared pointer; the ordered ones have places
    assert sum(row.places_by_race for row in rows) == 4
    assert_equal(found)
    result = compare_models(found.model, found.again)
    assert result.same, result.differences
    for model in (found.model, found.again):
        made = {
            member.iop_type
            for phase in model.phases
            for member in phase.pattern
            if phase.level == "mpiio"
        }
        made |= {
            step.iop_type
            for program_ in model.programs
            for step, _ in flat(program_.steps)
            if isinstance(step, FileStep)
        }
        expected = {
            name
            for name, says in of_the_table().items()
            if says == "yes" and not name.endswith("_end")
        }
        assert expected | ENDS <= made | {"MPI_Test", "MPI_Wait"}
