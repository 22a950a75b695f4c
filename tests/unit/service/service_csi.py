"""What tests of the Container Storage Interface share: the driver over a daemon, calls of it, and a mounter of folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import grpc
from service_daemon import Daemon
from service_fakes import GIB, server

from wavetank.cluster.host import Host
from wavetank.service.client.spaces import Spaces
from wavetank.service.csi.controller import Controller
from wavetank.service.csi.identity import Identity
from wavetank.service.csi.messages import MESSAGES, MULTI_NODE_MULTI_WRITER, PACKAGE, made
from wavetank.service.csi.mounts import Mount
from wavetank.service.csi.node import Node
from wavetank.service.csi.serve import folder_of, serving
from wavetank.service.csi.volumes import Volumes

NODE = "10.0.0.7"


class FolderMounter:
    """Mounts the folders that spaces of a daemon of tests are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self, host: Host, export: str, at: str, options: Mapping[str, object]) -> None:
        host.run(["mount", "--bind", str(self.folder / export.partition("/")[2]), at])

    def known(self) -> frozenset[str]:
        return frozenset({"sync"})

    def is_of(self, mount: Mount, export: str) -> bool:
        return Path(mount.place[1]).name == export.partition("/")[2]


class Sockets(NamedTuple):
    controller: Path
    node: Path


@contextlib.contextmanager
def driver(daemon: Daemon, folder: Path) -> Iterator[Sockets]:
    """A controller for a new tenant of a daemon, and a node, each at a socket of its own."""
    with daemon.admin() as admin:
        for i in range(3):
            body = server(f"io{i}", 100 * GIB).model_dump(exclude={"node"})
            assert admin.http.put(f"/v1/servers/io{i}", json=body).is_success
        assert admin.http.put("/v1/tenants/claims", json={"bytes": 200 * GIB}).is_success
        token = admin.http.post("/v1/tenants/claims/tokens").json()["text"]
    sockets = Sockets(folder / "c.sock", folder / "n.sock")
    mounters = {"glusterfs": FolderMounter(folder / "made")}
    with (
        daemon.tenant(token) as connection,
        serving(sockets.controller, [Identity(), Controller(Volumes(Spaces(connection)))]),
        serving(sockets.node, [Identity(), Node(NODE, folder_of(sockets.node), mounters)]),
    ):
        yield sockets


class Caller:
    """Calls a driver."""

    def __init__(self, socket: Path) -> None:
        self.channel = grpc.insecure_channel(f"unix:{socket}")

    def __call__(self, call: str, service: str = "Controller", **fields: object):
        of_it = self.channel.unary_unary(
            f"/{PACKAGE}.{service}/{call}",
            request_serializer=MESSAGES[f"{call}Request"].SerializeToString,
            response_deserializer=MESSAGES[f"{call}Response"].FromString,
        )
        return of_it(made(f"{call}Request", **fields))

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()


def capability(mode: int = MULTI_NODE_MULTI_WRITER, **mount: object):
    return made(
        "VolumeCapability",
        mount=made("MountVolume", **mount),
        access_mode=made("AccessMode", mode=mode),
    )
