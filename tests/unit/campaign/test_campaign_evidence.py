"""What campaigns say of one kernel, and what they do not."""

from __future__ import annotations

import pytest
import yaml
from measure_fakes import abyss_kernel
from need_campaigns import measured

from wavetank.campaign.evidence import evidence_of
from wavetank.campaign.served import Served, served_by
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import MeasurementError
from wavetank.measure.statistics import against_limit, estimate
from wavetank.notes import note


@pytest.fixture(autouse=True)
def _comes_up(monkeypatch):
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])


def spec(kind="glusterfs", io=2, storage=None, fs=None, **more):
    return ClusterSpec.model_validate(
        {
            "name": "a",
            "instance": {"name": "c3.2xlarge", "vcpus": 8},
            "nodes": {"compute": 2, "io": io},
            "file_system": {"kind": kind, **(fs or {})},
            "storage": storage or {},
            **more,
        }
    )


@pytest.mark.parametrize(
    ("cluster", "served"),
    [
        (spec("nfs", 1), Served("nfs", 1, 1, None, 0)),
        (spec(), Served("glusterfs", 2, 1, None, 0)),
        (spec(fs={"servers": 1}), Served("glusterfs", 1, 1, None, 0)),
        (spec(storage={"devices": 3}), Served("glusterfs", 2, 3, None, 0)),
        (
            spec(io=3, fs={"stripe": {"kind": "sharded", "size": "4 MiB"}}),
            Served("glusterfs", 3, 1, 4 * 2**20, 0),
        ),
        (spec(fs={"stripe": {"kind": "replicated"}}), Served("glusterfs", 2, 1, None, 1)),
    ],
)
def test_a_cluster_is_said_as_servers_devices_stripe_and_copies(cluster, served):
    assert served_by(cluster) == served


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        (spec("none", 0), "no data servers"),
        (spec(fs={"placement": "compute"}), "nodes that do other things"),
        (spec(layout="one-server-per-file"), "1DFx1F"),
        (spec(fs={"options": {"performance.io-cache": "on"}}), "options were set: performance"),
        (spec(io=3, fs={"stripe": {"kind": "disperse", "redundancy": 1}}), "erasure coded"),
        (spec(storage={"devices": 2, "devices_as": "raid0"}), "RAID 0"),
        (spec(storage={"local_file_system": "ext4"}), "ext4, not xfs"),
    ],
)
def test_what_no_space_can_be_like_is_said_with_its_reason(cluster, reason):
    assert reason in served_by(cluster)


def test_the_same_kernel_counts_with_where_when_and_by_what_it_was_measured(tmp_path):
    folder = measured(tmp_path / "a", [1.0, 1.2, 1.1])
    (found,), notes = evidence_of(abyss_kernel(), [folder, folder])  # named twice, read once
    assert notes == ()
    assert found.configuration.io_time_s.median == pytest.approx(1.1)
    assert found.served == Served("nfs", 1, 1, None, 0)
    assert found.reservations == {}
    assert found.where == "NFS, 1PxCN on 2 c3.2xlarge, servers c3.2xlarge"
    assert found.origin.startswith(f"{folder}: 3 runs until 20")


def test_another_kernel_does_not_count_whatever_its_name_is(tmp_path):
    folder = measured(tmp_path / "a", [1.0, 1.2])
    found, notes = evidence_of(abyss_kernel(weight=28_000_000), [folder])
    assert found == ()
    assert notes == (f"{folder}: ABYSS-P is another kernel, by its hash",)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"flush": False}, "what is written was not flushed"),
        ({"applications": [{"kernel": "k.json"}], "flush": False}, "another way"),
    ],
)
def test_a_kernel_that_was_performed_in_another_way_does_not_count(tmp_path, keys, words):
    folder = measured(tmp_path / "a", [1.0, 1.2], **keys)
    found, (note,) = evidence_of(abyss_kernel(), [folder])
    assert found == () and words in note


def test_limits_and_warm_caches_are_reservations(tmp_path):
    folder = measured(tmp_path / "a", [1.0, 1.2], emulated=True, cache="warm")
    (found,), _ = evidence_of(abyss_kernel(), [folder])
    assert set(found.reservations) == {"emulated", "caches"}
    assert "limits of c3.2xlarge" in found.reservations["emulated"]
    doubted = found.configuration.model_copy(
        update={"notes": (note("suspect", "cluster", "glusterd died."),)}
    )
    found = type(found)(**{**vars(found), "configuration": doubted})
    assert found.reservations["doubts"] == "glusterd died"


def test_a_folder_without_results_or_without_its_kernels_is_refused(tmp_path):
    with pytest.raises(MeasurementError, match="holds no campaign results"):
        evidence_of(abyss_kernel(), [tmp_path])
    folder = measured(tmp_path / "a", [1.0, 1.2])
    (folder / "campaign.yaml").unlink()
    with pytest.raises(MeasurementError, match=r"campaign\.yaml is missing"):
        evidence_of(abyss_kernel(), [folder])


def test_the_kernel_is_known_by_what_it_does_and_not_by_its_file(tmp_path):
    folder = measured(tmp_path / "a", [1.0, 1.2], applications=[{"kernel": "k.json", "name": "X"}])
    body = yaml.safe_load((folder / "campaign.yaml").read_text())
    assert body["applications"][0]["name"] == "X"
    other = abyss_kernel().model_copy(update={"model_sha256": "9" * 64})  # of another trace
    (found,), _ = evidence_of(other, [folder])
    assert found.configuration.application == "X"


def test_a_limit_is_held_against_the_ends_of_the_interval():
    # Of six runs the ends are the smallest and the largest: 1 and 6; the median is 3.5.
    six = estimate([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert [against_limit(six, limit) for limit in (6.0, 5.9, 1.0, 0.9)] == [
        "within",
        "cannot be told",
        "cannot be told",
        "beyond",
    ]
    assert against_limit(estimate([1.0]), 100.0) == "cannot be told"
