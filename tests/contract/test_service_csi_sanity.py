"""The public conformance suite of the Container Storage Interface, against the driver as it is deployed: a controller and a node.

The service is a daemon in a process of its own. Its spaces are folders, which the node mounts with mount(8); spaces of NFS are mounted
by ``test_service_csi_mounts.py``.
"""

from __future__ import annotations

import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from service_csi import driver
from service_daemon import Daemon

from waiting import HANG_S

pytestmark = [pytest.mark.cluster]

PROGRAM = Path(__file__).parents[2] / "build" / "csi-sanity"
GIB = 2**30
# Abilities that the driver does not say it has; the suite leaves out what needs them. It has one case itself that waits to be mended.
NOT_OFFERED = frozenset(
    {
        *("Snapshot", "CreateSnapshot", "DeleteSnapshot", "GetSnapshot", "ListSnapshots"),
        *("GroupControllerService", "Volume Cloning"),
        *("Modify volume", "Modify Volume", "ControllerModifyVolume", "NodeExpandVolume"),
        *("ControllerGetVolumeHealth", "ControllerListVolumeHealth"),
        *("NodeGetVolumeHealth", "NodeGetStorageHealth"),
    }
)
OTHERS = frozenset(
    {
        "testnodevolumeattachlimit not enabled",  # a node mounts any number
        "Service does not have single node multi writer capability",
    }
)


@pytest.mark.optional
@pytest.mark.skipif(
    not PROGRAM.exists(), reason="csi-sanity is not built: make setup-test builds it with Go 1.25"
)
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_the_public_suite_passes_whole(tmp_path: Path) -> None:
    with (
        Daemon(tmp_path / "service", rate_per_s=1e6, burst=10**6) as daemon,
        driver(daemon, tmp_path) as sockets,
    ):
        parameters = tmp_path / "parameters.yaml"
        parameters.write_text("kind: glusterfs\nservers: '2'\n")
        report = tmp_path / "junit.xml"
        ran = subprocess.run(
            [
                PROGRAM,
                f"-csi.endpoint=unix:{sockets.node}",
                f"-csi.controllerendpoint=unix:{sockets.controller}",
                f"-csi.mountdir={tmp_path}/target",
                f"-csi.stagingdir={tmp_path}/staging",
                f"-csi.testvolumeparameters={parameters}",
                f"-csi.testvolumesize={GIB}",
                f"-csi.testvolumeexpandsize={2 * GIB}",
                f"-ginkgo.junit-report={report}",
                "-ginkgo.no-color",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_S,
        )
        cases = list(ET.parse(report).iter("testcase"))
        failed = [case.get("name") for case in cases if case.find("failure") is not None]
        assert (failed, ran.returncode) == ([], 0), ran.stdout[-8000:]
        skipped = {_reason(case) for case in cases if case.get("status") == "skipped"}
        lacks = {each.removesuffix(" not supported") for each in skipped if "supported" in each}
        assert (lacks, skipped & OTHERS) == (NOT_OFFERED, OTHERS)
        assert len(skipped) == len(NOT_OFFERED) + len(OTHERS)
        pending = [case for case in cases if case.get("status") == "pending"]
        passed = [case for case in cases if case.get("status") == "passed"]
        assert (len(pending), len(passed)) == (1, 53)  # of csi-sanity 5.6.0
        with daemon.admin() as admin:
            assert admin.http.get("/v1/spaces").json()["spaces"] == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def _reason(case: ET.Element) -> str:
    """Sample: <skipped message="skipped - NodeExpandVolume not supported">."""
    found = case.find("skipped")
    assert found is not None
    return str(found.get("message")).removeprefix("skipped - ")
