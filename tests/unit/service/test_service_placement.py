"""Which servers are chosen, and in which words a request is refused."""

from __future__ import annotations

import pytest
from service_fakes import GIB, NOON, request, server, tenant

from wavetank.service.core import changes, placement
from wavetank.service.core.placement import Ask
from wavetank.service.core.records import Held, Quota, Resize, Share, Tenant, Usage
from wavetank.service.core.refusals import Refused


def held(node, *sizes, used=0, tenants=(), dedicated_to=None, **others):
    each = server(node, *(size * GIB for size in sizes), **others)
    free = {device.name: device.size - used * GIB for device in each.devices}
    return Held(server=each, free=free, tenants=frozenset(tenants), dedicated_to=dedicated_to)


def ask(size=1, servers=1, devices=1, mode="shared", redundancy=0, kind="glusterfs"):
    return Ask("data", "ann", kind, mode, size * GIB, redundancy, servers, devices)


def nodes(shares):
    return [share.node for share in shares if share.wanted]


def test_servers_of_the_same_tenant_come_first_then_empty_ones_then_the_emptiest():
    servers = [
        held("a-bob-emptiest", 100, used=1, tenants=["bob"]),
        held("b-empty", 10),
        held("c-ann", 10, used=6, tenants=["ann"]),
        held("d-both", 90, tenants=["ann", "bob"]),
        held("e-empty-larger", 20),
    ]
    order = [nodes(placement.place(ask(n, n), servers)) for n in (1, 2, 3, 4, 5)]
    assert order == [
        ["c-ann"],
        ["c-ann", "e-empty-larger"],
        ["b-empty", "c-ann", "e-empty-larger"],
        ["a-bob-emptiest", "b-empty", "c-ann", "e-empty-larger"],
        ["a-bob-emptiest", "b-empty", "c-ann", "d-both", "e-empty-larger"],
    ]


def test_a_dedicated_space_takes_the_smallest_empty_server_that_does():
    servers = [held("a", 100), held("b", 4), held("c", 10), held("d", 5, tenants=["ann"])]
    assert nodes(placement.place(ask(5, mode="dedicated"), servers)) == ["c"]


def test_a_refusal_says_what_each_server_lacks():
    servers = [
        held("io1", 10, 10, used=8, tenants=["bob"]),
        held("io2", 10),
        held("io3", 10, 10, dedicated_to="sp-1", tenants=["bob"]),
        held("io4", 10, 10, kinds=("nfs",)),
        held("io5", 10, 10),
    ]
    with pytest.raises(Refused) as refused:
        placement.place(ask(20, servers=2, devices=2), servers)
    assert refused.value.code == "no_room"
    assert str(refused.value) == (
        "no room for shared glusterfs space 'data': it needs 2 servers with 2 devices of 5 GiB each; 1 has room. "
        "io1: has 0 of 2 devices with 5 GiB free; the next has 2 GiB, 3 GiB too little; "
        "io2: has 1 device, not 2; io3: is dedicated to another space; io4: serves nfs, not glusterfs"
    )
    assert "bob" not in str(refused.value)


def test_a_dedicated_space_is_not_put_beside_another():
    with pytest.raises(Refused, match="io1: holds other spaces"):
        placement.place(ask(mode="dedicated"), [held("io1", 10, tenants=["ann"])])


def share(node, size, *, made=True, device="/dev/d0"):
    size *= GIB
    return Share(node=node, device=device, made=size if made else 0, wanted=size, held=size)


def test_growth_keeps_its_servers_and_holds_the_larger_of_both():
    servers = [held("io1", 10, used=4, tenants=["ann"]), held("io2", 10)]
    place = placement.replace(ask(6, servers=2), [share("io1", 4)], servers)
    assert [(each.node, each.made, each.wanted, each.held) for each in place] == [
        ("io1", 4 * GIB, 3 * GIB, 4 * GIB),
        ("io2", 0, 3 * GIB, 3 * GIB),
    ]
    assert [each.held for each in placement.settled(place)] == [3 * GIB, 3 * GIB]


def test_fewer_servers_are_those_whose_data_is_there():
    servers = [held(f"io{i}", 10, tenants=["ann"]) for i in range(3)]
    grown_in_vain = [share("io0", 2, made=False), share("io1", 2), share("io2", 2)]
    place = placement.replace(ask(4, servers=2), grown_in_vain, servers)
    assert nodes(place) == ["io1", "io2"]
    left = next(each for each in place if each.node == "io0")
    assert (left.wanted, left.held) == (0, 2 * GIB)
    assert nodes(placement.settled(place)) == ["io1", "io2"]


def test_a_refusal_by_quota_says_used_asked_and_allowed():
    ann = Tenant(name="ann", quota=Quota(bytes=10 * GIB, servers=0, spaces=3))
    used = Usage(bytes=8 * GIB, servers=0, spaces=3)
    with pytest.raises(Refused) as refused:
        changes.create("i", ann, request(size=4 * GIB, mode="dedicated"), used, [], NOON)
    assert refused.value.code == "quota"
    assert str(refused.value) == (
        "quota of tenant ann: bytes: 8 GiB used, 4 GiB more asked for, 10 GiB allowed; "
        "dedicated servers: 0 used, 1 more asked for, 0 allowed; spaces: 3 used, 1 more asked for, 3 allowed"
    )


def test_who_has_more_than_the_quota_may_still_shrink():
    servers = [held("io1", 10)]
    space, shares = changes.create("i", tenant(), request(size=4 * GIB), Usage(), servers, NOON)
    space = changes.finished(changes.moved(space, "making", NOON), "x", NOON)
    less = Tenant(name="ann", quota=Quota(bytes=GIB))
    used = Usage(bytes=4 * GIB, spaces=1)
    smaller, _ = changes.resize(space, shares, Resize(size=2 * GIB), less, used, servers, NOON)
    assert (smaller.state, smaller.size, smaller.generation) == ("changing", 2 * GIB, 2)
    with pytest.raises(Refused, match="1 GiB more asked for"):
        changes.resize(space, shares, Resize(size=5 * GIB), less, used, servers, NOON)


@pytest.mark.parametrize("more", [0, 1])
def test_the_last_byte_of_a_device_is_given_and_no_byte_more(more):
    def fits(call, *args):
        try:
            return bool(call(*args))
        except Refused as refused:
            assert "1 B too little" in str(refused)
            return False

    empty = Held(server=server("io1", 10 * GIB - more), free={"/dev/d0": 10 * GIB - more})
    assert fits(placement.place, ask(10), [empty]) is not bool(more)
    beside = empty.model_copy(update={"free": {"/dev/d0": 6 * GIB - more}})
    assert fits(placement.replace, ask(10), [share("io1", 4)], [beside]) is not bool(more)
