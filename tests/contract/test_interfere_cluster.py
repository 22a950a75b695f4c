"""Two groups on one server of a limited network: they share its limit, and a long interval frees the foreground.

The limit is so low that a busy machine of two cores still reaches it: a hundredth of what an idle one does. A machine on
which many more tasks want a processor than it has may not: then no rate has a lower bound.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner
from leftovers import Traces, skip_unless_possible

from wavetank.cli.main import cli
from wavetank.cluster.spec import ClusterSpec
from wavetank.measure.disturbance import read_counts

LIMIT = 2e6  # bytes/s
JUST_ABOVE = 1.1 * LIMIT  # a burst is let through
ENOUGH_OF_IT = 0.4 * LIMIT  # of groups that nothing but the link holds up
TOO_BUSY = 12  # tasks for each processor
CLUSTER = {
    "name": f"t{os.getpid()}-share",
    "instance": {"name": "t.small", "vcpus": 1, "memory": "256 MiB", "network": "1 Gbit/s"},
    "io_instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB", "network": "2 MB/s"},
    "nodes": {"compute": 4, "io": 1},
    "file_system": {"kind": "nfs"},
    "storage": {"size": "512 MiB"},
}
OBJECTS = {"operation": "write", "size": "128 KiB", "file_size": "16 MiB"}


class Study(NamedTuple):
    """The results of a study, and the rate that a group alone has at least."""

    folder: Path
    enough: float


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The results of a study: alone, together, and with an interval longer than the runs."""
    skip_unless_possible(ClusterSpec.model_validate(CLUSTER))
    folder = tmp_path_factory.mktemp("study")
    (folder / "cluster.yaml").write_text(yaml.safe_dump(CLUSTER))
    groups = [
        {"name": name, "clients": 2, "objects": OBJECTS} for name in ("foreground", "background")
    ]
    spec = {
        "name": "share",
        "clusters": ["cluster.yaml"],
        "groups": groups,
        "intervals": {"group": "background", "values": ["0 s", "20 s"]},
        "duration": "4 s",
        "settle": "1 s",
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(spec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        traces = Traces(Path(os.environ["WAVETANK_STATE_DIR"]), str(CLUSTER["name"]))
        before = read_counts()
        result = CliRunner().invoke(cli, ["interfere", str(folder / "study.yaml")])
        after = read_counts()
        assert result.exit_code == 0, result.output
        assert traces.left() == []
    tasks = max(before.load_average, after.load_average) / after.processors
    return Study(folder / "results", enough=0.0 if tasks > TOO_BUSY else ENOUGH_OF_IT)


def rates(study: Study, **where: object) -> dict[str, float]:
    """Group -> its rate in the settings where these values hold, bytes/s."""
    comparison = json.loads((study.folder / "comparison.json").read_text())
    return {
        group["group"]: group["rate_bytes_per_s"]["median"]
        for setting in comparison["interference"]["settings"]
        if all(setting[key] == value for key, value in where.items())
        for group in setting["groups"]
    }


def test_one_group_alone_has_the_limit(study: Study) -> None:
    for rate in rates(study, point="alone").values():
        assert study.enough < rate < JUST_ABOVE


def test_two_groups_share_the_limit(study: Study) -> None:
    together = rates(study, point="together", interval_s=0.0)
    assert study.enough < sum(together.values()) < JUST_ABOVE
    for group, rate in rates(study, point="alone").items():
        # half of it, as far as TCP is fair in some seconds, and of what the machine let through
        assert together[group] < 0.8 * rate or not study.enough


def test_a_long_interval_frees_the_foreground(study: Study) -> None:
    apart = rates(study, point="together", interval_s=20.0)["foreground"]
    assert study.enough < apart < JUST_ABOVE
    together = rates(study, point="together", interval_s=0.0)["foreground"]
    assert together < 0.8 * apart or not study.enough


def test_the_report_shows_the_study(study: Study, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = CliRunner().invoke(cli, ["report", str(study.folder), "-o", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "What the groups do to each other" in text
    assert "Bandwidth on" in text
