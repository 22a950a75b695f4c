"""The user data of every image with every file system is what cloud-init accepts.

CI has a schema of the keys that wavetank writes, as those of cloud-init 22.4.2 (Debian 12) are described in its documentation.
cloud-init itself is not installed for that: its package enables itself at boot, and a node of a local cluster, which has the programs
of this machine, would be waited for. Unpacked it is asked too:

    mkdir ci && cd ci && apt-get download cloud-init python3-{attr,certifi,chardet,charset-normalizer,configobj,idna,jinja2,json-pointer,\
        jsonpatch,jsonschema,markupsafe,netifaces,oauthlib,pyrsistent,requests,serial,six,urllib3,yaml}
    for each in *.deb; do dpkg-deb -x $each .; done
    WAVETANK_CLOUD_INIT=$PWD .venv/bin/pytest tests/contract/clouds/test_aws_user_data.py
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import REAPER, Emulator, spec_of

from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.cloud import Keys, new_lease
from wavetank.cluster.spec import ClusterSpec

CLOUD_INIT = os.environ.get("WAVETANK_CLOUD_INIT", "")
COMMANDS = {
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
}
TEXT, YES_OR_NO = {"type": "string"}, {"type": "boolean"}
USER = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": TEXT, "shell": TEXT, "sudo": {"type": ["string", "array"]}, "lock_passwd": YES_OR_NO,
        "ssh_authorized_keys": {"type": "array", "minItems": 1, "items": TEXT},
    },
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "bootcmd": COMMANDS,
        "runcmd": COMMANDS,
        "ssh_deletekeys": YES_OR_NO,
        "ssh_keys": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^(dsa|ecdsa|ed25519|rsa)_(private|public|certificate)$": TEXT},
        },
        "users": {"type": "array", "minItems": 1, "items": {"anyOf": [TEXT, USER]}},
        "mounts": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "array", "minItems": 1, "maxItems": 6, "items": TEXT},
        },
        "package_update": YES_OR_NO,
        "packages": {"type": "array", "minItems": 1, "items": TEXT},
    },
}
KINDS: dict[str, dict[str, Any]] = {
    "none": {"kind": "none"}, "nfs": {"kind": "nfs", "servers": 1}, "glusterfs": {"kind": "glusterfs"}, "cephfs": {"kind": "cephfs"},
    "moosefs": {"kind": "moosefs"}, "orangefs": {"kind": "orangefs", "prefix": "/opt/orangefs"},
    "gateway": {"kind": "gateway", "behind": "glusterfs"}, "fsx-lustre": {"kind": "fsx-lustre"},
    "efs": {"kind": "efs", "capacity": "10 GiB", "tls": True},
}  # fmt: skip
IMAGES = ("debian-12", "ubuntu-24.04", "amazon-linux-2023", "ami-12c6146b")
SERVED_ELSEWHERE = ("none", "fsx-lustre", "efs")


def specs(kind: str, image: str) -> Iterator[ClusterSpec]:
    """With one disk a node, and with several as one."""
    nodes = {"compute": 2} if kind in SERVED_ELSEWHERE else {"compute": 2, "io": 2}
    cloud = {"image": image, "reaper": REAPER}
    for devices in ({}, {"devices": 2, "devices_as": "raid0"}):
        storage = {"size": "20 GiB", **devices}
        yield spec_of(file_system=KINDS[kind], nodes=nodes, cloud=cloud, storage=storage)


def documents(kind: str, image: str) -> list[str]:
    """The user data of all roles."""
    keys = Keys("ssh-ed25519 AAAA user", "PRIVATE\nKEY\n", "ssh-ed25519 BBBB")
    found: dict[str, None] = {}
    for spec in specs(kind, image):
        lease = new_lease(spec, "0123abcd", "user/moto", datetime.now(UTC))
        for wanted in AwsCloud("us-east-1").plan(spec, lease, keys):
            if wanted.kind == "instances":
                found[str(wanted.detail["user_data"])] = None
    assert found
    return list(found)


@pytest.mark.parametrize("image", IMAGES)
def test_cloud_init_accepts_it(aws: Emulator, image: str) -> None:
    assert aws.left() == []
    for kind in KINDS:
        for document in documents(kind, image):
            assert document.startswith("#cloud-config\n"), kind
            jsonschema.Draft4Validator(SCHEMA).validate(yaml.safe_load(document))


@pytest.mark.optional
@pytest.mark.skipif(not CLOUD_INIT, reason="WAVETANK_CLOUD_INIT names no unpacked cloud-init")
@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_cloud_init_itself_accepts_it(aws: Emulator, kind: str, image: str, tmp_path: Path) -> None:
    assert aws.left() == []
    file = tmp_path / "user-data"
    for document in documents(kind, image):
        file.write_text(document)
        done = subprocess.run(
            ["/usr/bin/python3", "-m", "cloudinit.cmd.main", "schema", "--config-file", str(file)],
            env={"PYTHONPATH": f"{CLOUD_INIT}/usr/lib/python3/dist-packages", "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "deprecat" not in done.stdout.lower()
