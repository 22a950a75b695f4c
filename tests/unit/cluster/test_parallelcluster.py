"""A cluster as a ParallelCluster configuration: the schema accepts it, and what it cannot say is said in words."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster.parallelcluster.configuration import (
    NO_SUBNET,
    Export,
    Place,
    parallelcluster,
    place_of,
)
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import CostError, SpecError, UsageError

SCHEMA = json.loads((Path(__file__).parent / "parallelcluster" / "schema-3.16.1.json").read_text())
PLACE = Place("eu-west-1", "subnet-0123456789abcdef0", "mine", "ubuntu2404")
# What the package of ParallelCluster says of a configuration, with its checks across keys.
ASK = """
import sys, yaml
from pcluster.schemas.cluster_schema import ClusterSchema
for body in yaml.safe_load_all(sys.stdin):
    ClusterSchema("x").load(body)
    print(body["Tags"])
"""
EBS = {
    "on": "ebs",
    "volume_type": "gp3",
    "size": "200 GiB",
    "iops": 6000,
    "throughput": "500 MiB/s",
}


def cluster(kind: str | dict[str, Any] = "nfs", **more: Any) -> ClusterSpec:
    body = {
        "name": "lab",
        "instance": {"name": "c5.large"},
        "nodes": {"compute": 4, "io": 1},
        "file_system": {"kind": kind} if isinstance(kind, str) else kind,
        **more,
    }
    return ClusterSpec.model_validate(body)


CLUSTERS = {
    "nfs": cluster(storage=EBS, placement="cluster"),
    "nfs striped": cluster(storage={**EBS, "devices": 8, "devices_as": "raid0"}),
    "nfs without a word on storage": cluster(),
    "nfs on own disks": cluster(io_instance={"name": "i3.large"}, storage={"on": "instance"}),
    "efs": cluster("efs", nodes={"compute": 2}),
    "efs provisioned": cluster({"kind": "efs", "throughput": "2000 MiB/s"}, nodes={"compute": 2}),
    "efs bursting": cluster({"kind": "efs", "throughput": "bursting"}, nodes={"compute": 2}),
    "scratch": cluster("fsx-lustre", nodes={"compute": 2, "head": 1}, placement="spread"),
    "persistent": cluster(
        {"kind": "fsx-lustre", "deployment": "PERSISTENT_2", "capacity": "4800 GiB", "throughput_per_tib": 250},
        nodes={"compute": 2},
    ),
    "glusterfs": cluster("glusterfs", nodes={"compute": 2, "io": 2}, storage=EBS),
    "orangefs on own disks": cluster(
        "orangefs", nodes={"compute": 2, "io": 2}, io_instance={"name": "i3.4xlarge"},
        storage={"on": "instance", "devices": 2}, temporary={"size": "1 GiB"},
    ),
    "none on volumes": cluster("none", nodes={"compute": 2}, storage=EBS),
    "none on st1": cluster(
        "none", nodes={"compute": 2}, storage={"on": "ebs", "volume_type": "st1", "volume_size": "1 TiB"}
    ),
    "none on own disks": cluster(
        "none", instance={"name": "i3.large"}, nodes={"compute": 2},
        storage={"on": "instance"}, temporary={"on": "instance"},
    ),
    "in a cloud": cluster(
        provider="aws",
        cloud={
            "region": "eu-west-1", "ttl": "2 h", "budget": "5 USD", "spot": True, "ssh_from": "192.0.2.0/24",
            "subnet": "subnet-0123456789abcdef0", "image": "ubuntu-24.04",
        },
        storage=EBS,
    ),
    "existing": cluster({"kind": "existing", "path": "/lustre/x"}, nodes={"compute": 2}),
}  # fmt: skip


def body_of(export: Export) -> Any:
    return yaml.safe_load(export.text)


def shared(spec: ClusterSpec) -> Any:
    (storage,) = body_of(parallelcluster(spec, PLACE))["SharedStorage"]
    return storage


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_schema_accepts_every_kind_of_cluster(name: str) -> None:
    for place in (PLACE, Place("us-east-1")):
        jsonschema.validate(body_of(parallelcluster(CLUSTERS[name], place)), SCHEMA)


def test_the_schema_refuses_what_is_no_configuration() -> None:
    body = body_of(parallelcluster(CLUSTERS["nfs"], PLACE))
    body["SharedStorage"][0]["EbsSettings"]["Raid"] = {"Type": 5}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)


@pytest.mark.optional
@pytest.mark.skipif(
    "WAVETANK_PCLUSTER_PYTHON" not in os.environ,
    reason="WAVETANK_PCLUSTER_PYTHON names no Python with aws-parallelcluster (see parallelcluster/README.md)",
)
def test_the_package_of_parallelcluster_accepts_every_kind_of_cluster() -> None:
    texts = [parallelcluster(spec, PLACE).text for spec in CLUSTERS.values()]
    done = subprocess.run(
        [os.environ["WAVETANK_PCLUSTER_PYTHON"], "-c", ASK],
        input="---\n".join(texts), capture_output=True, text=True, check=False,
        env={**os.environ, "AWS_DEFAULT_REGION": PLACE.region},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(CLUSTERS)


def test_nodes_region_subnet_and_placement_carry_over() -> None:
    body = body_of(parallelcluster(CLUSTERS["nfs"], PLACE))
    assert body["Region"] == "eu-west-1"
    assert body["HeadNode"]["InstanceType"] == "c5.large"
    assert body["HeadNode"]["Ssh"] == {"KeyName": "mine"}
    (queue,) = body["Scheduling"]["SlurmQueues"]
    assert queue["ComputeResources"] == [
        {"Name": "compute", "InstanceType": "c5.large", "MinCount": 4, "MaxCount": 4}
    ]
    assert queue["Networking"] == {
        "SubnetIds": [PLACE.subnet],
        "PlacementGroup": {"Enabled": True},
    }


def test_the_nfs_server_is_the_head_node_with_its_own_volume() -> None:
    spec = cluster(storage=EBS, io_instance={"name": "m5.2xlarge"})
    assert body_of(parallelcluster(spec, PLACE))["HeadNode"]["InstanceType"] == "m5.2xlarge"
    settings = shared(spec)["EbsSettings"]
    assert {key: settings[key] for key in ("VolumeType", "Size", "Iops", "Throughput")} == {
        "VolumeType": "gp3",
        "Size": 200,
        "Iops": 6000,
        "Throughput": 500,
    }
    assert settings["DeletionPolicy"] == "Delete"
    assert "Raid" not in settings


def test_volumes_in_a_stripe_are_five_at_most_and_that_is_said() -> None:
    export = parallelcluster(CLUSTERS["nfs striped"], PLACE)
    assert shared(CLUSTERS["nfs striped"])["EbsSettings"]["Raid"] == {
        "Type": 0,
        "NumberOfVolumes": 5,
    }
    assert any("of 8 volumes 5 are left" in note for note in export.notes)


def test_lustre_is_fsx_with_its_deployment() -> None:
    assert shared(CLUSTERS["scratch"])["FsxLustreSettings"] == {
        "StorageCapacity": 1200,
        "DeploymentType": "SCRATCH_2",
        "DeletionPolicy": "Delete",
    }
    assert shared(CLUSTERS["persistent"])["FsxLustreSettings"] == {
        "StorageCapacity": 4800,
        "DeploymentType": "PERSISTENT_2",
        "DeletionPolicy": "Delete",
        "PerUnitStorageThroughput": 250,
    }


def test_throughput_of_efs_is_asked_for_where_that_can_be() -> None:
    assert shared(CLUSTERS["efs provisioned"])["EfsSettings"]["ProvisionedThroughput"] == 1024
    assert shared(CLUSTERS["efs bursting"])["EfsSettings"]["ThroughputMode"] == "bursting"
    assert any("elastic" in note for note in parallelcluster(CLUSTERS["efs"], PLACE).notes)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("glusterfs", "makes no glusterfs: nothing serves /wavetank"),
        ("scratch", "placement spread"),
        ("nfs", "the NFS server io1 is the head node"),
        ("persistent", "a head node of c5.large is added"),
        ("nfs on own disks", "shares no instance store by NFS"),
        ("none on st1", "a root volume alone, which cannot be st1"),
        ("none on own disks", "temporary storage has no place of its own"),
        ("existing", "mount it on all nodes"),
    ],
)
def test_what_cannot_be_expressed_is_in_the_comments(name: str, said: str) -> None:
    export = parallelcluster(CLUSTERS[name], PLACE)
    assert any(said in note for note in export.notes), export.notes
    comments = [line for line in export.text.splitlines() if line.startswith("# - ")]
    assert comments == [f"# - {note}" for note in export.notes]


def test_settings_without_a_key_are_named_each() -> None:
    spec = cluster(
        {"kind": "nfs", "options": {"Attr_Expiration_Time": 60}, "mount_options": {"nconnect": 4}},
        scale=4,
        mpi={"hints": {"cb_nodes": 2}},
        mapping="2PxCN",
    )
    said = "\n".join(parallelcluster(spec, PLACE).notes)
    for part in ("Attr_Expiration_Time=60", "nconnect=4", "scale 4", "cb_nodes=2", "2PxCN", "xfs"):
        assert part in said


def test_servers_of_their_own_are_a_queue() -> None:
    queues = body_of(parallelcluster(CLUSTERS["orangefs on own disks"], PLACE))["Scheduling"]
    compute, io = queues["SlurmQueues"]
    assert io["ComputeResources"][0]["InstanceType"] == "i3.4xlarge"
    assert io["ComputeResources"][0]["MinCount"] == 2
    assert io["ComputeSettings"]["LocalStorage"] == {"EphemeralVolume": {"MountDir": "/storage"}}
    assert "ComputeSettings" not in compute  # c5.large has no disks of its own for /scratch


def test_the_key_cloud_says_where_and_on_which_terms() -> None:
    spec = CLUSTERS["in a cloud"]
    assert place_of(spec) == Place("eu-west-1", "subnet-0123456789abcdef0", None, "ubuntu2404")
    assert place_of(cluster()) == Place("us-east-1")
    export = parallelcluster(spec, place_of(spec))
    body = body_of(export)
    assert body["HeadNode"]["Ssh"] == {"AllowedIps": "192.0.2.0/24"}
    assert {queue["CapacityType"] for queue in body["Scheduling"]["SlurmQueues"]} == {"SPOT"}
    assert any(note.startswith("ttl and budget") for note in export.notes)


def test_a_subnet_that_was_not_given_has_to_be_replaced() -> None:
    export = parallelcluster(CLUSTERS["nfs"], Place("us-east-1"))
    assert NO_SUBNET in export.text
    assert any(f"replace {NO_SUBNET}" in note for note in export.notes)


def test_what_cannot_be_a_cluster_of_aws_is_refused() -> None:
    with pytest.raises(CostError, match="no instance type 'lab-node'"):
        parallelcluster(cluster(instance={"name": "lab-node"}), PLACE)
    with pytest.raises(SpecError, match="one image for all nodes"):
        parallelcluster(cluster(io_instance={"name": "m6g.large"}), PLACE)
    with pytest.raises(SpecError, match="is no subnet"):
        parallelcluster(cluster(), Place("eu-west-1", "subnet-1"))
    with pytest.raises(SpecError, match="no image of 'debian12'"):
        parallelcluster(cluster(), Place("eu-west-1", operating_system="debian12"))


def test_the_command_writes_the_file_and_says_the_rest(tmp_path: Path) -> None:
    file, out = tmp_path / "lab.yaml", tmp_path / "pc.yaml"
    file.write_text(
        "name: lab\ninstance: {name: c5.large}\nnodes: {compute: 2, io: 1}\nfile_system: {kind: nfs}\n"
    )
    asked = ["cluster", "export", str(file), "--to", "parallelcluster", "-o", str(out)]
    done = CliRunner().invoke(cli, asked, catch_exceptions=False)
    assert done.exit_code == 0
    assert "note: no subnet was given" in done.stderr
    jsonschema.validate(yaml.safe_load(out.read_text()), SCHEMA)
    with pytest.raises(UsageError, match="exists already"):
        CliRunner().invoke(cli, asked, catch_exceptions=False)
