"""Volumes and devices of nodes: what is refused, what each can do, and which limit holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster import deploy
from wavetank.cluster.components import Storage
from wavetank.cluster.devices import device_paths, volume_rates
from wavetank.cluster.notes import notes
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.document import HostFacts
from wavetank.errors import SpecError

LARGE = HostFacts(hostname="h", kernel="6.1", machine="x86_64", cpu_model=None, n_cpus=128, memory_bytes=2**40)  # fmt: skip
MIB = 2**20
C5_LARGE_EBS = 650_000_000 // 8  # its baseline, bytes per second


def cluster(storage: dict[str, Any], instance: str = "c5.large", **more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": instance},
            "nodes": {"compute": 2, "io": 1},
            "file_system": {"kind": "nfs"},
            "storage": storage,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("storage", "rate_mib", "iops"),
    [
        ({"volume_type": "gp3", "size": "100 GiB"}, 125, 3000),
        ({"volume_type": "gp3", "size": "100 GiB", "iops": 8000, "throughput": "600 MiB/s"}, 600, 8000),
        # 3 IOPS for each GiB, 256 KiB each: 300 IOPS move 75 MiB/s
        ({"volume_type": "gp2", "size": "100 GiB"}, 75, 300),
        ({"volume_type": "gp2", "size": "2 GiB"}, 25, 100),
        ({"volume_type": "gp2", "size": "8 TiB"}, 250, 16_000),
        ({"volume_type": "io2", "size": "100 GiB", "iops": 2000}, 500, 2000),
        ({"volume_type": "io2", "size": "100 GiB", "iops": 100_000}, 4000, 100_000),
        # 40 MiB/s for each TiB
        ({"volume_type": "st1", "size": "2 GiB", "volume_size": "2 TiB"}, 80, 500),
        ({"volume_type": "st1", "size": "16 TiB"}, 500, 500),
    ],
)  # fmt: skip
def test_a_volume_does_for_long_what_its_type_and_what_is_bought_say(
    storage: dict[str, Any], rate_mib: int, iops: int
) -> None:
    assert volume_rates(Storage(on="ebs", **storage)) == (rate_mib * MIB, iops)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ({"volume_type": "gp3"}, "storage.volume_type only has a meaning with storage.on: ebs"),
        ({"on": "instance", "iops": 4000}, "storage.iops only has a meaning with storage.on: ebs"),
        ({"on": "ebs", "volume_type": "st1"}, "a volume of st1 holds 125.0 GiB to 16.0 TiB"),
        ({"on": "ebs", "volume_type": "io2", "size": "8 GiB"}, "storage.iops is required of io2"),
        ({"on": "ebs", "volume_type": "io2", "size": "4 GiB", "iops": 5000}, "more than the 4,000"),
        ({"on": "ebs", "iops": 2000}, "gp3 has 3,000 to 80,000"),
        ({"on": "ebs", "iops": 4000}, "more than the 3,000 of a volume of gp3"),
        ({"on": "ebs", "volume_type": "gp2", "iops": 3000}, "come with its capacity"),
        ({"on": "ebs", "throughput": "100 MiB/s"}, "gp3 has"),
        ({"on": "ebs", "throughput": "1000 MiB/s"}, "needs 4,000 IOPS of gp3"),
        ({"on": "ebs", "volume_type": "gp2", "throughput": "200 MiB/s"}, "only gp3"),
        ({"on": "ebs", "size": "2 GiB", "volume_size": "1 GiB"}, "is less than size 2.0 GiB"),
        ({"on": "instance"}, "c5.large has no disks of its own"),
    ],
)
def test_what_cannot_be_had_is_named(storage: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        cluster(storage)


def test_disks_of_the_instance_are_as_many_and_as_large_as_it_has() -> None:
    assert cluster({"on": "instance", "devices": 2}, "i3.4xlarge").storage.devices == 2
    with pytest.raises(ValueError, match=r"asks for 3, and i3\.4xlarge has 2 disks"):
        cluster({"on": "instance", "devices": 3}, "i3.4xlarge")
    with pytest.raises(ValueError, match="is more than the"):
        cluster({"on": "instance", "size": "2 TiB"}, "i3.large")  # 475 GB
    # of a type that is not in the catalogue nothing is known
    assert cluster({"on": "instance", "devices": 3}, "our-node").storage.devices == 3


def test_the_smaller_of_volume_and_instance_is_the_limit() -> None:
    by_instance = cluster({"on": "ebs"})
    assert by_instance.disk_rates("io1", by_instance.storage) == {
        "read": C5_LARGE_EBS,
        "write": C5_LARGE_EBS,
        "read_iops": 3000,
        "write_iops": 3000,
    }
    by_volume = cluster({"on": "ebs", "volume_type": "st1", "volume_size": "1 TiB"})
    assert by_volume.disk_rates("io1", by_volume.storage)["read"] == 40 * MIB


def test_devices_share_what_the_instance_has_in_equal_parts() -> None:
    spec = cluster({"on": "ebs", "devices": 4})
    rates = spec.disk_rates("io1", spec.storage)
    assert rates["write"] == C5_LARGE_EBS // 4
    assert rates["write_iops"] == 1000  # 4000 of the instance, of a volume's 3000


def test_a_limit_that_is_written_wins() -> None:
    spec = cluster({"on": "ebs", "read": "10 MB/s"})
    assert spec.disk_rates("io1", spec.storage)["read"] == 10_000_000


def test_disks_of_the_instance_have_no_limit_of_volumes() -> None:
    spec = cluster({"on": "instance"}, "i3.large")
    assert spec.disk_rates("io1", spec.storage) == {}
    spec = cluster({"on": "instance", "read": "400 MB/s"}, "i3.large")
    assert spec.disk_rates("io1", spec.storage) == {"read": 400_000_000}


def test_without_the_new_keys_a_specification_is_what_it_was() -> None:
    assert (
        cluster({}).sha256() == "ba0419dd1670220f00fb62d5672e3aca6860c1180b514e33ef5e0f092eae2128"
    )


def test_notes_say_what_of_devices_is_emulated() -> None:
    def said(spec: ClusterSpec) -> str:
        return "\n".join(notes(spec, LARGE))

    on_disks = said(cluster({"on": "instance"}, "i3.large", placement="cluster"))
    assert "own disks, whose rates are not published: no limit" in on_disks
    assert "placement cluster is not emulated" in on_disks
    on_volumes = said(cluster({"on": "ebs", "devices": 2, "volume_type": "gp2"}))
    assert "gp2" in on_volumes and "100 IOPS" in on_volumes
    assert "reads and writes have that limit each" in on_volumes
    assert "equal parts" in on_volumes
    assert "volume" not in said(cluster({}, "our-node"))


def test_on_is_a_key_in_a_file_as_it_is_written(tmp_path: Path) -> None:
    # in YAML 1.1 the bare word is a boolean
    text = (
        "name: lab\ninstance: {name: c5.large}\nnodes: {compute: 1, io: 1}\nfile_system: {kind: glusterfs, "
        "options: {cluster.eager-lock: on}}\nstorage: {on: ebs}\n"
    )
    (tmp_path / "lab.yaml").write_text(text)
    spec = read_spec(tmp_path / "lab.yaml")
    assert spec.storage.on == "ebs"
    assert spec.file_system.options == {"cluster.eager-lock": True}
    (tmp_path / "lab.yaml").write_text(text.replace("on: ebs", "on: ebs, on: instance"))
    with pytest.raises(SpecError, match="'on' stands twice"):
        read_spec(tmp_path / "lab.yaml")


def test_each_device_that_is_a_server_of_its_own_has_a_place() -> None:
    assert device_paths(Storage(), "/storage") == ("/storage",)
    assert device_paths(Storage(devices=3), "/storage") == ("/storage", "/storage2", "/storage3")
    assert device_paths(Storage(devices=3, devices_as="raid0"), "/storage") == ("/storage",)


@pytest.mark.parametrize(
    ("file_system", "said"),
    [
        (
            {"kind": "nfs", "capacity": "1200 GiB"},
            "capacity only has a meaning with kind: efs or fsx-lustre",
        ),
        ({"kind": "nfs", "throughput": "elastic"}, "throughput only has a meaning with kind: efs"),
        ({"kind": "fsx-lustre", "capacity": "2000 GiB"}, "1200 GiB, 2400 GiB and multiples"),
        ({"kind": "fsx-lustre", "capacity": 0}, "1200 GiB, 2400 GiB and multiples"),
        ({"kind": "fsx-lustre", "throughput_per_tib": 250}, "with deployment: PERSISTENT_2"),
        ({"kind": "fsx-lustre", "servers": 2}, "fsx-lustre, which has no data servers"),
        ({"kind": "efs", "throughput": "1 kB/s"}, "1 to 3414 MiB/s"),
        ({"kind": "manila-share"}, "capacity is needed with kind: manila-share"),
        ({"kind": "manila-share", "capacity": "1500 MiB"}, "shares of Manila have whole GiB"),
    ],
)
def test_keys_of_managed_file_systems_fit_together(file_system: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        cluster({}, file_system=file_system)


@pytest.mark.parametrize(
    ("kind", "maker"), [("efs", "aws"), ("fsx-lustre", "aws"), ("manila-share", "openstack")]
)
def test_a_managed_file_system_does_not_come_up_here(kind: str, maker: str) -> None:
    size = {"capacity": "10 GiB"} if kind == "manila-share" else {}
    spec = cluster({}, file_system={"kind": kind, **size}, provider="null")
    said = f"is made by provider {maker}, not null"
    assert any(said in finding for finding in deploy.check(spec))


def test_devices_that_nobody_makes_are_refused() -> None:
    spec = cluster({"devices": 2}, provider="null")
    assert any("storage.devices: provider null" in finding for finding in deploy.check(spec))
    spec = cluster({"devices": 2, "devices_as": "raid0"}, provider="vm")
    assert any("storage.devices: provider vm" in finding for finding in deploy.check(spec))
    spec = cluster({"devices": 2})
    assert any("nfs has one server with one device" in finding for finding in deploy.check(spec))
