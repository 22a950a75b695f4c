"""What fresh hosts of a cloud get for a file system, by the driver's own words and the names of their distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.clouds.packages import (
    modules_of_node,
    needs_of_hosts,
    package_problems,
    packages_of_node,
    starts_services,
)
from wavetank.cluster.spec import ClusterSpec

EVERY = {"mdadm", "openmpi-bin", "xfsprogs", "fio", "iperf3"}
ON_AMAZON = {"mdadm", "openmpi", "xfsprogs"}
KERNEL = {"kind": "nfs", "options": {"server": "kernel"}}
GATEWAY = {"kind": "gateway", "behind": "glusterfs"}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))


def spec(file_system: dict[str, Any], image: str = "debian-12", **nodes: int) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "provider": "aws",
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 2, "io": 1, **nodes},
            "file_system": file_system,
            "storage": {"size": "20 GiB"},
            "cloud": {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD", "image": image},
        }
    )


def given(asked: ClusterSpec, node: str) -> set[str]:
    return set(packages_of_node(asked, node))


@pytest.mark.parametrize("image", ["debian-12", "ubuntu-24.04"])
def test_nfs_clients_get_the_kernels_client_and_the_server_what_it_is_to_be(image: str) -> None:
    ganesha, kernel = spec({"kind": "nfs"}, image), spec(KERNEL, image)
    assert given(ganesha, "c1") == given(kernel, "c2") == EVERY | {"nfs-common"}
    assert given(ganesha, "io1") == EVERY | {"nfs-ganesha", "nfs-ganesha-vfs", "rpcbind"}
    assert given(kernel, "io1") == EVERY | {"nfs-kernel-server"}
    assert modules_of_node(kernel, "io1") == ("nfsd",)
    assert modules_of_node(kernel, "c1") == modules_of_node(ganesha, "io1") == ()
    assert package_problems(ganesha) == package_problems(kernel) == []
    assert starts_services(ganesha)


def test_glusterfs_gets_its_server_and_clients_their_module() -> None:
    asked = spec({"kind": "glusterfs"})
    assert given(asked, "io1") == EVERY | {"glusterfs-server", "glusterfs-cli", "util-linux"}
    assert given(asked, "c1") == EVERY | {"glusterfs-client", "attr"}
    assert modules_of_node(asked, "c1") == ("fuse",)


def test_gateways_have_the_file_system_behind_and_clients_the_kernels_nfs() -> None:
    asked = spec(GATEWAY)
    assert given(asked, "io1") >= EVERY | {
        "nfs-ganesha",
        "nfs-ganesha-gluster",
        "glusterfs-client",
        "glusterfs-server",
    }
    assert given(asked, "c1") == EVERY | {"nfs-common"}


def test_amazon_linux_has_names_of_its_own() -> None:
    asked = spec(KERNEL, "amazon-linux-2023")
    assert package_problems(asked) == []
    assert given(asked, "io1") == given(asked, "c1") == ON_AMAZON | {"nfs-utils"}
    assert modules_of_node(asked, "io1") == ("nfsd",)
    assert not starts_services(asked)


@pytest.mark.parametrize(
    ("file_system", "lacks"),
    [
        ({"kind": "nfs"}, "nfs-ganesha, nfs-ganesha-vfs"),
        ({"kind": "glusterfs"}, "glusterfs-cli, glusterfs-client, glusterfs-server"),
    ],
)
def test_what_amazon_linux_does_not_have_is_named_with_what_does(
    file_system: dict[str, Any], lacks: str
) -> None:
    (finding,) = package_problems(spec(file_system, "amazon-linux-2023"))
    assert f"cloud.image amazon-linux-2023 has no packages of {lacks}, which" in finding
    assert "take debian-12 or ubuntu-24.04" in finding and "options.server: kernel" in finding


@pytest.mark.parametrize("image", ["debian-12", "ubuntu-24.04", "amazon-linux-2023"])
@pytest.mark.parametrize(
    ("file_system", "io", "said"),
    [
        ({"kind": "orangefs"}, 1, "has no OrangeFS, nor has its distribution"),
        ({"kind": "orangefs", "prefix": "/opt/orangefs"}, 1, "below file_system.prefix"),
        ({"kind": "existing", "path": "/data"}, 0, "has nothing mounted at file_system.path /data"),
    ],
)
def test_what_no_known_image_can_serve_is_refused_and_left_to_an_image_of_ones_own(
    file_system: dict[str, Any], io: int, said: str, image: str
) -> None:
    (finding,) = package_problems(spec(file_system, image, io=io))
    assert said in finding
    assert finding.startswith(f"file_system {file_system['kind']}: cloud.image {image} has no")
    assert "take an image of your own (ami-...)" in finding
    assert package_problems(spec(file_system, "ami-0123456789abcdef0", io=io)) == []


def test_an_image_of_ones_own_gets_nothing_and_must_have_what_cannot_be_done_without() -> None:
    asked = spec({"kind": "nfs"}, "ami-0123456789abcdef0")
    assert given(asked, "io1") == given(asked, "c1") == set()
    assert package_problems(asked) == []
    # our own mount program does where its kernel's client is missing
    assert dict(needs_of_hosts(asked)["c1"].programs) == {}
    assert "ganesha.nfsd" in needs_of_hosts(asked)["io1"].programs


def test_a_cluster_without_servers_gets_what_every_node_has() -> None:
    asked = spec({"kind": "none"}, io=0)
    assert given(asked, "c1") == EVERY
    assert given(spec({"kind": "none"}, "amazon-linux-2023", io=0), "c1") == ON_AMAZON
