"""What the doctor says of machines that lack something."""

from __future__ import annotations

import json
import os
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank import native, programs
from wavetank.cli.doctor import command
from wavetank.cluster import registry
from wavetank.cluster.filesystems.base import needs_by_node
from wavetank.cluster.filesystems.nfs_export import nfs_mount
from wavetank.cluster.namespaces import user
from wavetank.cluster.spec import ClusterSpec
from wavetank.doctor import finding as looking
from wavetank.doctor import software
from wavetank.doctor.examination import examine
from wavetank.doctor.finding import Finding


def finding(ability: str) -> Finding:
    return next(found for found in examine() if found.ability == ability)


def test_whatever_is_missing_comes_with_its_cost_and_its_remedy() -> None:
    for found in examine():
        assert found.state == "ok" or (found.cost and found.remedy), found


def test_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    found = finding("glusterfs")
    assert found.state == "missing" and "glusterd" in found.found
    assert "apt-get install glusterfs-server" in found.remedy


@pytest.mark.parametrize("in_path", [True, False])
@pytest.mark.parametrize("in_system", [True, False])
def test_doctor_and_driver_find_programs_in_the_same_places(
    in_path: bool, in_system: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, has in (("system", in_system), ("own", in_path)):
        (tmp_path / name).mkdir()
        if has:
            program = tmp_path / name / "ganesha.nfsd"
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path / "system"))
    monkeypatch.setenv("PATH", str(tmp_path / "own"))
    spec = ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "t.small"},
            "nodes": {"compute": 1, "io": 1},
            "file_system": {"kind": "nfs"},
        }
    )
    needs = needs_by_node(registry.file_system("nfs"), spec)["io1"]
    reported = finding("nfs")
    lacking = reported.found if reported.state == "missing" else ""
    missed = any("ganesha.nfsd" in said.what for said in needs.missing_here())
    assert missed == ("ganesha.nfsd" in lacking) == (not (in_path or in_system))


@pytest.mark.parametrize("kind", ["nfs", "glusterfs", "cephfs", "gateway", "orangefs"])
def test_every_file_system_is_reported_with_what_its_driver_needs(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    found = finding(kind)
    assert found.state == "missing" and found.cost == f"no {kind} clusters"


def test_a_user_is_told_what_root_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(user, "reason_against", lambda: "Operation not permitted")
    found = finding("root")
    assert found.state == "missing" and "Operation not permitted" in found.found
    assert "everything else works" in found.cost


def test_a_user_with_namespaces_is_told_what_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(user, "reason_against", lambda: None)
    found = finding("root")
    assert found.state == "limited" and "orangefs or none" in found.cost


def test_without_a_client_in_the_kernel_nfs_needs_our_mount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nfs_mount, "has_kernel_client", lambda: False)
    monkeypatch.setattr(native, "available", lambda name: False)
    found = finding("nfs")
    assert found.state == "missing" and nfs_mount.MOUNT_PROGRAM in found.found


def test_a_module_that_modprobe_knows_counts_as_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    class Done:
        returncode = 0

    def run(argv: list[str], **_: object) -> Done:
        asked.append(argv)
        return Done()

    monkeypatch.setattr(looking, "find_program", lambda name: f"/sbin/{name}")
    assert looking.kernel_has("no-such-file-system", run)  # type: ignore[arg-type]
    assert asked[0][-1] == "no-such-file-system"


def test_areas_are_not_torn_apart() -> None:
    areas = [found.area for found in examine()]
    assert areas == sorted(areas, key=areas.index)


def test_without_the_c_parts_the_command_fails_and_says_how_to_build_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "built", lambda name: False)
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 1
    assert "make setup" in str(result.exception)


def test_json_holds_every_finding() -> None:
    result = CliRunner().invoke(command, ["--format", "json"])
    rows = json.loads(result.stdout)["this_machine"]
    assert [row["ability"] for row in rows] == [found.ability for found in examine()]


@pytest.mark.parametrize(
    ("said", "state", "found"),
    [
        (None, "missing", "not found"),
        ("echo slurm-wlm 22.05.8", "ok", "slurm-wlm 22.05.8"),
        ("echo 'srun: fatal: no source' >&2; exit 1", "limited", "(srun: fatal: no source)"),
    ],
)
def test_slurm_without_a_configuration_is_not_called_missing(
    said: str | None, state: str, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "SYSTEM_PATH", "/nowhere")
    monkeypatch.setenv("PATH", str(tmp_path))
    if said is not None:
        (tmp_path / "srun").write_text(f"#!/bin/sh\n{said}\n")
        (tmp_path / "srun").chmod(0o755)
    (seen,) = (each for each in software.slurm() if each.ability == "launcher srun")
    assert seen.state == state and found in seen.found
    assert state == "ok" or (seen.cost and seen.remedy)


def test_each_importer_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from wavetank.trace.importers import libdarshan
    from wavetank.trace.open import importer_names

    def rows() -> dict[str, Finding]:
        return {f.ability: f for f in examine() if f.ability.endswith(" logs")}

    assert list(rows()) == [f"{name} logs" for name in importer_names()]
    monkeypatch.setattr(libdarshan.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(libdarshan, "find_library", lambda name: None)
    found = rows()["darshan logs"]
    assert found.state == "missing"
    assert found.remedy == "pip install darshan"
    assert rows()["strace logs"].state == "ok"


def test_a_pydarshan_without_its_library_is_not_to_be_installed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where PyPI has no wheel for a Python or machine, pip installs the source, which has no library."""
    from wavetank.trace.importers import libdarshan

    spec = ModuleSpec("darshan", None, origin=str(tmp_path / "darshan" / "__init__.py"))
    monkeypatch.setattr(libdarshan.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(libdarshan, "find_library", lambda name: None)
    (found,) = (each for each in examine() if each.ability == "darshan logs")
    assert found.state == "missing"
    assert "darshan-util" in found.remedy and "pip install" not in found.remedy
