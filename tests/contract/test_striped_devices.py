"""Devices that are striped in a cloud (RAID 0), on nodes of this machine: one device with their capacity and the sum of their rates."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_clusters import spec_of

from wavetank.cluster import deploy
from wavetank.cluster.components import Storage
from wavetank.units import MIB


def test_one_device_stands_for_all_with_their_capacity_and_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    storage = Storage(devices=3, devices_as="raid0", size=400 * MIB, write=20_000_000, read=30_000_000)  # fmt: skip
    spec = spec_of("local-none", "raid0").model_copy(update={"storage": storage})
    assert deploy.check(spec) == []
    with deploy.deployed(spec) as cluster:
        host = cluster.compute_hosts[0]
        lines = host.run(["df", "-B1", "--output=size,target"]).stdout.splitlines()[1:]
        sizes = {line.split()[1]: int(line.split()[0]) for line in lines}
        # less the log and the trees of XFS
        assert 0.8 * 1200 * MIB < sizes["/storage"] <= 1200 * MIB
        assert not any(at.startswith("/storage2") for at in sizes)
        limits = cluster.limits()
    assert "one device in place of 3 striped ones (RAID 0)" in limits["compute disk"]
    for what, rate in (("write", "60.0 MB/s"), ("read", "90.0 MB/s")):
        assert limits[f"compute disk {what}"].startswith(rate)
