"""IOR's output becomes a replay's result: recorded output, a stand-in program, and IOR itself where installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.ior_program import find_ior
from wavetank.kernel.execution.ior_run import bytes_not_flushed, flushed_lines, run_ior
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.results.ior_output import parse_summary, read_operations
from wavetank.launchers.registry import launcher
from wavetank.model.document.model import Model

RECORDED = Path(__file__).parents[3] / "data" / "ior"


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def writer(n_ranks: int = 1) -> Model:
    """Each rank writes 4 blocks of 64 KiB to one file, strided."""
    ranks = tuple(range(n_ranks))
    size = n_ranks * 4 * 65536
    one = km.phase(1, 1, ranks, 4, [km.member("pwrite", 65536, n_ranks * 65536)],
                   [km.linear(a=65536, b=n_ranks * 65536)])  # fmt: skip
    return km.model(n_ranks, [km.model_file(1, "/s/data", size)], [one], [])


def test_a_summary_tells_version_and_times():
    times = parse_summary((RECORDED / "write-4.1.json").read_text(), "write")
    assert times.version == "4.1.0+dev"
    assert 0 <= times.transfer_s <= times.total_s


@pytest.mark.parametrize("text", ["", "no JSON", '{"tests": []}', '{"Version": "4", "tests": 3}'])
def test_what_is_no_summary_is_refused(text):
    with pytest.raises(ValueError):
        parse_summary(text, "write")


def test_a_task_s_operations_are_shared_among_the_phases_in_order():
    rows = (RECORDED / "write-4.1-task-0.csv").read_text().splitlines()[1:]
    first, second = read_operations(RECORDED / "write-4.1-task-0.csv", [1, 3])
    assert (first.operations, second.operations) == (1, len(rows) - 1)
    durations_ns = [round(float(row.split(",")[1]) * 1e9) for row in rows]
    assert first.io_ns == durations_ns[0]
    assert second.max_ns == max(durations_ns[1:])
    assert sum(second.latencies.values()) == second.operations


def test_a_damaged_table_of_operations_is_refused(tmp_path):
    (tmp_path / "table").write_text("time,runtime,tp\n1.0,not a number,3\n")
    with pytest.raises(ValueError):
        read_operations(tmp_path / "table", [1])


def stand_in(folder: Path, body: str) -> None:
    """A program named ior, in Python; ``outputs`` is what -O names, by key."""
    program = folder / "ior"
    program.write_text(
        f"#!{sys.executable}\n# savePerOpDataCSV\nimport shutil, sys\n"
        "outputs = dict(one.split('=', 1) for one in sys.argv[sys.argv.index('-O') + 1].split(','))\n"
        f"recorded = {str(RECORDED)!r}\n{body}\n"
    )
    program.chmod(0o755)


def run_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str):
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    stand_in(tmp_path, body)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return run_ior(kernel_of(writer(), tmp_path), root, launcher("none"), scratch, 60)


def test_the_result_has_the_operations_of_ior_s_tables(tmp_path, monkeypatch):
    body = """
shutil.copy(f"{recorded}/write-4.1.json", outputs["summaryFile"])
shutil.copy(f"{recorded}/write-4.1-task-0.csv", outputs["savePerOpDataCSV"] + "-0-00000.csv")
"""
    result = run_stand_in(tmp_path, monkeypatch, body)
    assert result.status == "ok"
    (phase,) = result.phases
    assert (phase.operations, phase.bytes) == (4, 4 * 65536)
    rows = (RECORDED / "write-4.1-task-0.csv").read_text().splitlines()[1:]
    slowest = max(float(row.split(",")[1]) for row in rows)
    assert phase.latency is not None and phase.latency.max_s == pytest.approx(slowest, abs=1e-9)
    assert result.settings["program"] == "ior" and result.settings["ior"] == "4.1.0+dev"


def test_an_ior_that_does_not_tell_its_operations_gives_no_percentiles(tmp_path, monkeypatch):
    body = 'shutil.copy(f"{recorded}/write-3.3.json", outputs["summaryFile"])'
    result = run_stand_in(tmp_path, monkeypatch, body)
    (phase,) = result.phases
    assert phase.latency is None and phase.ranks[0].latency is None
    assert phase.time_s == pytest.approx(0.0001)  # wrRdTime of the summary
    assert phase.operations == 4


def test_an_ior_that_fails_makes_a_failed_result_with_its_own_words(tmp_path, monkeypatch):
    body = """
shutil.copy(f"{recorded}/ended-early-4.1.json", outputs["summaryFile"])
print("ERROR: open64(data) failed: No space left on device")
sys.exit(255)
"""
    result = run_stand_in(tmp_path, monkeypatch, body)
    assert result.status == "failed"
    assert result.failure == (
        "IOR, phase 1: it ended with status 255: ERROR: open64(data) failed: No space left on device"
    )


def test_without_ior_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KernelError, match="IOR is not installed"):
        run_ior(kernel_of(writer(), tmp_path), tmp_path, launcher("none"), tmp_path)


@pytest.mark.optional
def test_ior_itself_runs_the_kernel_s_lines(tmp_path):
    if shutil.which("ior") is None:
        pytest.skip("ior is not installed (no Debian package brings it)")
    starter = launcher(find_ior().family or "openmpi")
    if starter.available() is None:
        pytest.skip("the MPI that ior was built with is not installed")
    root = tmp_path / "root"
    root.mkdir()
    kernel = kernel_of(writer(2), tmp_path)
    prepare_files(kernel, root)
    result = run_ior(kernel, root, starter, tmp_path, 120)
    assert result.status == "ok", result.failure
    (phase,) = result.phases
    assert (phase.operations, phase.bytes) == (8, 8 * 65536)
    assert (root / "data").stat().st_size == 8 * 65536
    assert [rank.rank for rank in phase.ranks] == [0, 1]


def test_the_last_line_that_writes_a_file_flushes_it(tmp_path):
    kernel = kernel_of(writer(), tmp_path)
    (line,) = flushed_lines(kernel)
    assert " -e " in line.command and " -e " not in kernel.ior[0].command
    assert bytes_not_flushed(kernel, [line]) == 0
    assert bytes_not_flushed(kernel, kernel.ior) == 4 * 65536


def test_opens_transfers_and_closes_of_ior_are_the_io_time(tmp_path, monkeypatch):
    body = """
shutil.copy(f"{recorded}/write-4.1.json", outputs["summaryFile"])
assert "-e" in sys.argv
"""
    result = run_stand_in(tmp_path, monkeypatch, body)
    assert result.status == "ok", result.failure
    told = json.loads((RECORDED / "write-4.1.json").read_text())["tests"][0]["Results"][0]
    told = told[0] if isinstance(told, list) else told
    assert result.io is not None and result.io.flush_s is None
    assert result.io.total_s == pytest.approx(told["totalTime"])
    assert result.io.metadata_s == pytest.approx(told["openTime"] + told["closeTime"])
    assert result.io.data_s + result.io.metadata_s == pytest.approx(result.io.total_s)
    assert result.io.not_on_disk_bytes == 0
