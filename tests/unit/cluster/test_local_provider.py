"""What keeps the local provider from making nodes."""

from __future__ import annotations

import os

import pytest

from wavetank.cluster.namespaces import provider
from wavetank.cluster.namespaces.provider import NamespaceProvider
from wavetank.cluster.spec import ClusterSpec

SPEC = ClusterSpec.model_validate(
    {
        "name": "lab",
        "instance": {"name": "t.small"},
        "nodes": {"compute": 1},
        "file_system": {"kind": "none"},
        "storage": {"size": "512 MiB"},
    }
)


def test_a_chroot_is_refused_as_nodes_would_be_outside_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = os.stat("/")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for seen, refused in ((f"{root.st_dev}:{root.st_ino}\n", False), ("1:1\n", True)):
        monkeypatch.setattr(provider, "command", lambda argv, seen=seen: seen)
        findings = NamespaceProvider().check(SPEC)
        assert any("chroot" in finding for finding in findings) == refused


def test_a_disk_that_does_not_fit_is_named_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(provider, "command", lambda argv: "")
    body = SPEC.model_dump() | {"temporary": {"size": "8 PiB"}}
    said = "\n".join(NamespaceProvider().check(ClusterSpec.model_validate(body)))
    assert "temporary.size 8.0 PiB is more than the" in said
    assert "storage.size" not in said
