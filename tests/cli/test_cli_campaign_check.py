"""``wavetank check`` and ``export``: results against a baseline, as continuous integration calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from measure_fakes import abyss_kernel
from need_campaigns import measured

from wavetank.cli.main import cli
from wavetank.errors import UsageError

BEFORE = [1.0, 1.02, 1.01, 1.03, 0.99]
SLOWER = [each * 1.3 for each in BEFORE]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Iterator[dict[str, Path]]:
    patch = pytest.MonkeyPatch()
    patch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    top = tmp_path_factory.mktemp("campaigns")
    times = {
        "before": BEFORE, "again": [each + 0.004 for each in BEFORE], "slower": SLOWER, "faster": [each * 0.7 for each in BEFORE],
        "few": SLOWER[:2],
    }  # fmt: skip
    made = {name: measured(top / name, taken) for name, taken in times.items()}
    made["other kernel"] = measured(top / "other", BEFORE, kernel=abyss_kernel(weight=2 * 10**6))
    made["warm"] = measured(top / "warm", BEFORE, cache="warm")
    made["other cluster"] = measured(top / "two", BEFORE, io=2, file_system={"kind": "glusterfs"})
    yield made
    patch.undo()


def check(*arguments: object):
    words = ["check", *map(str, arguments)]
    return CliRunner().invoke(cli, words)


def test_the_exit_status_says_what_was_found(folders) -> None:
    against = ("--against", folders["before"])
    status = {
        name: check(folders[name], *against).exit_code
        for name in ("again", "faster", "slower", "few")
    }
    assert status == {"again": 0, "faster": 0, "slower": 1, "few": 3}
    assert check(folders["before"], *against).exit_code == 0
    assert check(folders["few"], *against, "--cannot-tell", 0).exit_code == 0
    # 30 % slower, and only twice as slow would matter.
    assert check(folders["slower"], *against, "--smallest-difference", 100).exit_code == 0
    # The largest ratio of two of the values that the test does not refuse is above 1 %.
    assert check(folders["again"], *against, "--rule-out", 1).exit_code == 3
    assert check(folders["again"], *against, "--rule-out", 10).exit_code == 0


def test_how_many_repetitions_tell_a_slowdown_is_said(folders, tmp_path) -> None:
    against = ("--against", folders["before"])
    found = check(folders["few"], *against, "--tell", 50, "--format", "json")
    (row,) = json.loads(found.stdout)["check"]
    assert (
        row["repetitions_to_tell"] == 4
    )  # no more than it takes to tell anything: the noise is 2 %
    assert "4 of each can, about 4 tell a slowdown of 50 %" in row["reason"]
    wrong = check(folders["again"], *against, "--tell", 2)
    assert wrong.exit_code != 0 and "less than 3 % apart" in str(wrong.exception)
    words = ["export", folders["few"], "--to", "baseline", "-o", tmp_path / "few.json"]
    exported = CliRunner().invoke(cli, [*map(str, words)])
    assert exported.exit_code == 0
    assert "A check can tell nothing of 1 of 1 configurations" in exported.output


def test_the_first_line_says_what_is_slower_and_the_screen_holds_all(folders) -> None:
    against = ("--against", folders["before"])
    first, *others = check(folders["slower"], *against).stdout.splitlines()
    assert first.startswith("Slower: ") and len(others) < 25
    assert check(folders["slower"], *against, "--brief").stdout.splitlines() == [first]
    same = check(folders["again"], *against).stdout
    assert same.startswith("Nothing is measurably slower.")
    assert check(folders["few"], *against).stdout.startswith("Cannot tell for 1 of 1")


def test_what_cannot_be_compared_is_refused_with_status_2(folders, tmp_path) -> None:
    words = {
        "other kernel": "another kernel", "warm": "performed otherwise", "other cluster": "no configuration in common",
    }  # fmt: skip
    for name, text in words.items():
        result = check(
            folders[name], "--against", folders["before"], "--junit", tmp_path / "check.xml"
        )
        assert isinstance(result.exception, UsageError) and text in str(result.exception)
        assert result.exception.exit_status == 2
    damaged = tmp_path / "baseline.json"
    damaged.write_text('{"schema": "wavetank.baseline/1"}')
    for wrong in (damaged, tmp_path / "none", tmp_path):
        assert isinstance(check(folders["again"], "--against", wrong).exception, UsageError)
    assert list(tmp_path.iterdir()) == [damaged]


def test_junit_and_markdown_name_what_is_slower(folders, tmp_path) -> None:
    junit, markdown = tmp_path / "check.xml", tmp_path / "check.md"
    for name, tag, status in (("slower", "failure", "failures"), ("few", "error", "errors")):
        check(
            folders[name], "--against", folders["before"], "--junit", junit, "--markdown", markdown
        )
        suites = ET.parse(junit).getroot()
        assert suites.tag == "testsuites" and suites.get(status) == suites.get("tests") == "1"
        (case,) = suites.iter("testcase")
        assert [each.tag for each in case] == [tag]
    assert "5 repetitions against 2 cannot" in markdown.read_text()
    check(folders["few"], "--against", folders["before"], "--junit", junit, "--cannot-tell", 0)
    assert [each.tag for each in ET.parse(junit).getroot().iter("skipped")] == ["skipped"]


def test_reframe_runs_exported_tests(folders, tmp_path) -> None:
    """Nothing is measured: the results are there. A test fails where the check does; ReFrame keeps the I/O time."""
    exports = {"baseline.json": ("before", "baseline"), "a.py": ("again", "reframe"), "b.py": ("slower", "reframe")}  # fmt: skip
    for file, (name, target) in exports.items():
        words = ["export", folders[name], "--to", target, "-o", tmp_path / file]
        assert CliRunner().invoke(cli, [*map(str, words)]).exit_code == 0
    programs = Path(sys.executable).parent
    results = [
        f"-SWavetank{name.capitalize()}.results={folders[name]}" for name in ("again", "slower")
    ]
    subprocess.run(
        [programs / "reframe", "-c", tmp_path, "-r", "--report-file", "report.json", *results],
        cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path / "home")},
    )  # fmt: skip
    (run,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    cases = {case["name"]: case for case in run["testcases"]}
    assert {name: case["result"] for name, case in cases.items()} == {
        "WavetankAgain": "pass",
        "WavetankSlower": "fail",
    }
    assert "1PxCN: slower" in cases["WavetankSlower"]["fail_reason"]
    ((seconds, *_),) = cases["WavetankAgain"]["perfvalues"].values()
    assert seconds == pytest.approx(1.014)  # the median of the repetitions


def test_the_report_shows_what_changed_by_the_same_test(folders, tmp_path) -> None:
    def report(name: str, *more: str):
        out = tmp_path / "report"
        return out, CliRunner().invoke(
            cli, ["report", str(folders[name]), "--against", str(folders["before"]), "-o", str(out), *more]
        )  # fmt: skip

    out, result = report("slower", "--format", "json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(out.read_text())["tables"]["campaign-check"]
    asked = json.loads(
        check(folders["slower"], "--against", folders["before"], "--format", "json").stdout
    )
    assert [row] == asked["check"]
    out, result = report("slower")
    page = out.read_text()
    assert "Against the earlier results, by I/O time: 1 configuration: 1 slower." in page
    assert "Change of the I/O time" in page
    out.unlink()
    out, result = report("other kernel")
    assert result.exit_code != 0
    assert "another kernel" in str(result.exception)
    assert not out.exists()
