"""The driver for Kubernetes over a real daemon: what claims become, what is refused, and how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import yaml
from service_csi import NODE, Caller, capability, driver
from service_daemon import Daemon
from service_fakes import GIB

from wavetank.errors import ServiceError
from wavetank.service.core.records import Space
from wavetank.service.csi.identity import DRIVER
from wavetank.service.csi.messages import (
    SINGLE_NODE_READER_ONLY,
    SINGLE_NODE_WRITER,
    made,
)
from wavetank.service.csi.requests import OF_KUBERNETES, request_of
from wavetank.service.csi.serve import serving

MANIFESTS = Path(__file__).parents[3] / "examples" / "service" / "kubernetes"
OTHER_NODE = "10.0.0.8"


class Controller(Caller):
    """Calls a controller whose service a test can look into."""

    def __init__(self, socket: Path, daemon: Daemon) -> None:
        super().__init__(socket)
        self.daemon = daemon

    def create(self, name: str = "pvc-1", size: int = GIB, **parameters: str):
        return self(
            "CreateVolume",
            name=name,
            capacity_range=made("CapacityRange", required_bytes=size),
            volume_capabilities=[capability()],
            parameters={"kind": "glusterfs", **parameters},
        ).volume

    def publish(self, volume: str, node: str = NODE, mode: int = 5, readonly: bool = False):
        return self(
            "ControllerPublishVolume",
            volume_id=volume,
            node_id=node,
            volume_capability=capability(mode),
            readonly=readonly,
        ).publish_context

    def spaces(self) -> list[Space]:
        with self.daemon.admin() as admin:
            return [Space(**each) for each in admin.http.get("/v1/spaces").json()["spaces"]]

    def rules(self) -> list[tuple[str, str]]:
        (space,) = self.spaces()
        return sorted((rule.subject, rule.level) for rule in space.access)


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    with (
        Daemon(tmp_path / "service", rate_per_s=1e6, burst=10**6) as daemon,
        driver(daemon, tmp_path) as sockets,
        Controller(sockets.controller, daemon) as caller,
    ):
        yield caller


def code(call, *args, **fields):
    with pytest.raises(grpc.RpcError) as refused:
        call(*args, **fields)
    return refused.value.code().name


def test_a_claim_becomes_a_ready_space_of_its_class(controller: Controller) -> None:
    parameters = {"servers": "2", "devices": "1", "stripe": "1MiB", "mode": "dedicated"}
    volume = controller.create(size=3 * GIB, **parameters, **{f"{OF_KUBERNETES}pvc/name": "data"})
    (space,) = controller.spaces()
    assert (space.id, space.name, space.state) == (volume.volume_id, "pvc-1", "ready")
    assert (space.size, space.servers, space.devices_per_server) == (3 * GIB, 2, 1)
    assert (space.stripe_size, space.mode, space.access) == (2**20, "dedicated", ())


def test_nodes_are_let_in_one_by_one_and_go_again(controller: Controller) -> None:
    volume = controller.create().volume_id
    context = controller.publish(volume)
    assert dict(context) == {"kind": "glusterfs", "export": f"server:/{volume}"}
    controller.publish(volume, OTHER_NODE, readonly=True)
    assert controller.publish(volume) == context  # asked again, nothing more
    assert controller.rules() == [(NODE, "rw"), (OTHER_NODE, "ro")]
    controller("ControllerUnpublishVolume", volume_id=volume, node_id=NODE)
    assert controller.rules() == [(OTHER_NODE, "ro")]
    controller.publish(volume)
    controller("ControllerUnpublishVolume", volume_id=volume)  # from all of them
    assert controller.rules() == []


def test_a_volume_of_one_node_is_refused_to_a_second_one(controller: Controller) -> None:
    volume = controller.create().volume_id
    controller.publish(volume, mode=SINGLE_NODE_WRITER)
    refused = code(controller.publish, volume, OTHER_NODE, SINGLE_NODE_WRITER)
    assert refused == "FAILED_PRECONDITION"
    assert code(controller.publish, volume, NODE, SINGLE_NODE_READER_ONLY) == "ALREADY_EXISTS"
    assert controller.rules() == [(NODE, "rw")]


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"kind": "ext4"}, "INVALID_ARGUMENT"),
        ({"colour": "red"}, "INVALID_ARGUMENT"),
        ({"servers": "many"}, "INVALID_ARGUMENT"),
        ({"kind": "orangefs"}, "INVALID_ARGUMENT"),  # shared OrangeFS is not offered
        ({"servers": "4"}, "RESOURCE_EXHAUSTED"),  # there are three
        ({"size": 2**62}, "OUT_OF_RANGE"),
        ({"size": 250 * GIB, "servers": "3"}, "RESOURCE_EXHAUSTED"),  # the quota is 200 GiB
        ({"size": -1}, "INVALID_ARGUMENT"),
    ],
)
def test_what_cannot_be_is_refused_by_its_status(
    controller: Controller, asked: dict, refused: str
) -> None:
    assert code(controller.create, **asked) == refused
    assert controller.spaces() == []


def test_block_volumes_and_copies_are_refused(controller: Controller) -> None:
    block = made("VolumeCapability", block=made("BlockVolume"), access_mode=made("AccessMode", mode=1))  # fmt: skip
    asked = {"name": "pvc-1", "parameters": {"kind": "glusterfs"}}
    assert code(controller, "CreateVolume", **asked, volume_capabilities=[block]) == "INVALID_ARGUMENT"  # fmt: skip
    copy = {"volume_capabilities": [capability()], "volume_content_source": made("ContentSource")}
    assert code(controller, "CreateVolume", **asked, **copy) == "INVALID_ARGUMENT"
    volume = controller.create().volume_id
    answer = controller("ValidateVolumeCapabilities", volume_id=volume, volume_capabilities=[block])
    assert (answer.HasField("confirmed"), "file system" in answer.message) == (False, True)


def test_a_volume_grows_and_never_shrinks(controller: Controller) -> None:
    volume = controller.create().volume_id

    def expand(least: int, most: int = 0) -> int:
        sizes = made("CapacityRange", required_bytes=least, limit_bytes=most)
        return controller("ControllerExpandVolume", volume_id=volume, capacity_range=sizes).capacity_bytes  # fmt: skip

    assert [expand(2 * GIB), expand(GIB)] == [2 * GIB, 2 * GIB]
    assert code(expand, GIB, GIB) == "OUT_OF_RANGE"
    assert controller.create(size=2 * GIB).volume_id == volume  # the claim's call, come again late


def test_a_space_that_goes_is_no_volume_any_more(controller: Controller) -> None:
    volume = controller.create().volume_id
    for _ in range(2):
        controller("DeleteVolume", volume_id=volume)
    assert controller.spaces() == []
    assert code(controller.publish, volume) == "NOT_FOUND"
    controller("ControllerUnpublishVolume", volume_id=volume, node_id=NODE)
    controller("DeleteVolume", volume_id="../tenant")  # of no volume
    assert controller.create().volume_id != volume


def test_what_is_left_of_the_quota_is_the_capacity(controller: Controller) -> None:
    controller.create(size=50 * GIB, servers="2")
    assert controller("GetCapacity").available_capacity == 150 * GIB
    shared = {"parameters": {"kind": "orangefs"}}
    assert controller("GetCapacity", **shared).available_capacity == 0


def test_one_process_answers_at_a_socket(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "s", []),
        pytest.raises(ServiceError, match=r"answers at .* already"),
        serving(tmp_path / "s", []),
    ):
        pass
    assert not (tmp_path / "s").exists()
    with serving(tmp_path / "s", []):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600


def test_manifests_say_what_the_driver_takes() -> None:
    found = [
        each
        for name in ("driver", "controller", "node")
        for each in yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text())
    ]
    classes = [each for each in found if each["kind"] == "StorageClass"]
    assert [each["provisioner"] for each in classes] == [DRIVER] * 3
    kinds = [request_of("pvc-1", (10 * GIB, 0), each["parameters"]).kind for each in classes]
    assert kinds == ["nfs", "glusterfs", "nfs"]
    (object_,) = [each for each in found if each["kind"] == "CSIDriver"]
    assert (object_["metadata"]["name"], object_["spec"]["attachRequired"]) == (DRIVER, True)
    from wavetank.cli.service_csi import csi

    roles = []
    for each in found:
        if each["kind"] in ("Deployment", "DaemonSet"):
            (ours,) = [one for one in each["spec"]["template"]["spec"]["containers"] if one["image"] == "wavetank"]  # fmt: skip
            assert ours["args"][:2] == ["service", "csi"]
            taken = csi.make_context("csi", list(ours["args"][2:])).params
            names = {variable["name"] for variable in ours["env"]}
            roles.append((taken["controller"], "CSI_NODE_ID" in names, "WAVETANK_TOKEN" in names))
    assert roles == [(True, False, True), (False, True, False)]  # nodes have no token
