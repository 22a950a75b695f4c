"""A campaign that runs the application itself beside its kernel, on this machine's own nodes (provider null)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from reader_campaigns import replay_is_possible

from waiting import HANG_S
from wavetank.campaign.results_folder import open_store
from wavetank.notes import texts

pytestmark = [pytest.mark.e2e, *replay_is_possible]

SIZE = 1 << 20
WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
COPY = ["dd", "if=in.bin", "of=out.bin", "bs=64k"]


def wavetank(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WAVETANK, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=HANG_S,
        env=os.environ | {"WAVETANK_STATE_DIR": str(folder / "state")},
    )  # fmt: skip


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a copy by dd, traced on this machine."""
    folder = tmp_path_factory.mktemp("copy")
    (folder / "in.bin").write_bytes(os.urandom(SIZE))
    for words in (
        ["trace", "-o", "t", "--", *COPY],
        ["model", "t", "-o", "m.json"],
        ["kernel", "m.json", "-o", "k.json"],
    ):
        done = wavetank(folder, *words)
        assert done.returncode == 0, done.stderr
    return folder / "k.json"


@pytest.fixture
def folder(tmp_path: Path, kernel: Path) -> Path:
    """Of a campaign file, with the application's input."""
    (tmp_path / "k.json").write_bytes(kernel.read_bytes())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.bin").write_bytes((kernel.parent / "in.bin").read_bytes())
    (tmp_path / "files").mkdir()
    cluster = {
        "name": f"own{os.getpid()}",
        "provider": "null",
        "instance": {"name": "c3.2xlarge", "vcpus": 2},
        "nodes": {"compute": 1},
        "file_system": {"kind": "existing", "path": str(tmp_path / "files")},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(cluster))
    return tmp_path


def write_campaign(folder: Path, argv: list[str], repetitions: int = 2, **own: object) -> None:
    body = {
        "name": "own",
        "applications": [
            {"kernel": "k.json"},
            {"kernel": "k.json", "program": "own", "own": {"argv": argv, "input": "data", **own}},
        ],
        "clusters": ["c.yaml"],
        "repetitions": repetitions,
        "cache": "warm",  # emptying this machine's caches would disturb others
        "output": "results",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body))


def test_the_application_runs_beside_its_kernel_and_is_compared_with_it(folder: Path) -> None:
    write_campaign(folder, COPY)
    plan = wavetank(folder, "run", "campaign.yaml", "--dry-run")
    assert "dd itself runs dd if=in.bin of=out.bin bs=64k in 1 rank, 1 input file" in plan.stdout
    done = wavetank(folder, "run", "campaign.yaml", "--format", "json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (trust,) = said["trust_in_the_kernel"]
    assert (trust["application"], trust["own"], trust["pauses"]) == ("dd", "dd itself", "drop")
    assert trust["pairs"] == 0 and trust["tau"] is None
    (time,) = said["kernel_beside_the_application_itself"]
    assert time["kernel_s"] > 0 and time["application_s"] > 0
    with open_store(folder / "results") as store:
        entries = store.entries()
        own = [each for each in entries if each.measurement.application == "dd itself"]
        assert len(entries) == 4 and len(own) == 2
        for entry in own:
            result = entry.measurement.result
            moved = [(phase.bytes, phase.operations) for phase in result.phases]
            assert moved == [(SIZE, 16), (SIZE, 16)]  # reads, and writes
            assert result.moved_bytes == 2 * SIZE
            assert result.io is not None and result.io.not_on_disk_bytes == 0
            assert result.io.total_s == pytest.approx(
                result.io.data_s + (result.io.metadata_s or 0) + (result.io.flush_s or 0)
            )
            assert store.own_model(entry.number).app_st == 2 * SIZE
            assert "records out" in store.raw_output(entry.number).stderr
            about = [text for text in texts(entry.measurement.notes) if "other work" not in text]
            assert about == []
    model = wavetank(folder, "own-model", "results", str(own[0].number), "-o", "m.json")
    assert model.returncode == 0, model.stderr
    again = wavetank(folder / "results", "run", "campaign.yaml", "--format", "json")
    assert again.returncode == 0, again.stderr
    assert "4 done already" in again.stderr
    report = wavetank(folder, "report", "results", "-o", "report.html")
    assert report.returncode == 0, report.stderr
    assert "Kernel beside the application itself" in (folder / "report.html").read_text()
    assert list((folder / "files").iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "more", "message"),
    [
        (["sh", "-c", "echo no good >&2; exit 3"], {}, "sh ended with status 3"),
        (["sh", "-c", "exec sleep 1000"], {"limit": "1 s"}, "did not end within 1.00 s"),
        (["dd", "if=in.bin", "of={outside}", "bs=64k"], {}, "outside of its folder"),
        (["dd", "if=in.bin", "of=out.bin", "bs=64k", "count=1"], {}, "its kernel moves"),
    ],
)  # fmt: skip
def test_a_run_that_is_no_measurement_is_said_and_leaves_nothing(
    folder: Path, argv: list[str], more: dict[str, object], message: str
) -> None:
    outside = folder / "outside.bin"
    write_campaign(folder, [word.replace("{outside}", str(outside)) for word in argv], 1, **more)
    done = wavetank(folder, "run", "campaign.yaml")
    assert done.returncode == 1
    assert message in done.stderr, done.stderr
    with open_store(folder / "results") as store:
        assert [each.application for each in store.measurements()] == ["dd"]
    assert list((folder / "files").iterdir()) == []


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"argv": ["./no-such"]}, "there is no program ./no-such"),
        ({"argv": ["no-such-program"]}, "no program no-such-program on the PATH"),
        ({"argv": COPY, "input": "nowhere"}, "nowhere of the application itself: no such file"),
        ({"argv": ["mpirun", "-n", "2", "dd"]}, "leave mpirun and its options out"),
    ],
)
def test_what_cannot_run_is_said_before_anything_starts(
    folder: Path, own: dict[str, object], message: str
) -> None:
    write_campaign(folder, **own)  # type: ignore[arg-type]
    done = wavetank(folder, "run", "campaign.yaml")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (folder / "results").exists() and not (folder / "state").exists()
