"""EFS on its clients: options of the mount, and TLS by stunnel where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.efs import driver
from wavetank.cluster.host import Finished
from wavetank.cluster.managed import Service
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

SERVICE = Service("172.31.1.9", "fs-01.efs.eu-west-1.amazonaws.com")
AMAZONS = "/etc/pki/tls/certs/ca-bundle.crt"


class Client:
    """A host on which nothing listens before stunnel was started, with Amazon's certificates."""

    name = "c1"

    def __init__(self) -> None:
        self.ran: list[list[str]] = []
        self.started: list[list[str]] = []
        self.written = ""

    def run(self, argv: Sequence[str], *, stdin: str | None = None, **_: object) -> Finished:
        self.ran.append(list(argv))
        if argv[-1] == driver.LISTENS and not self.started:
            raise RemoteCommandError(self.name, argv, 1, "")
        if argv[0] == "dd":
            self.written = stdin or ""
        return Finished(AMAZONS if AMAZONS in argv[-1] else "", "", 0.0)

    def start(self, argv: Sequence[str], **_: object) -> None:
        self.started.append(list(argv))


def spec(**file_system: object) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 1},
            "file_system": {"kind": "efs", **file_system},
        }
    )


def site(asked: ClusterSpec, client: Client, service: Service | None = SERVICE) -> Site:
    return Site(asked, (), (client,), "/storage", service=service)  # type: ignore[arg-type]


def test_options_of_the_specification_replace_those_that_aws_recommends() -> None:
    words = driver.options_of(spec(mount_options={"timeo": 100, "noac": True})).split(",")
    assert "timeo=100" in words and "noac" in words and "hard" in words
    assert "timeo=600" not in words


def test_tls_is_started_once_and_mounted_by_the_nodes_own_port() -> None:
    client = Client()
    where = site(spec(tls=True), client)
    driver.EFS().mount(where)
    driver.EFS().mount(where)  # after caches were dropped
    assert client.started == [["stunnel", driver.CONFIGURATION]]
    mounts = [argv for argv in client.ran if argv[0] == "mount"]
    assert [argv[-2:] for argv in mounts] == [["127.0.0.1:/", "/wavetank"]] * 2
    assert all("port=20049" in argv[4] for argv in mounts)
    lines = client.written.splitlines()
    # without these two a server of any name, or with any certificate, would do
    assert f"checkHost = {SERVICE.name}" in lines and "verifyChain = yes" in lines
    assert f"CAfile = {AMAZONS}" in lines and "connect = 172.31.1.9:2049" in lines


def test_without_tls_the_mount_target_is_mounted_as_it_is() -> None:
    client = Client()
    driver.EFS().mount(site(spec(), client))
    assert client.started == [] and client.written == ""
    assert client.ran[-1][-2:] == ["172.31.1.9:/", "/wavetank"]


def test_a_cluster_whose_file_system_was_never_made_says_so() -> None:
    with pytest.raises(FileSystemError, match="never made"):
        driver.EFS().install(site(spec(), Client(), service=None))
