"""Directories of mounted file systems that ``wavetank try`` compares for a user."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare_fakes import configuration
from measure_fakes import abyss_kernel

from wavetank.campaign.attempt import Machine, Wishes, write_attempt
from wavetank.campaign.spec import read_campaign
from wavetank.campaign.user_candidates import directories_asked, mount_kind
from wavetank.cli.attempt import lines_to_paste
from wavetank.cluster.spec import read_spec
from wavetank.compare.against import against_baseline
from wavetank.compare.comparison import Comparison, Verdict
from wavetank.compare.decisions import decide
from wavetank.document import provenance
from wavetank.errors import UsageError


def test_directories_that_are_named_are_the_only_ones_compared_and_bytes_are_verified(
    tmp_path: Path,
) -> None:
    named = [tmp_path / "home", tmp_path / "fast storage"]
    for path in named:
        path.mkdir()
    machine = Machine(10**12, directories=directories_asked(named), named=True)
    (tmp_path / "out").mkdir()
    wishes = Wishes(runs_per_month=30, smallest_saving=0.1)
    spec = read_campaign(write_attempt(abyss_kernel(), None, tmp_path / "out", wishes, machine))
    clusters = [read_spec(path) for path in spec.clusters]
    assert [each.file_system.path for each in clusters] == list(map(str, named))
    assert all(each.title is not None and mount_kind(tmp_path) in each.title for each in clusters)
    assert spec.verify and spec.baseline == clusters[0].name
    assert (spec.runs_per_month, spec.smallest_saving) == (30, 0.1)


def test_a_knob_that_is_set_is_measured_on_one_file_system(tmp_path: Path) -> None:
    wishes = Wishes(settings=("request-size=1MiB",))
    path = write_attempt(abyss_kernel(), None, tmp_path, wishes, Machine(10**12))
    spec = read_campaign(path)
    assert len(spec.clusters) == 1 and spec.what_if == ("request-size=1MiB",)


@pytest.mark.parametrize("wrong", ["nowhere", "a-file"])
def test_what_is_no_directory_is_refused(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "a-file").touch()
    with pytest.raises(UsageError, match=wrong):
        directories_asked([tmp_path / wrong])
    with pytest.raises(UsageError, match="twice"):
        directories_asked([tmp_path, tmp_path])


def test_the_type_of_a_mount_is_that_of_the_deepest_one(tmp_path: Path) -> None:
    assert mount_kind(Path("/proc/self")) == "proc"
    assert mount_kind(tmp_path) != "unknown"


def test_the_end_is_a_line_to_paste_with_what_was_measured() -> None:
    pair = [configuration("home", [1.7] * 4), configuration("scratch", [1.0] * 4)]
    configurations = against_baseline(pair, "home", decide(pair))
    verdict = Verdict(
        application="a", verb="choose", sentence="", choice="a / scratch / 1PxCN", baseline="a / home / 1PxCN",
        void=None, run="",
    )  # fmt: skip
    comparison = Comparison(
        provenance=provenance(), campaign="c", confidence=0.95, rank_by="time", price=None,
        configurations=configurations, rankings=(), pareto=(), effects=(), advice=(), verdicts=(verdict,),
        not_measured=(), notes=(),
    )  # fmt: skip
    (line,) = lines_to_paste(comparison, {"home": "/home/me", "scratch": "/scratch/my files"})
    assert line == "cd '/scratch/my files'    # 1.7 times as fast, measured here, bytes verified"
