"""EFS on its clients: options of the mount, and TLS by stunnel where that is asked for."""

from __future__ import annotations

import pytest

from fake_host import FakeHost
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.efs import driver
from wavetank.cluster.managed import Service
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError

SERVICE = Service("172.31.1.9", "fs-01.efs.eu-west-1.amazonaws.com")
AMAZONS = "/etc/pki/tls/certs/ca-bundle.crt"


def answer(host: FakeHost, argv: list[str]) -> str | None:
    """Nothing listens before stunnel was started; Amazon's certificates are there."""
    if argv[-1] == driver.LISTENS and not host.started:
        return None
    return AMAZONS if AMAZONS in argv[-1] else ""


def spec(**file_system: object) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 1},
            "file_system": {"kind": "efs", **file_system},
        }
    )


def site(asked: ClusterSpec, client: FakeHost, service: Service | None = SERVICE) -> Site:
    return Site(asked, (), (client,), "/storage", service=service)  # type: ignore[arg-type]


def test_options_of_the_specification_replace_those_that_aws_recommends() -> None:
    words = driver.options_of(spec(mount_options={"timeo": 100, "noac": True})).split(",")
    assert "timeo=100" in words and "noac" in words and "hard" in words
    assert "timeo=600" not in words


def test_tls_is_started_once_and_mounted_by_the_nodes_own_port() -> None:
    client = FakeHost(answer=answer)
    where = site(spec(tls=True), client)
    driver.EFS().mount(where)
    driver.EFS().mount(where)  # after caches were dropped
    assert client.started == [["stunnel", driver.CONFIGURATION]]
    mounts = [argv for argv in client.ran if argv[0] == "mount"]
    assert [argv[-2:] for argv in mounts] == [["127.0.0.1:/", "/wavetank"]] * 2
    assert all("port=20049" in argv[4] for argv in mounts)
    lines = "".join(client.written.values()).splitlines()
    # without these two a server of any name, or with any certificate, would do
    assert f"checkHost = {SERVICE.name}" in lines and "verifyChain = yes" in lines
    assert f"CAfile = {AMAZONS}" in lines and "connect = 172.31.1.9:2049" in lines


def test_without_tls_the_mount_target_is_mounted_as_it_is() -> None:
    client = FakeHost(answer=answer)
    driver.EFS().mount(site(spec(), client))
    assert client.started == [] and client.written == {}
    assert client.ran[-1][-2:] == ["172.31.1.9:/", "/wavetank"]


def test_a_cluster_whose_file_system_was_never_made_says_so() -> None:
    with pytest.raises(FileSystemError, match="never made"):
        driver.EFS().install(site(spec(), FakeHost(answer=answer), service=None))
