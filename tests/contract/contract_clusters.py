"""The clusters of the contract tests: one small specification of each provider with each file system."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from wavetank.cluster.spec import ClusterSpec

INSTANCE = {
    "name": "t.small",
    "vcpus": 1,
    "memory": "384 MiB",
    "network": "1 Gbit/s",
    "disk_read": "100 MB/s",
    "disk_write": "80 MB/s",
}
CLUSTERS: dict[str, dict[str, Any]] = {
    "null-none": {"provider": "null", "nodes": {"compute": 2}, "file_system": {"kind": "none"}},
    "null-existing": {
        "provider": "null",
        "nodes": {"compute": 2},
        "file_system": {"kind": "existing", "path": tempfile.gettempdir()},
    },
    "local-none": {"provider": "local", "nodes": {"compute": 2}, "file_system": {"kind": "none"}},
    "local-nfs": {
        "provider": "local",
        "nodes": {"compute": 2, "io": 1},
        "file_system": {"kind": "nfs"},
    },
    "local-cephfs": {
        "provider": "local",
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "cephfs"},
    },
    "local-moosefs": {
        "provider": "local",
        "nodes": {"compute": 2, "io": 2},
        "io_instance": {**INSTANCE, "name": "t.large", "memory": "768 MiB"},  # a master has 459 MiB
        "file_system": {"kind": "moosefs"},
    },
    "local-orangefs": {  # not in Debian: its programs are on the PATH, or below WAVETANK_TEST_ORANGEFS
        "provider": "local",
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "orangefs", "prefix": os.environ.get("WAVETANK_TEST_ORANGEFS")},
    },
    "local-gateway": {
        "provider": "local",
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "gateway", "behind": "glusterfs"},
    },
    "local-glusterfs": {
        "provider": "local",
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "glusterfs"},
    },
}

# Guests by User-mode Linux: what every machine with its Debian package can run.
GUESTS: dict[str, Any] = {"provider": "vm", "hypervisor": "uml"}
CLUSTERS |= {
    "vm-nfs": {**GUESTS, "nodes": {"compute": 2, "io": 1}, "file_system": {"kind": "nfs"}},
}

# Set by test_ssh_provider.py, which runs this suite where hosts answer. Four of them: c1, c2, io1, io2.
SSH: dict[str, Any] = json.loads(os.environ.get("WAVETANK_TEST_SSH", "{}"))


def ssh_cluster(file_system: dict[str, Any], n_io: int) -> dict[str, Any]:
    """Hosts over ssh with a file system of ours."""
    names = ["c1", "c2", *(f"io{i + 1}" for i in range(n_io))]
    # what nodes of ours do not serve is mounted already
    mount = {"mount": "/made-by-ssh/mount"} if n_io else {}
    return {
        "provider": "ssh",
        "nodes": {"compute": 2, "io": n_io},
        "file_system": {**mount, **file_system},
        "ssh": {**SSH, "hosts": {name: SSH["hosts"][name] for name in names}},
    }


if SSH:
    CLUSTERS = {
        "ssh-none": ssh_cluster({"kind": "none"}, 0),
        "ssh-existing": ssh_cluster({"kind": "existing", "path": "/tmp/shared"}, 0),
        "ssh-nfs": ssh_cluster({"kind": "nfs"}, 1),
        "ssh-glusterfs": ssh_cluster({"kind": "glusterfs"}, 2),
        "ssh-cephfs": ssh_cluster({"kind": "cephfs"}, 2),
        "ssh-gateway": ssh_cluster({"kind": "gateway", "behind": "glusterfs", "gateways": 1}, 2),
        "ssh-orangefs": ssh_cluster(
            {"kind": "orangefs", "prefix": os.environ.get("WAVETANK_TEST_ORANGEFS")}, 2
        ),
    }

# Set by clouds/aws_loopback.py, which runs this suite where instances are nodes.
IN_AWS = "WAVETANK_TEST_AWS" in os.environ
AWS: dict[str, Any] = {
    "provider": "aws",
    "instance": {"name": "c5.large"},
    "cloud": {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD", "ssh_from": "192.0.2.0/24"},
}
OWN_IMAGE = "ami-12c6146b"  # of the emulator


def aws_cluster(file_system: dict[str, Any], n_io: int, **cloud: str) -> dict[str, Any]:
    """Instances with a file system of ours."""
    return {
        **AWS,
        "nodes": {"compute": 2, "io": n_io},
        "file_system": {"mount": "/made-by-aws/mount", **file_system},
        "cloud": {**AWS["cloud"], **cloud},
    }


AWS_CLUSTERS = {
    # an image of somebody's own: on debian-12 the kernel's server is preferred, and nodes have none
    "aws-nfs": aws_cluster({"kind": "nfs"}, 1, image=OWN_IMAGE),
    "aws-glusterfs": aws_cluster({"kind": "glusterfs"}, 2),
    "aws-cephfs": aws_cluster({"kind": "cephfs"}, 2),
    "aws-gateway": aws_cluster(
        {"kind": "gateway", "behind": "glusterfs", "gateways": 1}, 2, image=OWN_IMAGE
    ),
    "aws-orangefs": aws_cluster(  # no distribution has it: an image of one's own does
        {"kind": "orangefs", "prefix": os.environ.get("WAVETANK_TEST_ORANGEFS")}, 2, image=OWN_IMAGE
    ),
}
if IN_AWS:
    CLUSTERS = AWS_CLUSTERS


def spec_of(kind: str, suffix: str) -> ClusterSpec:
    """A cluster of this kind, whose name is this process's and the test's own."""
    return ClusterSpec.model_validate(
        {
            "name": os.environ.get("WAVETANK_TEST_NAME", f"t{os.getpid()}-{suffix}"),
            "instance": INSTANCE,
            "storage": {"size": "512 MiB"},
            **{**AWS_CLUSTERS, **CLUSTERS}[kind],
        }
    )
