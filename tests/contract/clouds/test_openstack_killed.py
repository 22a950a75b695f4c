"""wavetank killed (SIGKILL) after every single call that up and down make to OpenStack: then ``down`` or ``prune`` leaves nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from emulated_account import Emulator
from killed_tries import tries

PROGRAM = Path(__file__).parent / "openstack_killed.py"
THINGS = {
    "os-keypairs", "security-groups", "networks", "subnets", "routers", "os-server-groups", "servers", "volumes", "floatingips",
}  # fmt: skip


@pytest.mark.parametrize("how", ["up", "down"])
def test_after_a_kill_at_any_call_nothing_is_left(
    how: str, openstack_of_all: Emulator, tmp_path: Path
) -> None:
    """Killed while it comes up, or goes, after each call that changes something, and after the call that follows."""
    openstack_of_all.reset()
    found = tries(PROGRAM, how, openstack_of_all.url, tmp_path, "nfs", every=False)
    removes = ("DELETE ", "PUT neutron:/routers/*/remove_router_interface")
    makes = ("POST ", "PUT neutron:/routers/*/add_router_interface")
    calls = [
        each for each in found[-1]["calls"] if each.startswith(removes if how == "down" else makes)
    ]
    after = [each["call"] for each in found[:-1]]
    assert [each for each in after if not each.startswith("GET ")] == calls
    assert {each.split(":/")[1].split("/")[0] for each in calls} >= THINGS
    if how == "up":
        # two servers and ports, a volume, a key, a network with subnet, router and its port, groups, an address
        assert max(each["left_then"] for each in found) >= 12


@pytest.mark.parametrize("how", ["up", "down"])
def test_after_a_kill_no_share_is_left(
    how: str, openstack_of_all: Emulator, tmp_path: Path
) -> None:
    openstack_of_all.reset()
    url = openstack_of_all.url
    found = tries(PROGRAM, how, url, tmp_path, "manila-share", every=False, least=6)
    calls = Counter(found[-1]["calls"])
    after = Counter(each["call"] for each in found[:-1])
    if how == "up":
        for call, n in (("POST manila:/shares", 1), ("POST manila:/shares/*/action", 2)):
            assert calls[call] == after[call] == n
    else:
        assert calls["DELETE manila:/shares/*"] == after["DELETE manila:/shares/*"] == 1
