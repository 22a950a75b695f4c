"""State and journal: what a killed process leaves is found, and no stranger is taken for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wavetank.cluster import deploy
from wavetank.cluster.namespaces import user
from wavetank.cluster.namespaces.host import NamespaceHost, dead_daemons, end_daemons
from wavetank.cluster.namespaces.provider import NamespaceProvider
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import (
    Owner,
    directories,
    directory_of,
    is_alive,
    start_ticks,
    this_process,
)
from wavetank.errors import ClusterError, SpecError

SPEC = ClusterSpec.model_validate(
    {
        "name": "lab",
        "provider": "null",
        "instance": {"name": "x"},
        "nodes": {"compute": 1},
        "file_system": {"kind": "none"},
    }
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_name_is_claimed_once() -> None:
    directory_of("lab").claim()
    with pytest.raises(ClusterError, match="a cluster named lab exists already"):
        directory_of("lab").claim()


def test_a_journal_that_was_cut_short_keeps_its_whole_lines() -> None:
    directory = directory_of("lab")
    directory.claim()
    directory.note(do="cgroup", path="wavetank/lab-1")
    with (directory.path / "journal.jsonl").open("a") as journal:
        journal.write('{"do": "image", "pa')
    assert directory.journal() == [{"do": "cgroup", "path": "wavetank/lab-1"}]


def test_a_later_process_of_the_same_number_is_no_owner() -> None:
    me = this_process()
    assert is_alive(me)
    assert not is_alive(Owner(pid=me.pid, start_ticks=me.start_ticks - 1))


def test_a_cluster_that_a_living_process_brings_up_is_not_taken_down_under_it() -> None:
    directory = directory_of("lab")
    directory.claim()
    deploy._write_state(directory, SPEC, "starting")
    text = directory.state_file.read_text()
    other = subprocess.Popen(["sleep", "100000"])
    try:
        mine, ticks = this_process().pid, this_process().start_ticks
        text = text.replace(f'"pid": {mine}', f'"pid": {other.pid}')
        directory.state_file.write_text(
            text.replace(f'"start_ticks": {ticks}', f'"start_ticks": {start_ticks(other.pid)}')
        )
        with pytest.raises(ClusterError, match=f"being brought up by process {other.pid}"):
            deploy.take_down("lab")
    finally:
        other.kill()
        other.wait()
    deploy.take_down("lab")
    assert not directory.path.exists()


def test_a_name_that_was_only_claimed_is_taken_down() -> None:
    directory_of("lab").claim()
    deploy.take_down("lab")
    assert directories() == []


def test_taking_down_or_finding_what_is_not_there_says_so() -> None:
    with pytest.raises(ClusterError, match="no cluster is called 'lab'"):
        deploy.take_down("lab")
    with pytest.raises(ClusterError, match="no cluster is called 'lab'; there are: none"):
        deploy.find("lab")


def test_what_cannot_come_up_is_refused_before_anything_is_made(state: Path) -> None:
    nfs = {"kind": "nfs", "options": {"warp": 9}}
    body = SPEC.model_dump() | {"nodes": {"compute": 1, "io": 1}, "file_system": nfs}
    with pytest.raises(SpecError, match=r"(?s)provider null has no nodes.*nfs has no such option"):
        deploy.bring_up(ClusterSpec.model_validate(body))
    assert not state.exists()


def test_a_failed_bring_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, site: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wavetank.cluster.filesystems.none.driver.NoFileSystem.mount", fails)
    with pytest.raises(KeyboardInterrupt):
        deploy.bring_up(SPEC)
    assert directories() == []


@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        ("none", None, None),
        ("nfs", None, "file_system nfs needs root: without it, provider local has orangefs, none"),
        (
            "none",
            "unshare: not permitted",
            "needs root here, as users cannot make namespaces (unshare",
        ),
    ],
)
def test_without_root_the_local_provider_says_what_needs_it(
    kind: str, reason: str | None, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(user, "reason_against", lambda: reason)
    said = SPEC.model_dump(mode="json")
    said |= {
        "provider": "local",
        "file_system": {"kind": kind, "placement": "compute"},
    }
    findings = [
        found
        for found in NamespaceProvider().check(ClusterSpec.model_validate(said))
        if "root" in found
    ]
    assert findings == [] if words is None else len(findings) == 1 and words in findings[0]


def test_only_daemons_of_the_cluster_are_ended(tmp_path: Path) -> None:
    host = NamespaceHost("c1", "127.0.0.1", ("env",), tmp_path, None)
    stranger = subprocess.Popen(["sleep", "100000"], start_new_session=True)
    host.start(["sleep", "100000"], log="ours")
    ours = int(json.loads((tmp_path / "daemons.jsonl").read_text())["pid"])
    with (tmp_path / "daemons.jsonl").open(
        "a"
    ) as journal:  # a number that was given out again since
        journal.write(
            f'{{"node": "c1", "log": "old", "program": "x", "pid": {stranger.pid}, "start": 1}}\n'
        )
    assert dead_daemons(tmp_path) == ["c1: x (old) died: it wrote nothing"]
    end_daemons(tmp_path)
    assert start_ticks(ours) is None
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_log_name_cannot_leave_the_clusters_directory(tmp_path: Path) -> None:
    host = NamespaceHost("c1", "127.0.0.1", ("env",), tmp_path, None)
    with pytest.raises(ClusterError, match="is no name of a log"):
        host.start([sys.executable], log="../../x")
