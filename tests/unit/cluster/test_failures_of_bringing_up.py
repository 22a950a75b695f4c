"""Which of two failures is raised where bringing a cluster up and cleaning it up both fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.cluster import deploy, registry
from wavetank.cluster.providers.base import Provider
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

SPEC = ClusterSpec.model_validate(
    {
        "name": "lab",
        "instance": {"name": "t.small"},
        "nodes": {"compute": 1},
        "file_system": {"kind": "none"},
        "storage": {"size": "512 MiB"},
    }
)


class _Broken(Provider):
    """A provider of which neither the nodes come up nor what was begun goes away."""

    def create(self, spec: ClusterSpec, *, leave: bool) -> None:
        raise ProviderError("no node came up")

    def destroy(self, name: str) -> None:
        raise ProviderError("the nodes do not answer")


def test_what_failed_first_is_raised_and_the_failed_clean_up_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(deploy, "check", lambda spec: [])
    monkeypatch.setattr(registry, "provider", lambda name: _Broken())
    with pytest.raises(ProviderError, match="no node came up"):
        deploy.bring_up(SPEC)
    assert "the nodes do not answer" in caplog.text
