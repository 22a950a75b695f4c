"""A claim on real servers: a controller over the service's routes, and the driver's command on a node that mounts the space."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_csi import capability
from spaces_service import MIB, SMALL, Service, serving

import wavetank
from waiting import HANG_S
from wavetank import native
from wavetank.cluster.filesystems.nfs_export import nfs_mount
from wavetank.service.api.app import tenants_app
from wavetank.service.api.desk import Desk
from wavetank.service.api.rates import Rates
from wavetank.service.client.connection import Connection
from wavetank.service.client.spaces import Spaces
from wavetank.service.csi.controller import Controller
from wavetank.service.csi.messages import made
from wavetank.service.csi.volumes import Volumes

pytestmark = [pytest.mark.cluster]

CALL = Path(__file__).parent / "csi_call.py"
SOCKET, STAGED, SHOWN, READ = "/tmp/csi.sock", "/tmp/staged", "/tmp/shown", "/tmp/read"
MOUNTED = {"mount": {}, "accessMode": {"mode": 5}}


class Patient:
    """A call without a limit."""

    def time_remaining(self) -> None:
        return None

    def is_active(self) -> bool:
        return True


@pytest.fixture(params=["nfs", "glusterfs"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with serving(tmp_path_factory, f"csi-{request.param}", request.param) as found:
        yield found


def controller_of(service: Service) -> Controller:
    rates = Rates(1e6, 10**6, lambda: 0.0)
    desk = Desk(
        service.store,
        frozenset({service.kind}),
        service.now,
        service.driver.settle,
        lambda _: None,
        rates,
        rates,
    )
    _, token = service.store.add_token("ann", service.now())
    client = TestClient(tenants_app(desk), headers={"authorization": f"Bearer {token}"})
    return Controller(Volumes(Spaces(Connection(client, "here"))))


def test_a_claim_is_mounted_written_grown_and_gone(service: Service) -> None:
    controller, node = controller_of(service), service.ann
    built = native.find(nfs_mount.MOUNT_PROGRAM, "mount NFS on a kernel without a client")
    # The node runs the wavetank that is tested, wherever it was imported from.
    path = str(Path(wavetank.__file__).parents[1])
    parts = {"WAVETANK_NATIVE_DIR": str(built.parents[1]), "PYTHONPATH": path}
    command = ["-m", "wavetank", "service", "csi", "--endpoint", f"unix://{SOCKET}"]
    node.start([sys.executable, *command, "--node-id", node.address], log="csi", env=parts)
    node.put(CALL, "/tmp/csi_call.py")

    def on_node(call: str, **fields: Any) -> Any:
        argv = [sys.executable, "/tmp/csi_call.py", SOCKET, "Node", call, json.dumps(fields)]
        return json.loads(node.run(argv, timeout_s=HANG_S).stdout)

    def ask(method: Any, message: str, **fields: Any) -> Any:
        return method(made(message, **fields), Patient())

    size = made("CapacityRange", required_bytes=SMALL)
    volume = ask(
        controller.create_volume,
        "CreateVolumeRequest",
        name="pvc-1",
        capacity_range=size,
        parameters={"kind": service.kind},
        volume_capabilities=[capability()],
    ).volume.volume_id
    assert on_node("NodeGetInfo") == {"nodeId": node.address}
    published = {"volume_id": volume, "node_id": node.address, "volume_capability": capability()}
    context = dict(
        ask(
            controller.controller_publish_volume, "ControllerPublishVolumeRequest", **published
        ).publish_context
    )

    its = {"volumeId": volume, "stagingTargetPath": STAGED, "volumeCapability": MOUNTED}
    for _ in range(2):  # asked again, nothing more
        on_node("NodeStageVolume", publishContext=context, **its)
        on_node("NodePublishVolume", targetPath=SHOWN, **its)
    on_node("NodePublishVolume", targetPath=READ, readonly=True, **its)
    node.run(["sh", "-c", f"echo kept > {SHOWN}/file && ! echo lost > {READ}/file && mount"])
    (total,) = [
        int(each["total"])
        for each in on_node("NodeGetVolumeStats", volumeId=volume, volumePath=SHOWN)["usage"]
        if each["unit"] == 1
    ]
    ask(
        controller.controller_expand_volume,
        "ControllerExpandVolumeRequest",
        volume_id=volume,
        capacity_range=made("CapacityRange", required_bytes=400 * MIB),
    )
    grown = on_node("NodeGetVolumeStats", volumeId=volume, volumePath=SHOWN)["usage"]
    # 80 MiB more, all of it for files: the log of XFS is not made larger.
    assert [int(each["total"]) - total for each in grown if each["unit"] == 1] == [80 * MIB]
    assert node.run(["cat", f"{READ}/file"]).stdout == "kept\n"

    for at in (SHOWN, READ, SHOWN):
        on_node("NodeUnpublishVolume", volumeId=volume, targetPath=at)
    on_node("NodeUnstageVolume", volumeId=volume, stagingTargetPath=STAGED)
    mounts = node.run(["cat", "/proc/mounts"]).stdout
    assert volume not in mounts
    ask(controller.controller_unpublish_volume, "ControllerUnpublishVolumeRequest", volume_id=volume)  # fmt: skip
    ask(controller.delete_volume, "DeleteVolumeRequest", volume_id=volume)
    assert volume not in service.folders()
