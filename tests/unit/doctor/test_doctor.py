"""What the doctor says of machines that lack something."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank import doctor, native
from wavetank.cli.doctor import command


def finding(ability: str) -> doctor.Finding:
    return next(found for found in doctor.examine() if found.ability == ability)


def test_whatever_is_missing_comes_with_its_cost_and_its_remedy() -> None:
    for found in doctor.examine():
        assert found.state == "ok" or (found.cost and found.remedy), found


def test_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_path", lambda: str(tmp_path))
    found = finding("glusterfs servers")
    assert found.state == "missing"
    assert found.remedy == "apt-get install glusterfs-server"


def test_an_unprivileged_user_is_told_what_root_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = finding("root")
    assert found.state == "missing"
    assert "everything else works" in found.cost


def test_a_kernel_without_nfs_uses_our_mount_where_it_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_kernel_has", lambda name: False)
    monkeypatch.setattr(native, "available", lambda name: name == "bin/wavetank-nfs-mount")
    assert finding("NFS client").found == "our FUSE mount; the kernel has none"


def test_a_module_that_modprobe_knows_counts_as_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    class Done:
        returncode = 0

    def run(argv: list[str], **_: object) -> Done:
        asked.append(argv)
        return Done()

    monkeypatch.setattr(doctor.shutil, "which", lambda name, path: f"/sbin/{name}")
    assert doctor._kernel_has("no-such-file-system", run)  # type: ignore[arg-type]
    assert asked[0][-1] == "no-such-file-system"


def test_areas_are_not_torn_apart() -> None:
    areas = [found.area for found in doctor.examine()]
    assert areas == sorted(areas, key=areas.index)


def test_without_the_c_parts_the_command_fails_and_says_how_to_build_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "available", lambda name: False)
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 1
    assert "make setup" in str(result.exception)


def test_json_holds_every_finding() -> None:
    result = CliRunner().invoke(command, ["--format", "json"])
    rows = json.loads(result.stdout)["this_machine"]
    assert [row["ability"] for row in rows] == [found.ability for found in doctor.examine()]
