"""wavetank kernel, fidelity and replay as a user calls them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import kernel_models as km
import pytest
from click.testing import CliRunner, Result

from wavetank import native
from wavetank.cli import fidelity, kernel, replay
from wavetank.errors import DocumentError, KernelError, ModelError, UsageError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.results.result import ReplayRun


def run(command: object, *arguments: object, ok: bool = True) -> Result:
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=not ok)
    return result


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with rw3's model.json and kernel.json."""
    km.written(km.read_write_three_times(), tmp_path)
    run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "kernel.json")
    return tmp_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    if not native.available("bin/wavetank-replay-serial"):
        pytest.skip("bin/wavetank-replay-serial is not built; run 'make setup'")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_kernel_writes_the_file_and_prints_replay_files_and_ior(tmp_path):
    km.written(km.abyss(1_000_000), tmp_path)
    result = run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json")
    assert result.exit_code == 0
    for text in (
        "ABYSS-P",
        "reads1.fastq",
        "Seeks that move nothing",
        "8,191 -> 8,192",
        "ior -r -N 1 -a POSIX",
        "Pauses between",
    ):
        assert text in result.stdout
    assert Kernel.read(tmp_path / "k.json").n_ranks == 4


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (" -o out", "", "it has no -o"),
        (" -o out", " -o", "it has no -o"),
        (" -t 65536", " -t 64k", "-t 64k is no whole number above 0"),
        (" -t 65536", " -t 65535", "-b 524288 is no multiple of -t 65535"),
        (" -N 3", " -N 2", "-np 3 and -N 2 are different numbers of tasks"),
        (" -a POSIX", " -a HDF5", "-a HDF5 is neither POSIX nor MPIIO"),
        (" -w ", " ", "it needs one of -w and -r"),
        (" -k ", " -k -C ", "-C is not among the options of such lines"),
    ],
)
def test_an_ior_line_that_cannot_be_read_is_an_error_that_says_why(tmp_path, was, now, said):
    km.written(km.file_per_process(3), tmp_path)
    path = tmp_path / "k.json"
    run(kernel.command, tmp_path / "model.json", "-o", path)
    body = json.loads(path.read_text())
    line = body["ior"][0]
    assert was in line["command"]
    line["command"] = line["command"].replace(was, now)
    path.write_text(json.dumps(body))
    where = re.escape(f'IOR line "{line["command"]}" does: {said}')
    with pytest.raises(KernelError, match=f"{where}.*make the kernel anew"):
        run(fidelity.command, path, tmp_path / "model.json", "--of", "ior")


def test_kernel_prints_json_of_every_table(tmp_path):
    km.written(km.btio(3), tmp_path)
    result = run(
        kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json", "--format", "json", "--approximate"
    )  # fmt: skip
    body = json.loads(result.stdout)
    assert [row["weight_bytes"] for row in body["replay"]] == [3840, 3840, 3840, 3 * 3840]
    assert [row["ph_ids"] for row in body["ior"]] == [[1, 2, 3], [4]]


def test_kernel_of_a_damaged_model_is_an_error_that_names_it(tmp_path):
    (tmp_path / "model.json").write_text('{"schema": "wavetank.model/1"')
    result = run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json", ok=False)
    assert isinstance(result.exception, ModelError) and "model.json" in str(result.exception)
    assert not (tmp_path / "k.json").exists()


def test_fidelity_outside_of_the_tolerance_ends_with_3(made):
    result = run(
        fidelity.command,
        made / "kernel.json",
        made / "model.json",
        "--of",
        "ior",
        "--format",
        "json",
    )
    assert result.exit_code == 3
    body = json.loads(result.stdout)
    assert body["within_tolerance"] is False and "Refused" in body["differences"][0]["what"]


def test_replay_prepares_performs_and_writes_a_result(made, root):
    result = run(
        replay.command,
        made / "kernel.json",
        "--root",
        root,
        "-o",
        made / "r.json",
        "--verify",
        "--drop-caches",
    )
    assert result.exit_code == 0, result.output
    found = ReplayRun.read(made / "r.json").result
    assert found.status == "ok" and found.phases[0].bytes == 6 * 4096
    assert found.settings["prepared"] == "yes" and "posix_fadvise" in found.settings["cache"]
    assert (root / "work.dat").stat().st_size == 6 * 4096


def test_replay_prints_all_phases_together(made, root):
    done = run(replay.command, made / "kernel.json", "--root", root, "--format", "json")
    body = json.loads(done.stdout)
    (row,), (time,) = body["totals"], body["io_time"]
    # 3 blocks of 4096 B are read and 3 written, one a call.
    assert (row["bytes"], row["operations"]) == (6 * 4096, 6)
    assert row["io_time_s"] == time["io_time_s"]
    assert row["rate_bytes_per_s"] == pytest.approx(6 * 4096 / time["io_time_s"])
    assert row["iops"] == pytest.approx(6 / time["io_time_s"])


def test_replay_can_leave_nothing_behind(made, root):
    run(replay.command, made / "kernel.json", "--root", root, "--no-keep")
    assert list(root.iterdir()) == []


def test_replay_checks_its_output_before_it_performs_anything(made, root):
    result = run(
        replay.command,
        made / "kernel.json",
        "--root",
        root,
        "-o",
        made / "none" / "r.json",
        ok=False,
    )
    assert isinstance(result.exception, DocumentError)
    assert list(root.iterdir()) == []


def test_replay_with_another_number_of_ranks_is_a_usage_error(made, root):
    result = run(replay.command, made / "kernel.json", "--root", root, "--np", 2, ok=False)
    assert isinstance(result.exception, UsageError) and result.exception.exit_status == 2
    assert "1 ranks, not 2" in str(result.exception)


def test_a_failed_replay_leaves_a_result_marked_failed(made, root):
    (root / "work.dat").write_bytes(b"short")
    result = run(
        replay.command, made / "kernel.json", "--root", root, "--no-prepare", "-o", made / "r.json", ok=False
    )  # fmt: skip
    assert isinstance(result.exception, KernelError)
    found = ReplayRun.read(made / "r.json").result
    assert found.status == "failed" and "too short" in (found.failure or "")


def test_a_failed_replay_prints_its_message_alone_and_takes_away_what_it_made(made, root, tmp_path):
    body = json.loads((made / "kernel.json").read_text())
    body["files"][0]["prepare_bytes"] = 100  # the first read wants 4096
    (made / "kernel.json").write_text(json.dumps(body))
    result = run(replay.command, made / "kernel.json", "--root", root, ok=False)
    assert isinstance(result.exception, KernelError) and "too short" in str(result.exception)
    assert "Phases" not in result.output
    assert list(root.iterdir()) == []


def test_replay_does_not_touch_somebody_elses_file(made, root):
    (root / "work.dat").write_bytes(b"precious")
    result = run(replay.command, made / "kernel.json", "--root", root, ok=False)
    assert isinstance(result.exception, KernelError)
    assert (root / "work.dat").read_bytes() == b"precious"


def test_replay_of_a_file_that_is_no_kernel_says_so(made, root):
    result = run(replay.command, made / "model.json", "--root", root, ok=False)
    assert isinstance(result.exception, (KernelError, DocumentError))
    assert "not a kernel file" in str(result.exception)


def test_replay_without_its_directory_says_so(made, root):
    result = run(replay.command, made / "kernel.json", "--root", root / "no", ok=False)
    assert "not a directory" in str(result.exception)
    result = run(
        replay.command, made / "kernel.json", "--root", root / "no", "--no-prepare", ok=False
    )
    assert "not a directory" in str(result.exception)


def test_a_kernel_whose_file_leaves_the_root_is_refused_before_anything_is_written(tmp_path):
    km.written(km.abyss(10_000), tmp_path)
    run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json")
    text = (tmp_path / "k.json").read_text().replace('"reads1.fastq"', '"../escaped.dat"')
    (tmp_path / "k.json").write_text(text)
    (tmp_path / "root").mkdir()
    result = run(replay.command, tmp_path / "k.json", "--root", tmp_path / "root", ok=False)
    assert "not a relative path below the root" in str(result.exception)
    assert not (tmp_path / "escaped.dat").exists()


def test_a_launcher_for_one_rank_is_refused_before_files_are_made(tmp_path):
    km.written(km.abyss(10_000), tmp_path)
    run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json")
    (tmp_path / "root").mkdir()
    result = run(
        replay.command, tmp_path / "k.json", "--root", tmp_path / "root", "--launcher", "none", ok=False
    )  # fmt: skip
    assert "4 ranks" in str(result.exception)
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize(
    "option",
    [
        ["--verify"],
        ["--direct"],
        ["--pauses", "keep"],
        ["--flush", "phase"],
    ],
)
@pytest.mark.parametrize("program", ["fio", "ior"])
def test_options_of_the_exact_replay_are_refused_with_a_benchmark(tmp_path, program, option):
    km.written(km.abyss(10_000), tmp_path)
    run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json")
    result = run(
        replay.command, tmp_path / "k.json", "--root", tmp_path, "--with", program, *option, ok=False
    )  # fmt: skip
    assert (
        f"{' '.join(option) if option[0] == '--flush' else option[0]} is for the exact replay"
        in str(result.exception)
    )


def test_a_replay_says_that_there_are_no_pauses_to_keep(made, root):
    result = run(
        replay.command,
        made / "kernel.json",
        "--root",
        root,
        "--launcher",
        "none",
        "--pauses",
        "keep",
    )
    assert result.exit_code == 0
    assert "none kept: the kernel holds none" in result.stderr
    assert "none kept: the kernel holds none" in result.stdout  # in the settings


def test_fidelity_warns_of_another_model(tmp_path):
    km.written(km.abyss(10_000), tmp_path)
    run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json")
    km.written(km.abyss(20_000), tmp_path)
    result = run(fidelity.command, tmp_path / "k.json", tmp_path / "model.json", ok=False)
    assert "was made from another model" in result.stderr


def test_a_variant_has_one_knob_turned_and_a_certificate(tmp_path):
    km.written(km.abyss(1_000_000), tmp_path)
    model, out = tmp_path / "model.json", tmp_path / "k.json"
    result = run(kernel.command, model, "-o", out, "--variant", "request-size=64KiB")
    assert result.exit_code == 0
    for text in ("request size 8,191 B -> 65,528 B", "246 -> 32", "Files compared", "equal"):
        assert text in result.stdout
    variant = Kernel.read(out).variant
    assert variant is not None and variant.setting == "request-size=64KiB"
    assert [file.read_bytes for file in variant.files] == [1_000_000, 1_000_000]


def test_a_knob_that_does_not_apply_says_why_and_writes_nothing(tmp_path):
    km.written(km.abyss(), tmp_path)
    with pytest.raises(
        KernelError, match="aggregators=2 does not apply to ABYSS-P: it moves no data by MPI-IO"
    ):
        run(
            kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json", "--variant", "aggregators=2",
        )  # fmt: skip
    assert not (tmp_path / "k.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--variant", "stripes=2"), "there is no knob 'stripes'"),
        (("--variant", "request-size=big"), "request-size takes a size"),
        (("--variant", "request-size", "--fio", "it.fio"), "leave one out"),
    ],
)
def test_a_wrong_variant_is_refused(tmp_path, options, message):
    km.written(km.abyss(), tmp_path)
    with pytest.raises(UsageError, match=message):
        run(kernel.command, tmp_path / "model.json", "-o", tmp_path / "k.json", *options)
    assert not (tmp_path / "k.json").exists()
