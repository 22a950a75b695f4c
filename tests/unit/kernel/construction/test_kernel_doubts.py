"""What a kernel's source lost or does not tell: said by the kernel, and never called exact."""

from __future__ import annotations

from pathlib import Path

import kernel_models as km
import pytest

from wavetank.document import provenance
from wavetank.kernel.construction.doubts import UNDECIDED, described
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.construction.places import is_without_places
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.benchmark_certificate import ior_fidelity
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.preparation.space import written_bytes
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase, UnknownOffsets
from wavetank.model.document.program import DataStep, Program
from wavetank.model.extract import extract_model
from wavetank.notes import carried, note, texts
from wavetank.report.tables.kernel import kernel_words
from wavetank.trace.open import open_trace
from wavetank.trace.store import write_imported

LOST = "5 of 9 operations are missing"


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def a_log(**phase: object) -> Model:
    """Two ranks that write a shared file by MPI-IO."""
    one = km.phase(
        1, 1, (0, 1), 4, [km.member("MPI_File_write_at", 4096, 8192)], [km.linear(a=4096, b=8192)]
    ).model_copy(update=phase)
    programs = [Program(ranks=(0, 1), steps=(DataStep(ph_id=1, n=4),))]
    return km.model(2, [km.model_file(1, "/s/out", 8 * 4096)], [one], programs)


def test_what_a_trace_lost_is_in_its_kernel_and_in_the_settings_of_each_result(tmp_path):
    model = km.abyss(100_000).model_copy(update={"notes": (note("lost", "operations", LOST),)})
    kernel = kernel_of(model, tmp_path)
    assert texts(carried(kernel.notes)) == (f"the trace is PARTIAL: {LOST}",)
    assert texts(carried(kernel.notes))[0] in texts(kernel.notes)
    assert described(kernel) == {"source": texts(carried(kernel.notes))[0]}
    assert any(LOST in words for words in kernel_words(kernel))
    assert texts(carried(kernel_of(km.abyss(100_000), tmp_path).notes)) == ()


def test_calls_of_which_nothing_tells_whether_they_were_collective_are_not_exact(tmp_path):
    model = a_log(collective_unknown=True)
    kernel = kernel_of(model, tmp_path)
    assert texts(carried(kernel.notes)) == (f"phase 1: {UNDECIDED}",)
    (row, *_) = replay_fidelity(kernel, model)
    assert row.ph_ids == (1,) and not row.exact
    assert row.differences == (UNDECIDED,)
    assert not row.within(0)
    (line,) = [row for row in ior_fidelity(kernel, model.phases) if row.ph_ids == (1,)]
    assert any("not known which of these calls" in what for what in line.differences)


def test_calls_that_are_told_apart_are_exact(tmp_path):
    model = a_log()
    kernel = kernel_of(model, tmp_path)
    assert texts(carried(kernel.notes)) == ()
    assert all(row.exact for row in replay_fidelity(kernel, model))


def posix(ph_id: int, offset: object) -> Phase:
    return km.phase(ph_id, 1, (0,), 1, [km.member("write", 800)], [offset])


@pytest.mark.parametrize(
    ("mpi", "below", "lowered"),
    [
        ([UnknownOffsets()], km.linear(), True),
        ([km.linear(), UnknownOffsets()], km.linear(), True),  # the header of a file is placed
        ([km.linear()], km.linear(), False),
        ([UnknownOffsets()], UnknownOffsets(), False),
    ],
)
def test_calls_without_places_are_made_by_the_level_below(mpi, below, lowered):
    phases = [
        km.phase(1 + n, 1, (0, 1), 4, [km.member("MPI_File_write_at_all", 100, 200)], [offset])
        for n, offset in enumerate(mpi)
    ]
    made = km.model(2, [km.model_file(1, "/s/out", 800)], [*phases, posix(9, below)], [])
    assert is_without_places(made) is lowered


def test_calls_by_the_shared_pointer_need_no_places():
    shared = km.phase(
        1, 1, (0, 1), 4, [km.member("MPI_File_write_shared", 100)], [UnknownOffsets()]
    )
    made = km.model(2, [km.model_file(1, "/s/out", 800)], [shared, posix(2, km.linear())], [])
    assert not is_without_places(made)


def test_calls_by_the_shared_pointer_keep_the_size_of_each(tmp_path):
    # Rank 0 writes 100 bytes twice and 30, rank 1 three times 7.
    sizes = ListedSizes(n_runs=[2, 1], count=[2, 1, 3], rs=[100, 30, 7])
    one = km.phase(
        1, 1, (0, 1), 3, [km.member("MPI_File_write_shared", 100)], [UnknownOffsets(sizes=sizes)], 251
    )  # fmt: skip
    programs = [Program(ranks=(0, 1), steps=(DataStep(ph_id=1, n=3),))]
    model = km.model(2, [km.model_file(1, "/s/out", 251)], [one], programs)
    kernel = kernel_of(model, tmp_path)
    plan = lower(kernel).splitlines()
    at = plan.index(" call MPI_File_write_shared pointer 0")
    # run RANK COUNT SIZE OFFSET DISP LAST
    assert plan[at + 1 : at + 4] == [
        "  run 0 2 100 0 0 100",
        "  run 0 1 30 0 0 30",
        "  run 1 3 7 0 0 7",
    ]
    (row, *_) = replay_fidelity(kernel, model)
    assert row.exact and row.kernel.bytes == 251
    assert written_bytes(kernel) == {1: 251}


def test_what_a_source_does_not_tell_keeps_its_kernel_from_being_exact(tmp_path):
    untold = "the log keeps no results of calls"
    kernel = kernel_of(
        km.abyss(100_000).model_copy(update={"notes": (note("unrecorded", "calls", untold),)}),
        tmp_path,
    )
    assert texts(carried(kernel.notes)) == (untold,)
    assert untold in texts(kernel.notes)
    assert untold in described(kernel)["source"]


def test_calls_that_the_library_may_make_otherwise_are_said_beside_the_kernel(tmp_path):
    said = "phase 1: the application's memory has gaps and a replay's has none"
    kernel = kernel_of(
        a_log().model_copy(update={"notes": (note("library", "memory", said),)}), tmp_path
    )
    assert said in texts(kernel.notes)
    assert texts(carried(kernel.notes)) == ()  # of the calls that the kernel makes all is known


@pytest.mark.parametrize(
    "log", ["recorder/merged", "recorder/a-rank-a-grammar", "dftracer/stdio.pfw"]
)
def test_kernels_of_logs_that_leave_something_out_say_so(tmp_path: Path, log: str) -> None:
    source = Path(__file__).parents[3] / "data" / log
    trace = open_trace(source)
    (tmp_path / "converted").mkdir()
    write_imported(trace, tmp_path / "converted", source)
    for one in (trace, open_trace(tmp_path / "converted")):
        kernel = kernel_of(extract_model(one, provenance()), tmp_path)
        assert texts(one.notes, "unrecorded")
        assert set(texts(one.notes, "unrecorded")) <= set(texts(carried(kernel.notes)))
