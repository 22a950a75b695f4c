"""A space of GlusterFS is told from what each of its servers has of it: scripts are answered here, and no server is asked."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_network
from typing import Any

import pytest
from service_fakes import GIB, NOON, ip, request, server, tenant

from wavetank.cluster.host import Finished
from wavetank.errors import RemoteCommandError, ServiceError
from wavetank.service.core import changes
from wavetank.service.core.orders import Order, UnfinishedError
from wavetank.service.core.placement import settled
from wavetank.service.core.records import Access, Held, Usage
from wavetank.service.core.refusals import Refused
from wavetank.service.makers import images, packet_filter
from wavetank.service.makers.glusterfs import bricks, moving, telling
from wavetank.service.makers.glusterfs.maker import GlusterMaker, _label
from wavetank.service.makers.images import Image

RULES = (ip("10.0.0.7"),)


LINE = "glusterfs:10.0.0.1:24100,10.0.0.2:24101/sp-1"


def rules(number: int, access: tuple[Access, ...] = RULES, **others: Any) -> bricks.Rules:
    """Of a brick that serves as it is to."""
    servers = ("10.0.0.1", "10.0.0.2")
    known = {"servers": servers, "volume": LINE, "stage": "moved", **others}
    return bricks.Rules(24100 + number, frozenset(access), **known)


class Answers:
    """A host that answers what it has; see ``on`` and ``served``."""

    def __init__(self, number: int) -> None:
        self.name, self.address = f"io{number}", f"10.0.0.{number + 1}"
        self.on: Image | None = None
        self.served = self.tells = True
        self.away = False
        self.lets_in = RULES

    def run(self, argv, **others):
        if self.away:
            raise RemoteCommandError(self.name, argv, 255, "no route to host")
        image = self.on
        told = ""
        if image is not None and argv[2] == images.LIST:
            mounted = "mounted" if image.mounted else "unmounted"
            told = f"space\t{image.space}\t{image.device}\t{image.size_bytes}\t{mounted}\t{image.state}\t{image.label}\t{image.rules}\n"
        elif image is not None and argv[2] == telling.ASK:
            line = bricks.Rules.of(image).told()
            told = f"program {telling.HASH if self.tells else 'other'}\ntold {image.space} {line}\n"
        elif image is not None and argv[2] == packet_filter.LIST:
            told = self._filters(image)
        elif image is not None and self.served:
            assert argv[2] == bricks.DAEMONS.asks
            told = f"7 {image.label} {bricks.hash_of(self, image)}\n"
        return Finished(told, "", 0.0)

    def _filters(self, image: Image) -> str:
        found = bricks.Rules.of(image)
        networks = (*packet_filter.networks_of(self.lets_in), *map(ip_network, found.servers))
        digest = packet_filter.hash_of(networks, [found.port])
        return f'\tchain {image.space} {{\n\t\treject with tcp reset comment "{digest}"\n\t}}\n'


class Servers:
    """Two servers with all of a space, which may be changed, and what the service knows."""

    def __init__(self) -> None:
        self.hosts = {f"io{i}": Answers(i) for i in range(2)}
        self.held = [Held(server=server(node, 9 * GIB), free={"/dev/d0": 9 * GIB}) for node in self.hosts]  # fmt: skip
        asked = request(servers=2, size=2 * GIB, access=RULES)
        space, shares = changes.create("sp-1", tenant(), asked, Usage(), self.held, NOON)
        self.wanted = Order(space, settled(shares))
        for number, host in enumerate(self.hosts.values()):
            host.on = Image("sp-1", "/dev/d0", GIB, True, "whole", "sp-1", rules(number).text())
        self.maker = GlusterMaker(self, self.hosts)

    def servers(self):
        return self.held

    def order(self, space):
        if space != "sp-1":
            raise Refused("unknown", "no such space")
        return self.wanted

    def change(self, node, **changed):
        self.hosts[node].on = dataclasses.replace(self.hosts[node].on, **changed)


@pytest.fixture
def two() -> Servers:
    return Servers()


def test_a_space_is_whole_with_all_of_its_parts(two):
    found = two.maker.find("sp-1")
    assert (found.whole, found.access) == (True, frozenset(RULES))
    assert found.shares == {("io0", "/dev/d0"): GIB, ("io1", "/dev/d0"): GIB}
    assert found.export == LINE
    assert two.maker.there().spaces == {"sp-1": found}


def test_a_part_that_is_not_served_or_by_other_rules_is_the_spaces(two):
    two.hosts["io1"].served = False
    assert not two.maker.find("sp-1").whole
    two.hosts["io1"].served = True
    two.hosts["io1"].lets_in = (ip("0.0.0.0/0"),)
    assert not two.maker.find("sp-1").whole  # by its packet filter
    two.hosts["io1"].lets_in = RULES
    two.change("io1", rules=rules(1, (ip("10.0.0.8"),)).text())
    assert two.maker.find("sp-1").access == {ip("10.0.0.8")}
    two.change("io1", rules=rules(1).text())
    two.change("io0", rules=rules(0, ()).text())
    assert two.maker.find("sp-1").access == set()


@pytest.mark.parametrize(
    "changed", [{"volume": "glusterfs:10.0.0.1:24100/sp-1"}, {"stage": "spread"}]
)
def test_a_space_is_whole_when_its_clients_know_all_bricks_and_files_are_moved(two, changed):
    two.change("io0", rules=rules(0, **changed).text())
    assert not two.maker.find("sp-1").whole


def test_a_server_that_tells_clients_nothing_is_missed(two):
    two.hosts["io1"].tells = False
    assert not two.maker.find("sp-1").whole


def test_a_space_of_a_version_that_told_nothing_is_brought_up_to_date(two):
    two.change("io0", rules='{"port": 24100, "access": [["ip", "10.0.0.7"]]}')
    found = two.maker.find("sp-1")
    assert (found.whole, found.access, found.export) == (False, frozenset(RULES), LINE)


@pytest.mark.parametrize(
    ("connected", "late"),
    [
        ([{}, {}], []),
        ([{"10.0.0.7": 1}, {"10.0.0.7": 1}], []),
        ([{"10.0.0.7": 2}, {"10.0.0.7": 1}], []),  # it did nothing since it was told
        ([{"10.0.0.7": 1, "10.0.0.8": 2}, {"10.0.0.8": 2}], ["10.0.0.7"]),
        ([{"10.0.0.7": 3}, {"10.0.0.7": 1}], ["10.0.0.7"]),  # two mounts, and one of them is late
    ],
)
def test_clients_that_do_not_use_all_bricks_are_named(connected, late):
    assert moving.those_without(connected) == late


def test_growth_waits_for_clients_that_are_let_in_and_names_them(monkeypatch):
    monkeypatch.setattr(moving, "LONGEST_WAIT_S", 0.0)

    class Connected:
        """A server whose brick has a client, and a stranger that nothing lets in."""

        name = "io0"

        def __init__(self, told):
            self.told = told

        def run(self, argv, **others):
            assert argv[2:] == [moving.CONNECTED, "sh", "5E24"]
            return Finished(self.told, "", 0.0)

    old, new = Connected("0700000A 1\n0800000A 1\n"), Connected("")
    with pytest.raises(UnfinishedError, match=r"^10\.0\.0\.7 has not taken the new servers yet"):
        moving.wait_for_clients([(old, 24100), (new, 24100)], RULES, 0.0)
    new.told = "0700000A 1\n"
    moving.wait_for_clients([(old, 24100), (new, 24100)], RULES, 0.0)


def test_a_part_that_is_gone_is_missed_and_not_made_anew(two):
    two.hosts["io0"].on = None
    found = two.maker.find("sp-1")
    assert (found.whole, set(found.shares)) == (False, {("io1", "/dev/d0")})
    with pytest.raises(ServiceError, match="server io0 has no such space any more"):
        two.maker.resize(two.wanted)
    two.hosts["io1"].on = None
    assert two.maker.find("sp-1") is None


def test_of_a_space_on_a_server_that_is_away_nothing_is_known(two):
    two.hosts["io1"].away = True
    there = two.maker.there()
    assert (dict(there.spaces), list(there.away)) == ({}, ["io1"])
    with pytest.raises(ServiceError, match="no route to host"):
        two.maker.find("sp-1")


def test_a_space_that_the_service_never_heard_of_is_told(two):
    for node in two.hosts:
        two.change(node, space="sp-2")
    assert set(two.maker.there().spaces) == {"sp-2"}


def test_a_space_is_called_differently_on_each_device_of_a_server():
    held = [
        Held(server=server(node, 9 * GIB, 9 * GIB), free={"/dev/d0": 9 * GIB, "/dev/d1": 9 * GIB})
        for node in ("io0", "io1")
    ]
    asked = request(servers=2, devices_per_server=2, size=2 * GIB)
    order = Order(*changes.create("sp-1", tenant(), asked, Usage(), held, NOON))
    assert {place: _label(order, place) for place in order.wanted_shares()} == {
        ("io0", "/dev/d0"): "sp-1",
        ("io0", "/dev/d1"): "sp-1-2",
        ("io1", "/dev/d0"): "sp-1",
        ("io1", "/dev/d1"): "sp-1-2",
    }
