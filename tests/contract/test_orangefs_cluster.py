"""OrangeFS as it is deployed, where its programs are installed: layouts as its own programs say them, and faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_clusters import spec_of
from leftovers import Traces, skip_unless_possible

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.orangefs.driver import STATE
from wavetank.cluster.host import on_all
from wavetank.cluster.spec import ClusterSpec

pytestmark = [pytest.mark.cluster, pytest.mark.optional]


def spec_with(
    suffix: str, nodes: dict[str, int], layout: str = "striped", **file_system: Any
) -> ClusterSpec:
    said = spec_of("local-orangefs", suffix).model_dump(mode="json")
    said["nodes"] = nodes
    said["layout"] = layout
    said["file_system"] |= file_system
    return ClusterSpec.model_validate(said)


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    yield tmp_path


def test_strips_go_over_as_many_servers_as_asked_and_metadata_where_asked(traces: Path) -> None:
    spec = spec_with(
        "strips", {"compute": 1, "io": 3, "head": 1},
        stripe={"kind": "sharded", "size": 131072, "count": 2}, metadata_placement="head",
        options={"TroveSyncData": True, "FlowBufferSizeBytes": 524288},
    )  # fmt: skip
    skip_unless_possible(spec)
    with deploy.deployed(spec) as cluster:
        placed = cluster.place_files({"in/file": 1_000_000})["in/file"]
        assert placed.startswith("simple_stripe strip_size:131072 on io")
        assert placed.count("io") == 2
        # 1,000,000 bytes in strips of 131,072 over two servers: strips 0 2 4 6 and 1 3 5 7, the last of 82,496
        kept = on_all(
            cluster.io_hosts,
            lambda host: host.run(
                [
                    "sh",
                    "-c",
                    "find /storage/orangefs-data -name '*.bstream' -size +100k -printf '%s '",
                ]
            ).stdout.split(),
        )
        assert sorted(size for sizes in kept for size in sizes) == ["475712", "524288"]
        settings = cluster.settings()
        assert settings["metadata servers"] == "h1"
        assert settings["orangefs TroveSyncData"] == "yes"
        assert settings["orangefs FlowBufferSizeBytes"] == "524288"
        assert settings["layout of a new file"].startswith(
            "simple_stripe strip_size:131072, 2 datafiles"
        )
    assert Traces(traces, spec.name).left() == []


def test_each_file_goes_to_a_server_of_its_own_when_asked(traces: Path) -> None:
    spec = spec_with("own", {"compute": 1, "io": 2}, layout="one-server-per-file")
    skip_unless_possible(spec)
    with deploy.deployed(spec) as cluster:
        placed = cluster.place_files({"one": 300_000, "d/two": 400_000, "three": 1})
        assert [text.rpartition(" on ")[2] for text in placed.values()] == ["io1", "io2", "io1"]
        assert "wavetank-" not in cluster.compute_hosts[0].run(["find", cluster.mount_path]).stdout


def test_a_dead_server_is_noticed_and_the_cluster_goes_down_clean(traces: Path) -> None:
    spec = spec_with("dead", {"compute": 1, "io": 2})
    skip_unless_possible(spec)
    with deploy.deployed(spec) as cluster:
        cluster.io_hosts[1].run(["sh", "-c", f"kill -9 $(cat {STATE}/server.pid)"])
        until(cluster.health, "a finding")
        assert any("io2" in finding and "pvfs2-server" in finding for finding in cluster.health())
    assert Traces(traces, spec.name).left() == []


def test_what_was_removed_can_be_installed_again(traces: Path) -> None:
    spec = spec_with("again", {"compute": 1, "io": 1})
    skip_unless_possible(spec)
    with deploy.deployed(spec) as cluster:
        cluster.place_files({"file": 1000})
        for _ in range(2):
            cluster.file_system.remove(cluster.site)
        left = cluster.io_hosts[0].run(["sh", "-c", "ls -A /storage; pidof pvfs2-server || true"])
        assert left.stdout == ""
        cluster.file_system.install(cluster.site)
        cluster.file_system.mount(cluster.site)
        assert cluster.health() == []
        assert cluster.compute_hosts[0].run(["ls", "-A", cluster.mount_path]).stdout.split() in (
            [],
            ["lost+found"],
        )
