"""A file system of another package is in every command as ours are: its folder and its entry point are all that there is of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from measure_fakes import abyss_kernel

from outside_driver import example_driver
from wavetank import programs
from wavetank.cli.main import cli
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.errors import WavetankError


@pytest.fixture(autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with example_driver(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", "")


def call(*argv: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, argv)])


@pytest.mark.usefixtures("without_programs")
def test_the_doctor_shows_it_with_what_it_needs() -> None:
    rows = json.loads(call("doctor", "--format", "json").stdout)["this_machine"]
    (row,) = [row for row in rows if row["ability"] == "sshfs"]
    assert "socat" in row["found"] and "apt-get install socat" in row["remedy"]


def test_init_writes_a_cluster_file_of_it(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    made = call("cluster", "init", "--instance", "c5.large", "--file-system", "sshfs", "-o", file)
    assert made.exit_code == 0, made.output
    spec = read_spec(file)
    assert (spec.file_system.title, len(spec.server_names()), spec.metadata_names()) == (
        "SSHFS",
        1,
        (),
    )


def test_what_its_facts_exclude_is_refused() -> None:
    refused = call(
        "cluster", "init", "--instance", "c5.large", "--file-system", "sshfs", "--servers", 2
    )
    assert refused.exit_code != 0 and "sshfs has 1 data server, not 2" in str(refused.exception)
    wrong = call("cluster", "init", "--instance", "c5.large", "--file-system", "sshf")
    assert wrong.exit_code != 0 and "sshfs" in wrong.output + str(wrong.exception)


@pytest.mark.usefixtures("without_programs")
def test_check_names_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    call("cluster", "init", "--instance", "c5.large", "--file-system", "sshfs", "-o", file)
    done = call("cluster", "check", file)
    assert done.exit_code != 0
    assert "socat" in done.output + str(done.exception)


def test_try_compares_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    abyss_kernel().write(tmp_path / "k.json")
    done = call("try", tmp_path / "k.json", "-o", tmp_path / "out", "--dry-run")
    assert done.exit_code == 0, done.output
    kinds = [read_spec(file).file_system.kind for file in (tmp_path / "out/clusters").iterdir()]
    assert kinds.count("sshfs") == 1 and "nfs" in kinds


def test_try_says_why_it_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(spec: ClusterSpec) -> list[str]:
        return ["socat is missing"] if spec.file_system.kind == "sshfs" else []

    monkeypatch.setattr("wavetank.cluster.deploy.check", check)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    abyss_kernel().write(tmp_path / "k.json")
    done = call("try", tmp_path / "k.json", "-o", tmp_path / "out", "--dry-run")
    assert "SSHFS is not compared: socat is missing." in done.output


def test_where_nothing_can_be_compared_try_ends_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: ["it is broken"])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    abyss_kernel().write(tmp_path / "k.json")
    done = call("try", tmp_path / "k.json", "-o", tmp_path / "out", "--dry-run")
    assert isinstance(done.exception, WavetankError)
    assert "SSHFS is not compared: it is broken" in str(done.exception)


def test_a_driver_that_cannot_be_loaded_hides_no_other(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    site = tmp_path_factory.mktemp("broken")
    facts = site / "broken_fs-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-fs\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[wavetank.file_systems]\nbroken = no_such_module:FS\n")
    with pytest.MonkeyPatch.context() as patch:  # undone before the path that the fixture set
        patch.syspath_prepend(site)
        rows = json.loads(call("doctor", "--format", "json").stdout)["this_machine"]
    found = {row["ability"]: row for row in rows}
    assert "cannot be loaded from no_such_module:FS" in found["broken"]["found"]
    assert "sshfs" in found and "nfs" in found
