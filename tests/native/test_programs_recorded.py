"""Programs of the field, recorded (tests/data/programs): what the certificate says is what the traced replay shows.

The programs are not needed: a model is made from the recording, a kernel from the model, and the kernel's replay is traced.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from fixed_point_run import go_on
from tracer_run import FAMILIES, need

from wavetank.document import provenance
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.model.comparison.library_calls import SENTENCE, notes_on_library_calls
from wavetank.model.document.model import Model, own_phases
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.reader import read_trace

RECORDINGS = Path(__file__).parents[1] / "data" / "programs"
KIB = 1024
HACC = 24 * KIB**2 + 4 * 2000 * 38  # a header, and 2000 particles of 38 B a rank
BT = (
    12 * 12**3 * 5 * 8
)  # class S writes its grid of 12^3 points, 5 doubles each, at every fifth of 60 steps
S3D = 5 * (11 + 3 + 1 + 1) * 20**3 * 8  # 5 checkpoints of 4 variables
# By recording: bytes written and read by all ranks, as the arguments in the README give them.
MOVED = {
    "bt-io-full.mpich": (BT, BT),
    "bt-io-simple.openmpi": (BT, BT),
    "hacc-io.openmpi": (HACC, HACC),
    "ior-collective.openmpi": (4 * 6 * 64 * KIB, 4 * 6 * 64 * KIB),
    "ior-fpp.openmpi": (4 * 2 * 256 * KIB, 4 * 2 * 256 * KIB),
    "ior-random.mpich": (4 * 256 * KIB, 4 * 256 * KIB),
    "ior-strided.openmpi": (4 * 4 * 64 * KIB, 4 * 4 * 64 * KIB),
    "ior-views.mpich": (4 * 6 * 64 * KIB, 4 * 6 * 64 * KIB),
    "mdtest.openmpi": (4 * 12 * 1000, 4 * 12 * 1000),
    "mdtest-empty.mpich": (0, 0),
    "s3d-io.mpich": (S3D + 5 * 588, 0),  # with the 588 B of each file's header
    "s3d-io.openmpi": (S3D + 5 * 588, 0),
}


def model_of_recording(name: str, folder: Path) -> Model:
    with tarfile.open(RECORDINGS / f"{name}.tar.gz") as packed:
        packed.extractall(folder)  # recorded by us
    return extract_model(read_trace(folder / f"{name}.trace"), provenance())


def moved(model: Model, call: str) -> int:
    """Bytes of the application's own calls of a direction."""
    return sum(
        phase.ph_weight
        for phase in own_phases(model)
        if all(call in member.iop_type for member in phase.pattern)
    )


def inexact(kernel: Kernel, model: Model) -> list[tuple[str, ...]]:
    """What the certificate says that differs."""
    rows = replay_fidelity(kernel, model)
    return [row.differences for row in rows if not (row.exact or row.left_to_mpi)]


def test_every_recording_is_looked_at() -> None:
    assert {path.name.removesuffix(".tar.gz") for path in RECORDINGS.glob("*.gz")} == set(MOVED)


@pytest.mark.parametrize("name", MOVED)
def test_kernels_of_recordings_are_exact(name: str, tmp_path: Path) -> None:
    model = model_of_recording(name, tmp_path)
    assert (model.n_ranks, moved(model, "write"), moved(model, "read")) == (4, *MOVED[name])
    model.write(tmp_path / "model.json")
    kernel = make_kernel(model, tmp_path / "model.json")
    assert (inexact(kernel, model), texts(kernel.notes)) == ([], ())


@pytest.mark.parametrize(
    "name",
    ["bt-io-full.mpich", "bt-io-simple.openmpi", "hacc-io.openmpi", "ior-strided.openmpi", "ior-views.mpich", "mdtest.openmpi",
     "s3d-io.mpich", "s3d-io.openmpi"],
)  # fmt: skip
def test_the_certificate_says_what_the_traced_replay_shows(name: str, tmp_path: Path) -> None:
    family = name.rsplit(".", 1)[1]
    need(f"libwavetank-trace-{family}.so", FAMILIES[family][2][0])
    found = go_on(family, model_of_recording(name, tmp_path), tmp_path)
    assert inexact(found.kernel, found.model) == []
    shown = compare_models(found.model, found.again)
    # ROMIO's data sieving reads before it writes, or does not: two runs of IOR itself differ in that (README).
    if not notes_on_library_calls(found.model, found.again, shown):
        assert shown.differences == ()
    assert (moved(found.again, "write"), moved(found.again, "read")) == MOVED[name]


def test_what_the_mpi_library_did_inside_of_equal_calls_is_told_apart(tmp_path: Path) -> None:
    model = model_of_recording("ior-views.mpich", tmp_path)
    inside = [phase for phase in model.phases if phase.level == "posix"]
    own = [phase for phase in model.phases if phase.level == "mpiio"]
    assert inside and own
    for missing, said in ((inside[0], (SENTENCE,)), (own[0], ())):
        phases = tuple(phase for phase in model.phases if phase != missing)
        other = model.model_copy(update={"phases": phases})
        shown = compare_models(model, other)
        assert not shown.same
        assert notes_on_library_calls(model, other, shown) == said
    assert notes_on_library_calls(model, model, compare_models(model, model)) == ()
