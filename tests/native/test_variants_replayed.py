"""Variants performed: every byte that is read is the right one, and the files hold what the kernel as it is leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_run import need  # first: makes kernel_models importable
from tracer_run import calls, run_traced
from tracer_run import need as need_tracer

import kernel_models as km  # isort: skip
from waiting import HANG_S
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.replay import ReplayOptions, replay_command, run_replay
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.registry import launcher
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.trace.schema import Level
from wavetank.variants.make import make_variant

VERIFY = ReplayOptions(verify=True, timeout_s=HANG_S)


def performed(kernel: Kernel, folder: Path, name: str) -> tuple[ReplayResult, dict[str, bytes]]:
    """A kernel's result, and what its files hold afterwards."""
    root, scratch = folder / "root", folder / "scratch"
    root.mkdir(parents=True)
    scratch.mkdir()
    prepare_files(kernel, root)
    result = run_replay(kernel, root, launcher(name), scratch, None, VERIFY)
    assert result.status == "ok", result.failure
    held = {file.name: (root / file.name).read_bytes() for file in kernel.files}
    return result, held


def independent(through_views: bool = False) -> Model:
    """Four ranks write and read one file by independent MPI-IO calls."""
    if not through_views:
        ranks = (0, 1, 2, 3)
        phases = [
            km.phase(number, 1, ranks, 6, [km.member(call, 512, 512)], [km.linear(a=3072, b=512)])
            for number, call in enumerate(("MPI_File_write_at", "MPI_File_read_at"), 1)
        ]
        steps = (
            FileStep(iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=km.MPI_CREATE_RDWR),
            DataStep(ph_id=1, n=6),
            FileStep(iop_type="MPI_File_sync", file_id=1, handle=0),
            DataStep(ph_id=2, n=6),
            FileStep(iop_type="MPI_File_close", file_id=1, handle=0),
        )
        return km.model(
            4, [km.model_file(1, "/s/shared", 12288)], phases, [Program(ranks=ranks, steps=steps)]
        )
    made = km.btio(steps=3)
    phases = [
        one.model_copy(
            update={
                "collective": False,
                "pattern": tuple(
                    each.model_copy(update={"iop_type": each.iop_type.replace("_all", "")})
                    for each in one.pattern
                ),
            }
        )
        for one in made.phases
    ]
    return made.model_copy(update={"phases": tuple(phases)})


def strided() -> Model:
    """Four ranks write and read every fourth block of one file by POSIX calls."""
    ranks = (0, 1, 2, 3)
    phases = [
        km.phase(number, 1, ranks, 8, [km.member(call, 4096, 16384)], [km.linear(a=4096, b=16384)])
        for number, call in enumerate(("pwrite", "pread"), 1)
    ]
    steps = (
        FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_RDWR | km.O_CREAT),
        DataStep(ph_id=1, n=8),
        DataStep(ph_id=2, n=8),
        FileStep(iop_type="close", file_id=1, handle=0),
    )
    return km.model(4, [km.model_file(1, "/s/strided", 131072)], phases, [Program(ranks=ranks, steps=steps)])  # fmt: skip


OF_MPI = [
    (lambda: km.btio(steps=3), ("collective-buffering=off", "aggregators=2", "collective-buffer=4KiB", "request-size=2KiB",
                                "file-per-process")),
    (independent, ("collective-calls", "request-size=1KiB", "file-per-process")),
    (lambda: independent(through_views=True), ("data-sieving=on", "data-sieving=off")),
    (lambda: km.abyss(size=200_000), ("request-size=64KiB", "readers=all", "readers=3")),
    (strided, ("file-per-process",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "settings"), OF_MPI, ids=["btio", "independent", "views", "abyss", "strided"]
)
def test_variants_read_and_leave_the_same_bytes(tmp_path, made, settings) -> None:  # type: ignore[no-untyped-def]
    need("openmpi")
    model = made()
    base = make_kernel(model, km.written(model, tmp_path))
    result, held = performed(base, tmp_path / "base", "openmpi")
    for setting in settings:
        variant = make_variant(base, setting)
        other, holds = performed(variant, tmp_path / setting, "openmpi")
        assert other.settings["verified_bytes"] == result.settings["verified_bytes"] != "0"
        assert sum(one.bytes for one in other.phases) == sum(one.bytes for one in result.phases)
        assert variant.variant is not None
        assert sum(one.operations for one in other.phases) == variant.variant.new_calls
        if setting == "file-per-process":
            assert sum(map(len, holds.values())) == sum(map(len, held.values()))
            assert all(b"\0" * 512 not in content for content in holds.values())  # no holes
        else:
            assert holds == held


def test_a_serial_variant_reads_and_leaves_the_same_bytes(tmp_path: Path) -> None:
    need("none")
    model = km.file_per_process(n_ranks=1, rs=4096, count=10)
    base = make_kernel(model, km.written(model, tmp_path))
    result, held = performed(base, tmp_path / "base", "none")
    other, holds = performed(make_variant(base, "request-size=16KiB"), tmp_path / "merged", "none")
    assert holds == held
    assert other.settings["verified_bytes"] == result.settings["verified_bytes"] == "40960"
    assert [one.operations for one in other.phases] == [3, 3]


@pytest.mark.parametrize(
    ("setting", "n_writers"),
    [("aggregators=1", 1), ("aggregators=3", 3), ("collective-buffering=off", 4)],
)
def test_hints_reach_romio(tmp_path, monkeypatch, setting, n_writers) -> None:  # type: ignore[no-untyped-def]
    """The ranks whose POSIX calls write are the aggregators; without collective buffering each rank writes for itself."""
    need("mpich")
    need_tracer("libwavetank-trace-mpich.so")
    model = km.btio(steps=2, rs=65536, piece=16384)
    base = make_kernel(model, km.written(model, tmp_path))
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    variant = make_variant(base, setting)
    argv, _ = replay_command(variant, root, launcher("mpich"), scratch, None, ReplayOptions())
    found = run_traced(argv, tmp_path, monkeypatch)
    writers = {
        rank
        for rank in range(4)
        for call in calls(found, rank, Level.POSIX)
        if call.op in ("write", "pwrite") and call.file == "btio.full.out"
    }
    assert len(writers) == n_writers
