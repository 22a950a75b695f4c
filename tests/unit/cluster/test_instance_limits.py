"""Limits of an instance that are left out are the catalogue's; what is written always wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from wavetank.cluster.components import Instance
from wavetank.cluster.notes import notes
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.cluster.state import ClusterState, this_process
from wavetank.document import HostFacts, provenance
from wavetank.errors import SpecError

# c5.large as EC2's DescribeInstanceTypes has it: 2 vCPUs, 4 GiB, 0.75 Gbit/s baseline, EBS 650 Mbit/s and 4000 IOPS
C5_LARGE = {
    "vcpus": 2,
    "memory": 4 * 2**30,
    "network": 750_000_000 // 8,
    "disk_read": 650_000_000 // 8,
    "disk_write": 650_000_000 // 8,
    "disk_read_iops": 4000,
    "disk_write_iops": 4000,
}
NO_DISK: dict[str, None] = {key: None for key in C5_LARGE if key.startswith("disk")}
SMALL = HostFacts(hostname="h", kernel="6.1", machine="x86_64", cpu_model=None, n_cpus=2, memory_bytes=24 * 2**30)  # fmt: skip
LARGE = SMALL.model_copy(update={"n_cpus": 128, "memory_bytes": 1024 * 2**30})


def cluster(instance: Any, **more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": instance,
            "nodes": {"compute": 2, "io": 1},
            "file_system": {"kind": "nfs"},
            **more,
        }
    )


def limits(instance: Instance) -> dict[str, Any]:
    return instance.model_dump(include=set(C5_LARGE))


def test_a_name_alone_has_the_limits_of_the_catalogue() -> None:
    assert limits(cluster({"name": "c5.large"}).instance) == C5_LARGE
    assert limits(cluster(Instance(name="c5.large")).instance) == C5_LARGE


def test_the_io_instance_has_those_of_its_own_name() -> None:
    spec = cluster({"name": "c5.large"}, io_instance={"name": "c5.xlarge"})
    assert spec.instance_of("io1").vcpus == 4
    assert spec.instance_of("c1").vcpus == 2


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [("vcpus", 1, 1), ("memory", "1 GiB", 2**30), ("network", "1 Gbit/s", 125_000_000)],
)
def test_a_value_that_is_written_wins_and_the_others_stay(key: str, value: Any, read: int) -> None:
    assert limits(cluster({"name": "c5.large", key: value}).instance) == {**C5_LARGE, key: read}


def test_who_writes_one_limit_of_the_disk_describes_the_disk() -> None:
    found = limits(cluster({"name": "c5.large", "disk_write": "80 MB/s"}).instance)
    assert found == {**C5_LARGE, **NO_DISK, "disk_write": 80_000_000}


@pytest.mark.parametrize("word", ["none", "no limit", None])
def test_no_limit_can_be_written(word: str | None, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    body = cluster({"name": "x"}).model_dump(mode="json", exclude_unset=True)
    body["instance"] = {"name": "c5.large", "network": word, "disk_read": word}
    file.write_text(yaml.safe_dump(body))
    assert limits(read_spec(file).instance) == {**C5_LARGE, **NO_DISK, "network": None}


def test_other_words_are_no_limits() -> None:
    with pytest.raises(ValueError, match="not a rate"):
        cluster({"name": "c5.large", "network": "unlimited"})


def test_a_name_that_the_catalogue_does_not_have_keeps_what_is_written() -> None:
    found = limits(cluster({"name": "on-premises", "vcpus": 16}).instance)
    assert found == {"vcpus": 16, "memory": 2 * 2**30, "network": None, **NO_DISK}


@pytest.mark.parametrize("provider", ["null", "ssh"])
def test_hosts_that_are_as_they_are_get_no_limits(provider: str) -> None:
    ssh = {"hosts": {"c1": "h"}, "user": "u", "identity_file": "/k", "known_hosts": "/h"}
    more = {"ssh": ssh} if provider == "ssh" else {}
    fs = {"kind": "existing", "path": "/tmp"}
    spec = cluster({"name": "c5.large"}, provider=provider, nodes={"compute": 1}, file_system=fs, **more)  # fmt: skip
    assert spec.instance.network is None


def test_a_cluster_that_is_up_keeps_the_limits_that_it_came_up_with(tmp_path: Path) -> None:
    spec = cluster({"name": "c5.large", "network": "none"})
    state = ClusterState(
        provenance=provenance(), spec=spec, spec_sha256=spec.sha256(), status="up", owner=this_process()
    )  # fmt: skip
    state.write(tmp_path / "cluster.json")
    assert ClusterState.read(tmp_path / "cluster.json").spec == spec


def test_the_hash_is_that_of_the_limits_wherever_they_come_from() -> None:
    short = cluster({"name": "c5.large"})
    long = cluster({"name": "c5.large", **C5_LARGE})
    assert short.sha256() == long.sha256()
    assert short.sha256() != cluster({"name": "c5.large", "network": "none"}).sha256()
    assert short.sha256() != cluster({"name": "c5.xlarge"}).sha256()


def test_notes_name_the_catalogue_s_limits_and_what_is_not_emulated() -> None:
    (note,) = notes(cluster({"name": "c5.large"}), LARGE)
    for words in ("4.0 GiB", "93.8 MB/s (baseline; bursts to 1.2 GB/s", "81.2 MB/s and 4,000 IOPS"):
        assert words in note


def test_notes_say_what_the_catalogue_does_not_know() -> None:
    (disk, local) = notes(cluster({"name": "c3.large"}), LARGE)
    assert "no limit of its disk, which the catalogue does not know" in disk
    assert "2 x 16 GB of local disks" in local
    (unknown,) = notes(cluster({"name": "c5.lage"}), LARGE)
    assert "no limit of network and disk" in unknown
    assert "misspelt: c5.large" in unknown
    assert any("CPU credits" in note for note in notes(cluster({"name": "t3.large"}), LARGE))


def test_limits_that_the_machine_cannot_hold_are_said() -> None:
    found = "\n".join(notes(cluster({"name": "c5.9xlarge"}), SMALL))  # 72 GiB, 36 vCPUs, 12 Gbit/s
    assert "memory 72.0 GiB of c5.9xlarge is more than the 24.0 GiB of this machine" in found
    assert "36 vCPUs of c5.9xlarge are more than the 2" in found
    assert "network 1.5 GB/s of c5.9xlarge may be more" in found
    scaled = "\n".join(notes(cluster({"name": "c5.9xlarge"}, scale=10), SMALL))
    assert "may be more than this machine moves" not in scaled
    assert "memory 72.0 GiB" in scaled  # scale divides rates only
    # three nodes of 15 GiB on a machine of 24 GiB
    together = "\n".join(notes(cluster({"name": "c3.2xlarge"}), SMALL))
    assert "45.0 GiB of memory together" in together


def test_wrong_keys_are_still_said_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        "name: lab\ninstance: {name: c5.large, netwrok: 1, memory: 1 MiB}\nnodes: {compute: 1, io: 1}\nfile_system: {kind: nfs}\n"
    )
    with pytest.raises(SpecError, match="netwrok"):
        read_spec(tmp_path / "lab.yaml")
