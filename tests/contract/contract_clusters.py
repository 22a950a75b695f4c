"""The clusters of the contract tests: one small specification of each provider with each file system."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from emulated_account import MOUNT, account_of

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

# What does not depend on the file system is shown on these.
HOST_KINDS = ("local-nfs", "vm-nfs")

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
    HOST_KINDS = ("ssh-nfs",)
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

# Of clusters whose machines are made by an emulated cloud: file systems, I/O nodes, and what else. On an image of somebody's own where
# packages of known images are not as the nodes have them: nodes have no kernel's NFS server, and no distribution has OrangeFS.
IN_CLOUDS: dict[str, tuple[dict[str, Any], int, bool]] = {
    "nfs": ({"kind": "nfs"}, 1, True),
    "glusterfs": ({"kind": "glusterfs"}, 2, False),
    "cephfs": ({"kind": "cephfs"}, 2, False),
    "gateway": ({"kind": "gateway", "behind": "glusterfs", "gateways": 1}, 2, True),
    "orangefs": (
        {"kind": "orangefs", "prefix": os.environ.get("WAVETANK_TEST_ORANGEFS")}, 2, True,
    ),
}  # fmt: skip
# Of OpenStack, whose nodes see each volume as a disk.
DEVICES = {"openstack-glusterfs": 2}


def cloud_cluster(kind: str) -> dict[str, Any]:
    """Machines of a cloud with a file system of ours; the kind is CLOUD-FILESYSTEM."""
    cloud, _, name = kind.partition("-")
    file_system, n_io, own_image = IN_CLOUDS[name]
    account = account_of(cloud)
    body = account.body_of(
        nodes={"compute": 2, "io": n_io},
        file_system={"mount": MOUNT, **file_system},
        cloud=account.OWN_IMAGE if own_image else {},
        storage={"size": "512 MiB", "devices": DEVICES.get(kind, 1)},
    )
    return {key: value for key, value in body.items() if key != "name"}


# Set by clouds/cloud_loopback.py, which runs this suite where machines are nodes.
CLOUD = os.environ.get("WAVETANK_TEST_CLOUD")
if CLOUD is not None:
    CLUSTERS = {f"{CLOUD}-{name}": cloud_cluster(f"{CLOUD}-{name}") for name in IN_CLOUDS}


def spec_of(kind: str, suffix: str) -> ClusterSpec:
    """A cluster of this kind, whose name is this process's and the test's own."""
    return ClusterSpec.model_validate(
        {
            "name": os.environ.get("WAVETANK_TEST_NAME", f"t{os.getpid()}-{suffix}"),
            "instance": INSTANCE,
            "storage": {"size": "512 MiB"},
            **(CLUSTERS.get(kind) or cloud_cluster(kind)),
        }
    )
