"""fio job files: what they issue is worked out, and fio does just that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.fio_run import run_fio
from wavetank.kernel.fidelity.benchmark_certificate import fio_fidelity
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.model.document.model import Model
from wavetank.model.document.program import Program
from wavetank.notes import texts


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def strided(verb: str = "pwrite") -> Model:
    """Two ranks, 5 operations of 1000 bytes each, every 4000 bytes; rank 1 starts at 1500."""
    one = km.phase(1, 1, (0, 1), 5, [km.member(verb, 1000, 4000)], [km.linear(a=1500, b=4000)])
    return km.model(2, [km.model_file(1, "/s/f", 18_500)], [one], [Program(ranks=(0, 1), steps=())])


def need_fio() -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")


def test_a_job_for_each_rank_with_the_engine_of_its_call(tmp_path):
    plan = fio_plan(kernel_of(strided(), tmp_path))
    assert [
        (job.rank, job.engine, job.block, job.offset, job.skip, job.count) for job in plan.jobs
    ] == [
        (0, "psync", 1000, 0, 3000, 5),
        (1, "psync", 1000, 1500, 3000, 5),
    ]
    assert "rw=write:3000" in plan.text()


def test_where_fio_can_say_all_operations_the_comparison_finds_no_difference(tmp_path):
    model = strided()
    (row,) = fio_fidelity(kernel_of(model, tmp_path), model.phases)
    assert row.model == row.kernel
    assert not any("Operation" in difference for difference in row.differences)


def test_fio_writes_where_the_jobs_say(tmp_path):
    need_fio()
    (tmp_path / "root").mkdir()
    result = run_fio(kernel_of(strided(), tmp_path), tmp_path / "root", tmp_path, 60)
    assert result.status == "ok", result.failure
    data = (tmp_path / "root" / "f").read_bytes()
    expected = {first + i * 4000 for first in (0, 1500) for i in range(5)}
    written = {at for at in range(0, 18_500, 500) if any(data[at : at + 500])}
    assert written == {at + half for at in expected for half in (0, 500)}
    assert (result.phases[0].operations, result.phases[0].bytes) == (10, 10_000)


def test_fio_reads_abyss_files_with_their_own_request_size(tmp_path):
    need_fio()
    model = km.abyss(500_000)
    kernel = kernel_of(model, tmp_path)
    (tmp_path / "root").mkdir()
    prepare_files(kernel, tmp_path / "root")
    result = run_fio(kernel, tmp_path / "root", tmp_path, 60)
    assert result.status == "ok", result.failure
    # 500000 / 8191 = 61.04: 61 whole reads by each; fio leaves out the short one
    assert [phase.operations for phase in result.phases] == [61, 61]
    assert [row.kernel.operations for row in fio_fidelity(kernel, model.phases)] == [61, 61]


def test_phases_that_overlap_run_together_and_others_wait(tmp_path):
    plan = fio_plan(kernel_of(km.abyss(100_000), tmp_path))
    assert [job.waits for job in plan.jobs] == [False, False]
    plan = fio_plan(kernel_of(km.file_per_process(2), tmp_path))
    assert [(job.ph_id, job.waits) for job in plan.jobs] == [
        (1, False),
        (2, True),
        (3, False),
        (4, True),
    ]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (km.btio(2), "no engine that makes MPI_File_write_at_all"),
        (km.read_write_three_times(), "mixes operations"),
        (km.irregular(), "irregular"),
    ],
)
def test_what_fio_cannot_say_is_refused_with_the_reason(tmp_path, model, reason):
    plan = fio_plan(kernel_of(model, tmp_path))
    assert plan.jobs == () and reason in plan.refused[0].reason
    with pytest.raises(KernelError, match="express no phase"):
        need_fio()
        run_fio(kernel_of(model, tmp_path), tmp_path, tmp_path)


def test_operations_that_go_back_are_refused(tmp_path):
    one = km.phase(1, 1, (0,), 5, [km.member("pread", 100, -100)], [km.linear(b=-100, c=400)])
    kernel = kernel_of(km.model(1, [km.model_file(1, "/s/f", 500, 500)], [one], []), tmp_path)
    assert "goes back" in fio_plan(kernel).refused[0].reason


def test_a_fio_run_that_fails_is_a_failed_result(tmp_path):
    need_fio()
    kernel = kernel_of(km.abyss(100_000), tmp_path)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "reads1.fastq").mkdir()  # a directory cannot be read
    result = run_fio(kernel, tmp_path / "root", tmp_path, 60)
    assert result.status == "failed" and "fio ended with status" in (result.failure or "")


def test_recorded_output_of_fio_becomes_the_same_result(tmp_path, monkeypatch):
    recorded = Path(__file__).parents[3] / "data" / "fio" / "write-3.33.json"
    program = tmp_path / "fio"
    program.write_text(f"#!/bin/sh\nexec cat {recorded}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    # its job: one rank, 16 writes of 4096 bytes
    one = km.phase(1, 1, (0,), 16, [km.member("pwrite", 4096, 4096)], [km.linear(b=4096)])
    model = km.model(1, [km.model_file(1, "/s/f", 65536)], [one], [])
    result = run_fio(kernel_of(model, tmp_path), tmp_path, tmp_path, 60)
    (job,) = json.loads(recorded.read_text())["jobs"]
    (phase,) = result.phases
    assert (phase.operations, phase.bytes) == (16, 65536)
    assert phase.latency is not None
    assert phase.latency.max_s == pytest.approx(job["write"]["clat_ns"]["max"] * 1e-9)
    assert result.settings["fio"] == "fio-3.33"


def test_fio_approximates_what_it_cannot_say_when_asked(tmp_path):
    model = km.read_write_three_times()
    kernel = make_kernel(model, km.written(model, tmp_path), approximate=True)
    plan = fio_plan(kernel)
    assert plan.refused == ()
    assert sorted(job.write for job in plan.jobs if job.rank == plan.jobs[0].rank) == [False, True]
    assert len({job.name for job in plan.jobs}) == len(plan.jobs)
    assert any("Approximate, because" in note for note in texts(plan.not_reproduced[1]))


def test_a_phase_of_two_fio_jobs_is_one_phase_of_the_result(tmp_path):
    need_fio()
    model = km.read_write_three_times()
    kernel = make_kernel(model, km.written(model, tmp_path), approximate=True)
    (tmp_path / "root").mkdir()
    prepare_files(kernel, tmp_path / "root")
    result = run_fio(kernel, tmp_path / "root", tmp_path, 60)
    assert result.status == "ok", result.failure
    (phase,) = result.phases
    jobs = fio_plan(kernel).jobs
    assert phase.operations == sum(job.count for job in jobs)
    assert len(phase.ranks) == len({job.rank for job in jobs})


def test_the_last_job_of_a_rank_that_writes_a_file_flushes_it(tmp_path):
    model = km.file_per_process(2)
    programs = tuple(
        program.model_copy(
            update={
                "steps": tuple(
                    one for one in program.steps if getattr(one, "iop_type", "") != "fsync"
                )
            }
        )
        for program in model.programs
    )
    plan = fio_plan(kernel_of(model.model_copy(update={"programs": programs}), tmp_path))
    assert "end_fsync" not in plan.text()
    flushed = plan.flushed()
    assert [job.flush for job in flushed.jobs] == [job.write for job in plan.jobs]
    assert flushed.text().count("end_fsync=1") == sum(job.write for job in plan.jobs) > 0


def test_random_places_become_random_jobs_with_one_seed(tmp_path):
    model = km.at_random(n=64, spread=4)
    plan = fio_plan(make_kernel(model, km.written(model, tmp_path), approximate=True))
    write, read = plan.jobs
    # within the bytes of the application: the highest place is 4 * 63 * 4096; the lowest 0
    assert (write.offset, write.region, write.count) == (0, (4 * 63 + 1) * 4096, 64)
    assert "rw=randwrite\n" in write.section() and "rw=randread\n" in read.section()
    # fio multiplies a job's seed by its number: 1 * 2 and 2 * 1 give the same order
    seeds = [line for line in plan.text().splitlines() if line.startswith("randseed")]
    assert seeds == ["randseed=2", "randseed=1"]
    assert "norandommap" not in plan.text()
    assert any("in an order of fio's own" in note for note in texts(plan.not_reproduced[1]))


def test_places_that_recur_may_recur_in_fios_order(tmp_path):
    from wavetank.model.document.phase import ListedOffsets

    # 64 writes on 16 places
    places = [at // 4 * 512 for at in km.shuffled(64)]
    listed = ListedOffsets(n_runs=[64], count=1, rs=512, offset=places, disp=0)
    one = km.phase(1, 1, (0,), 64, [km.member("pwrite", 512)], [listed])
    model = km.model(1, [km.model_file(1, "/s/f", 16 * 512)], [one], [])
    (job,) = fio_plan(make_kernel(model, km.written(model, tmp_path), approximate=True)).jobs
    assert (job.region, job.count) == (16 * 512, 64)
    assert "norandommap=1\nrandom_generator=tausworthe" in job.section()


def test_a_colon_in_a_name_does_not_part_it(tmp_path):
    one = km.phase(1, 1, (0,), 4, [km.member("pwrite", 80, 80)], [km.linear(b=80)])
    model = km.model(1, [km.model_file(1, "/s/at:10:30", 320)], [one], [])
    (job,) = fio_plan(kernel_of(model, tmp_path)).jobs
    assert "filename=at\\:10\\:30\n" in job.section()
