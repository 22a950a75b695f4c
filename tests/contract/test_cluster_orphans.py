"""Clusters whose directory was deleted while they were up: found by their names, ended when asked to, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract_clusters import spec_of
from leftovers import Traces, skip_unless_possible

from wavetank.cluster import deploy
from wavetank.cluster.namespaces import user
from wavetank.cluster.namespaces.orphans import find_orphans
from wavetank.cluster.remote import host
from wavetank.cluster.state import directory_of

pytestmark = [pytest.mark.cluster]

WAVETANK = str(Path(sys.executable).parent / "wavetank")


def wavetank(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [WAVETANK, "cluster", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def left_of(name: str, *words: str) -> dict[str, str]:
    """Kind of what is left of a cluster -> what became of it, as prune says."""
    rows = json.loads(wavetank("prune", *words, "--format", "json").stdout)["left_of_clusters"]
    return {row["kind"]: row["state"] for row in rows if row["cluster"] == name}


def test_what_is_left_of_a_deleted_directory_is_ended_and_other_clusters_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, stays = spec_of("local-nfs", "lost"), spec_of("local-none", "stays")
    skip_unless_possible(lost)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    with deploy.deployed(stays) as other:
        deploy.bring_up(lost)
        traces = Traces(tmp_path / "state", lost.name)
        traces.note_processes()
        shutil.rmtree(directory_of(lost.name).path)
        # the name is free again, and its new cluster is not what is left of the old one
        with deploy.deployed(lost) as again:
            said = wavetank("list").stderr
            assert f"{lost.name}" in said and "wavetank cluster prune" in said
            expected = dict.fromkeys(("control group", "loop device"), "left")
            assert left_of(lost.name, "--dry-run") == expected
            assert left_of(lost.name) == dict.fromkeys(expected, "ended")
            assert left_of(lost.name) == {}
            assert again.health() == []
        assert traces.left() == []
        assert other.health() == []


def test_a_cluster_whose_journal_is_gone_is_said_by_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("local-none", "unwritten")
    skip_unless_possible(spec)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    deploy.bring_up(spec)
    traces = Traces(tmp_path / "state", spec.name)
    for path in directory_of(spec.name).path.iterdir():
        path.unlink() if path.is_file() else None
    assert spec.name in wavetank("down", spec.name).stderr.partition("things are left")[2]
    wavetank("prune")
    assert traces.left() == []


def test_what_another_machines_cluster_runs_here_over_ssh_is_nobodys_orphan() -> None:
    """Its journal is where it was brought up."""
    home = "/storage/wavetank-there-0a1b2c3d"
    found = []
    for mark in (host.MARK, user.MARK):
        with subprocess.Popen(["sleep", "infinity"], env={**os.environ, mark: home}) as process:
            try:
                found.append(any(process.pid in orphan.pids for orphan in find_orphans()))
            finally:
                process.kill()
    assert found == [False, True]
