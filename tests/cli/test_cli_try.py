import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.append(str(Path(__file__).parents[1] / "unit" / "measure"))

from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from wavetank.cli.main import cli
from wavetank.errors import WavetankError


@pytest.fixture
def faked(monkeypatch):
    """Clusters that can come up and do so at once, and a kernel that is performed at once."""
    performer = FakePerformer(abyss_result)
    monkeypatch.setattr("wavetank.measure.perform.ReplayPerformer", lambda: performer)
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    monkeypatch.setattr("wavetank.cluster.deploy.bring_up", lambda spec: FakeCluster(spec.name))
    monkeypatch.setattr("wavetank.cluster.deploy.take_down", lambda name: None)
    return performer


def call(*argv):
    return CliRunner().invoke(cli, ["try", *map(str, argv)], catch_exceptions=False)


def test_a_dry_run_writes_the_files_and_starts_nothing(tmp_path, faked):
    abyss_kernel().write(tmp_path / "k.json")
    result = call(tmp_path / "k.json", "-o", tmp_path / "out", "--dry-run", "--format", "json")
    plan = json.loads(result.stdout)["plan"]
    # NFS, GlusterFS on 1, 2 and 3 servers, and 1DFx1F, each with two mappings.
    assert len(plan) == 10
    assert all(row["cannot_run"] is None and row["repetitions"] == 3 for row in plan)
    assert faked.calls == []
    assert (tmp_path / "out" / "campaign.yaml").is_file()
    assert not (tmp_path / "out" / "results").exists()


def test_a_kernel_ends_in_a_ranking_and_a_report(tmp_path, faked):
    abyss_kernel().write(tmp_path / "k.json")
    result = call(
        tmp_path / "k.json", "-o", tmp_path / "out", "--repetitions", "1", "--format", "json"
    )
    assert len(json.loads(result.stdout)["ranking_of_abyss_p_by_time"]) == 10
    assert "<html" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("name", ["nothing.darshan", "text.log", "folder"])
def test_what_is_no_log_is_refused_with_its_name(tmp_path, faked, name):
    (tmp_path / "text.log").write_text("this is no log of any tool\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WavetankError, match=name):
        call(tmp_path / name, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
