"""The stand-ins of OpenStack's services, and clusters in them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from emulated_account import wait_for_none
from openstack_identity import PASSWORD

from wavetank.cluster.clouds import engine
from wavetank.cluster.spec import ClusterSpec

OF_NOVA = Path(__file__).parents[3] / "build" / "nova"  # made by the Makefile
NOVA = OF_NOVA / "bin" / "python"
WITH_NOVA = (
    pytest.mark.optional,  # no Debian package brings it
    pytest.mark.skipif(
        not (OF_NOVA / ".installed").exists(), reason="Nova is not installed: make test-openstack"
    ),
)
AT_NOVA = 10  # a look at it costs much: waiting.between_looks
STANDIN = Path(__file__).parent / "openstack_standin.py"
PRICES = Path(__file__).parent / "site-prices.yaml"
OWN_IMAGE = {"image": "own"}  # terms of a cluster whose image has all that is needed
# Not credentials: the stand-in's own. No file of whoever runs the tests is read.
SETTINGS = {
    "OS_USERNAME": "alice",
    "OS_PASSWORD": PASSWORD,
    "OS_PROJECT_NAME": "lab",
    "OS_USER_DOMAIN_NAME": "Default",
    "OS_PROJECT_DOMAIN_NAME": "Default",
    "OS_REGION_NAME": "RegionOne",
    "OS_CLIENT_CONFIG_FILE": "/dev/null",
}


def environment(url: str) -> dict[str, str]:
    """By which the stand-in at a URL is found."""
    return {**SETTINGS, "OS_AUTH_URL": f"{url}/identity"}


def account_class() -> Any:
    from wavetank.cluster.clouds.openstack.account import Account

    return Account


def makes_machines(words: Sequence[str]) -> bool:
    return words == ("nova", "POST", "/servers")


def is_step(words: Sequence[str]) -> bool:
    """A call that changes something."""
    return words[1] != "GET"


def without_waits() -> None:
    """Have this process wait for no account: the stand-in shows all at once, and looks that are alike take the tests' time."""
    wait_for_none(account_class())
    engine.SETTLES_AFTER = timedelta()


def body_of(name: str = "lab", **changes: Any) -> dict[str, Any]:
    """A cluster of four servers in two roles, with two volumes each on those that hold data."""
    of_openstack = {"image": "Debian 12", "external": "public", **changes.pop("openstack", {})}
    cloud = {
        "region": "RegionOne", "ttl": "2 h", "budget": "5 USD", "ssh_from": "192.0.2.0/24", "prices": str(PRICES),
        "openstack": of_openstack, **changes.pop("cloud", {}),
    }  # fmt: skip
    return {
        "name": name,
        "provider": "openstack",
        "instance": {"name": "m1.large"},
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "glusterfs"},
        "storage": {"size": "20 GiB", "devices": 2},
        "cloud": cloud,
        **changes,
    }


def spec_of(name: str = "lab", **changes: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(body_of(name, **changes))


def share_of(file_system: dict[str, Any] | None = None, **changes: Any) -> ClusterSpec:
    """A cluster whose file system is a share of Manila."""
    share = {"kind": "manila-share", "capacity": "100 GiB", **(file_system or {})}
    body = body_of(nodes={"compute": 2}, file_system=share, **changes)
    return ClusterSpec.model_validate(
        {key: value for key, value in body.items() if key != "storage"}
    )
