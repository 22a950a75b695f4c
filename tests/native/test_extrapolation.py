"""Models fitted over runs at some process counts, against a run that was then traced at another one.

Nothing may differ, file views neither; and the kernel of the extrapolated model issues what was traced there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need

from commands_here import COMMANDS, run_here
from wavetank.document import provenance
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model, View, own_levels
from wavetank.model.extract import extract_model
from wavetank.model.scaling.extrapolation import extrapolate
from wavetank.model.scaling.fitting import fit_models
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.reader import read_trace

Runs = Callable[[Sequence[int]], dict[int, Model]]


def traced(
    source: str, arguments: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Runs:
    """Trace a program at some process counts, each run in a folder of its own; its models."""
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    compiler, _, starter = FAMILIES["openmpi"]
    program = compile_c(source, folder / "program", compiler=compiler)

    def run(counts: Sequence[int]) -> dict[int, Model]:
        models = {}
        for n in counts:
            work = folder / f"np{n}"
            work.mkdir()
            monkeypatch.chdir(work)
            trace([*starter, "-n", str(n), str(program), *arguments], work / "t", CaptureOptions())
            models[n] = extract_model(read_trace(work / "t"), provenance())
        return models

    return run


def views_of(model: Model) -> list[tuple[int, int, View]]:
    """The view of each rank in each phase that goes through one: (place of the phase, rank, view)."""
    return [
        (place, rank, model.views[number])
        for place, phase in enumerate(own_levels(model).phases)
        if phase.offset_view is not None
        for rank, number in zip(
            phase.ph_processid,
            phase.view_ids or [phase.view_id or 0] * phase.ph_np,
            strict=True,
        )
    ]


PROGRAMS = {
    # grid 10: np 9 and 16 do not divide it, and so tell how NPB deals with the rest
    "BT-IO": ("bt_io.c", ["bt.out", "10", "2"], (4, 9, 16), 25),
    "S3D-IO": ("s3d_io.c", ["s3d", "12", "2"], (2, 3, 4), 6),
    "MADbench2": ("madbench2.c", ["mad.out", "8", "1000"], (2, 3, 4), 7),
    "blocks on a grid of three dimensions": ("grid_io.c", ["grid.out", "11"], (4, 6, 8, 12), 18),
    "segments of a shared file": ("segments.c", ["shared", "ior", "3", "8192", "4096", "50"], (2, 3, 4), 9),
    "a file for each process": ("segments.c", ["unique", "ior", "3", "8192", "4096", "50"], (2, 3, 4), 6),
    "checkpoints that are renamed": ("checkpoints.c", ["state", "2", "1000"], (2, 3, 4), 6),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_extrapolated_model_is_that_of_a_run_traced_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, arguments, counts, n = PROGRAMS[name]
    runs = traced(source, arguments, tmp_path, monkeypatch)
    model = extrapolate(fit_models(list(runs(counts).values())), n, provenance())
    truth = runs([n])[n]
    assert model.extrapolation is not None
    assert model.extrapolation.not_extrapolated == ()
    assert compare_models(model, truth).differences == ()
    assert views_of(model) == views_of(truth)

    model.write(tmp_path / "model.json")
    kernel = make_kernel(model, tmp_path / "model.json")
    assert kernel.extrapolation == model.extrapolation
    certificate = [row for row in replay_fidelity(kernel, truth) if not row.left_to_mpi]
    assert certificate
    assert [row.differences for row in certificate if not row.exact] == []


def test_the_kernel_of_an_extrapolated_model_replays_at_its_process_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = traced("madbench2.c", ["mad.out", "8", "1000"], tmp_path, monkeypatch)((2, 3, 4))
    for n, model in runs.items():
        model.write(tmp_path / f"m{n}.json")
    monkeypatch.chdir(tmp_path)

    def wavetank(*arguments: str) -> subprocess.CompletedProcess[str]:
        if arguments[0] in COMMANDS:
            return run_here(tmp_path, *arguments)
        return subprocess.run(
            [sys.executable, "-m", "wavetank", *arguments], capture_output=True, text=True, check=False
        )  # fmt: skip

    models = [f"m{n}.json" for n in runs]
    assert wavetank("fit", *models, "--np", "6", "-o", "x.json").returncode == 0
    assert "extrapolated to np 6" in wavetank("kernel", "x.json", "-o", "k.json").stdout
    assert "extrapolated to np 6" in wavetank("fidelity", "k.json", "x.json").stdout
    (tmp_path / "root").mkdir()
    other = wavetank("replay", "k.json", "--root", "root", "--np", "4")
    assert (other.returncode, "wavetank fit" in other.stderr) == (2, True)
    done = wavetank("replay", "k.json", "--root", "root", "--verify", "-o", "r.json")
    assert done.returncode == 0, done.stderr
    assert "extrapolated to np 6 from traces at np 2, 3, 4" in (tmp_path / "r.json").read_text()
    # 8 matrices of 1,000 bytes of each rank
    assert (tmp_path / "root" / "mad.out").stat().st_size == 6 * 8 * 1000
