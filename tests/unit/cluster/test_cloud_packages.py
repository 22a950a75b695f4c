"""What fresh hosts of a cloud get for a file system, by the driver's own words and the names of their distribution."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.clouds.packages import (
    TOOLS_ON_AMAZON_LINUX,
    modules_of_node,
    needs_of_hosts,
    package_problems,
    packages_of_node,
    preparations_of_node,
    starts_services,
    tools_unknown,
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


def test_a_given_package_of_orangefs_does_on_images_that_can_install_it(tmp_path: Path) -> None:
    def problems(name: str, image: str) -> list[str]:
        package = tmp_path / name
        package.touch()
        asked = {"kind": "orangefs", "prefix": "/opt/orangefs", "package": str(package)}
        return package_problems(spec(asked, image))

    assert (
        problems("orangefs.deb", "debian-12") == problems("orangefs.tar.gz", "ubuntu-24.04") == []
    )
    assert problems("orangefs.tar.gz", "amazon-linux-2023") == []
    (finding,) = problems("orangefs.deb", "amazon-linux-2023")
    assert "amazon-linux-2023 has no dpkg: give a .tar.gz" in finding


def test_an_image_of_ones_own_gets_nothing_and_must_have_what_cannot_be_done_without() -> None:
    asked = spec({"kind": "nfs"}, "ami-0123456789abcdef0")
    assert given(asked, "io1") == given(asked, "c1") == set()
    assert package_problems(asked) == []
    # our own mount program does where its kernel's client is missing
    assert dict(needs_of_hosts(asked)["c1"].programs) == {}
    assert "ganesha.nfsd" in needs_of_hosts(asked)["io1"].programs


def test_hosts_of_a_known_image_are_asked_for_all_that_they_were_given() -> None:
    needs = needs_of_hosts(spec(KERNEL))
    assert set(needs["c1"].programs) == {"mount.nfs"}
    assert set(needs["io1"].programs) == {"exportfs", "rpc.nfsd", "rpc.mountd"}
    assert set(needs["io1"].files) == {"/proc/fs/nfs/exports"}


def test_a_cluster_without_servers_gets_what_every_node_has() -> None:
    asked = spec({"kind": "none"}, io=0)
    assert given(asked, "c1") == EVERY
    assert given(spec({"kind": "none"}, "amazon-linux-2023", io=0), "c1") == ON_AMAZON


def test_the_lustre_client_comes_from_amazon_by_the_images_own_way() -> None:
    ubuntu = spec({"kind": "fsx-lustre"}, "ubuntu-24.04", io=0)
    assert given(ubuntu, "c1") == EVERY  # its module is in a repository of Amazon's
    (text,) = preparations_of_node(ubuntu, "c1")
    assert 'apt-get install -y "lustre-client-modules-$(uname -r)"' in text and "noble" in text
    amazon = spec({"kind": "fsx-lustre"}, "amazon-linux-2023", io=0)
    assert given(amazon, "c1") == ON_AMAZON | {"lustre-client"}
    assert preparations_of_node(amazon, "c1") == (TOOLS_ON_AMAZON_LINUX,)
    assert package_problems(ubuntu) == package_problems(amazon) == []
    (finding,) = package_problems(spec({"kind": "fsx-lustre"}, "debian-12", io=0))
    assert "no Lustre client for Debian" in finding and "take ubuntu-24.04" in finding
    own = spec({"kind": "fsx-lustre"}, "ami-0123456789abcdef0", io=0)
    assert package_problems(own) == [] and preparations_of_node(own, "c1") == ()
    assert set(needs_of_hosts(own)["c1"].programs) == {"mount.lustre", "lfs"}


@pytest.mark.parametrize(
    ("image", "plain", "tls"),
    [
        ("debian-12", EVERY | {"nfs-common"}, {"stunnel4"}),
        ("ubuntu-24.04", EVERY | {"nfs-common"}, {"stunnel4"}),
        ("amazon-linux-2023", ON_AMAZON | {"nfs-utils"}, {"stunnel"}),
    ],
)
def test_efs_takes_the_kernels_client_and_stunnel_for_tls(
    image: str, plain: set[str], tls: set[str]
) -> None:
    assert given(spec({"kind": "efs"}, image, io=0), "c1") == plain
    assert given(spec({"kind": "efs", "tls": True}, image, io=0), "c1") == plain | tls


@pytest.mark.parametrize("image", ["debian-12", "ubuntu-24.04"])
def test_instances_that_get_what_measures_have_it(image: str) -> None:
    assert tools_unknown(spec({"kind": "nfs"}, image)) == []


def test_what_measures_is_said_to_be_unknown_where_it_could_not_be_tried() -> None:
    (said,) = tools_unknown(spec(KERNEL, "amazon-linux-2023"))
    assert "fio and iperf3 is not known before an instance runs: its instances are given" in said
    (said,) = tools_unknown(spec(KERNEL, "ami-0123456789abcdef0"))
    assert "an image of your own must have them, and 'up' says what each lacks" in said


def test_amazon_linux_tries_what_measures_one_by_one_and_comes_up_without(tmp_path: Path) -> None:
    asked = spec(KERNEL, "amazon-linux-2023")
    assert preparations_of_node(asked, "c1") == preparations_of_node(asked, "io1")
    (text,) = preparations_of_node(asked, "c1")
    dnf = tmp_path / "dnf"
    dnf.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/said\n[ "$3" != fio ]\n')
    dnf.chmod(0o755)
    subprocess.run(["sh", "-ec", text], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    assert (tmp_path / "said").read_text() == "install -y fio\ninstall -y iperf3\n"
