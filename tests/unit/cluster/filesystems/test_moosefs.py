"""MooseFS without a cluster: what a specification may ask, and what its own programs' words mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.filesystems.moosefs import options
from wavetank.cluster.filesystems.moosefs.driver import chunk_servers
from wavetank.cluster.filesystems.moosefs.servers import read_said
from wavetank.cluster.registry import file_system
from wavetank.cluster.spec import ClusterSpec


def spec(servers: int = 2, memory: str = "1 GiB", **file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "t",
            "instance": {"name": "t.small", "memory": memory},
            "nodes": {"compute": 1, "io": servers},
            "file_system": {"kind": "moosefs", **file_system},
        }
    )


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ({"servers": 1, "stripe": {"kind": "replicated"}}, "2 to 9 data servers"),
        ({"stripe": {"kind": "sharded", "size": "4 MiB"}}, "chunks of MooseFS have 64 MiB"),
        ({"stripe": {"kind": "sharded", "count": 1}}, "on any of the 2 data servers"),
        ({"metadata_servers": 2}, "one master"),
        ({"options": {"HDD_TEST_SPEED": 1}}, "master.NAME and chunkserver.NAME"),
        ({"options": {"master.DATA_PATH": "x"}}, "set by wavetank"),
        ({"options": {"chunkserver.WORKERS_MAX": "1\n2"}}, "is not possible: write letters"),
        ({"mount_options": {"mfspassword": "x"}}, "has no such option here"),
        ({"mount_options": {"mfstimeout": "1,ro"}}, "is not possible: write letters"),
        ({"mount_options": {"noatime": 1}}, "write true or false"),
    ],
)
def test_what_moosefs_does_not_have_is_a_finding(asked: dict[str, Any], finding: str) -> None:
    findings = file_system("moosefs").check(spec(**asked))
    assert len(findings) == 1 and finding in findings[0]


def test_a_node_must_have_the_memory_of_all_that_runs_on_it() -> None:
    # 512 MiB of the master and 160 MiB of a chunk server
    findings = file_system("moosefs").check(spec(memory="600 MiB"))
    assert [finding.partition(":")[0] for finding in findings] == [
        "memory of io1 is too small for the master and a chunk server of moosefs"
    ]
    assert "672.0 MiB" in findings[0]


def test_options_asked_for_win_over_ours() -> None:
    asked = spec(
        options={"chunkserver.HDD_SPARSIFY_ON_WRITE": True},
        mount_options={"mfserroronnospace": False, "mfswritecachesize": 32},
    )
    text = options.chunkserver_text(asked, 9, "10.0.0.2", "10.0.0.1", "/storage/own")
    assert "HDD_SPARSIFY_ON_WRITE = 1\n" in text and "LABELS = B,J\n" in text
    # an eighth of 1 GiB
    assert options.mount_words(asked, 2**30) == ["mfswritecachesize=32", "mfsreadaheadsize=128"]


def test_labels_tell_all_servers_apart_that_a_cluster_can_have() -> None:
    assert len({options.label_words(position) for position in range(64)}) == 64


def test_an_option_that_the_servers_do_not_have_is_named_with_those_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "mfsmaster"
    program.write_bytes(b"\0ATIME_MODE\0CHUNKS_LOOP_MIN_TIME\0")
    monkeypatch.setattr(options, "find_program", lambda name: str(program))
    assert options.unknown_options(spec(options={"master.ATIME_MODE": 1})) == []
    assert options.unknown_options(spec(options={"master.ATIME_MODES": 1})) == [
        "file_system.options.master.ATIME_MODES: mfsmaster has no such option (near: ATIME_MODE)"
    ]


# As mfscli 3.0.117 prints it.
SAID = """\
master info:|master version|3.0.117
master info:|total space|629145600
chunk servers:|10.9.0.2|9422|1|A,I|3.0.117|1|maintenance_off|1|54546432|314572800|-|0|0|0
chunk servers:|10.9.0.3|9422|2|A,J|3.0.117|0|maintenance_off|4|84127744|314572800|-|0|0|0

disks:|10.9.0.2:9422:/storage/moosefs/|1|no errors|ok|-|-|-|-|-|-|-|-|54546432|314572800
disks:|10.9.0.3:9422:/storage/moosefs/|4|2026-11-23 23:30:45|damaged|-|-|-|-|-|-|-|-|84127744|314572800
"""


def test_what_the_master_says_is_read() -> None:
    said = read_said(SAID)
    assert said is not None
    assert said.servers == {"10.9.0.2": "3.0.117, labels A,I", "10.9.0.3": "3.0.117, labels A,J"}
    assert said.total_bytes == sum(said.space.values())
    assert list(said.bad_disks) == ["10.9.0.3"] and "damaged" in said.bad_disks["10.9.0.3"]
    assert read_said("Working master servers not found !!!\n") is None


def test_servers_of_each_chunk_are_read() -> None:
    text = (
        "/w/x:\n\tchunk 0: 0000000000000001_00000001 / (id:1 ver:1)\n"
        "\t\tcopy 1: 10.9.0.3:9422 (status:VALID)\n\t\tcopy 2: 10.9.0.2:9422 (status:INVALID)\n\tchunk 1: empty\n"
    )
    assert chunk_servers(text) == [["10.9.0.3"], []]
