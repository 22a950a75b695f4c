"""Clusters of guests by User-mode Linux, one of each access method with each file system that is brought up so."""

from __future__ import annotations

import os
from typing import Any

import pytest

from wavetank.cluster.access import Access
from wavetank.cluster.registry import facts

SMALL: dict[str, Any] = {"name": "t.small", "vcpus": 1}
KINDS: dict[str, dict[str, Any]] = {
    "nfs": {"instance": {**SMALL, "memory": "192 MiB"}, "file_system": {"kind": "nfs"}},
    "glusterfs": {"file_system": {"kind": "glusterfs", "stripe": {"kind": "distributed"}}},
    "cephfs": {"file_system": {"kind": "cephfs"}, "storage": {"size": "704 MiB"}},
    "moosefs": {  # a master has 459 MiB
        "io_instance": {**SMALL, "name": "t.large", "memory": "768 MiB"},
        "file_system": {"kind": "moosefs"},
        "storage": {"size": "512 MiB"},
    },
    "gateway": {"file_system": {"kind": "gateway", "behind": "glusterfs", "gateways": 1}},
    "orangefs": {  # not in Debian: its programs are on the PATH, or below WAVETANK_TEST_ORANGEFS
        "file_system": {"kind": "orangefs", "prefix": os.environ.get("WAVETANK_TEST_ORANGEFS")}
    },
}
TESTED: frozenset[tuple[Access, str]] = frozenset(
    (access, kind) for kind in KINDS for access in facts(kind).guest_methods
)
"""What with_each brings up."""

CHOSEN: frozenset[tuple[Access, str]] = frozenset(
    {
        ("virtual", "cephfs"), ("virtual", "orangefs"),
        ("client", "nfs"), ("client", "moosefs"),
        ("passthrough", "glusterfs"), ("passthrough", "cephfs"),
        ("volume", "nfs"),
    }
)  # fmt: skip
"""What each run of the suite brings up: guests take time. Where ALL is set in the environment, all of TESTED are."""
ALL = "WAVETANK_TEST_ALL_ACCESS"


def body(access: Access, kind: str) -> dict[str, Any]:
    """A cluster of one guest with ranks and one server, without its name."""
    return {
        "provider": "vm",
        "hypervisor": "uml",
        "access": access,
        "instance": {**SMALL, "memory": "384 MiB"},
        "nodes": {"compute": 1, "io": 1},
        "storage": {"size": "384 MiB"},
        "temporary": {"size": "320 MiB"},
        **KINDS[kind],
    }


def with_each(access: Access) -> list[Any]:
    """Clusters with this access method, by file system."""
    return [
        pytest.param(
            body(access, kind),
            id=f"{access}-{kind}",
            marks=[pytest.mark.optional] if kind == "orangefs" else [],
        )
        for kind in KINDS
        if (access, kind) in (TESTED if ALL in os.environ else CHOSEN)
    ]
