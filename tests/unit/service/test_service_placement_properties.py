"""Any sequence of requests and of what becomes of them: never overcommitted, all given back, tenants apart, refusals right."""

from __future__ import annotations

from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from service_fakes import NOON, request, server, tenant, usage_of

from wavetank.service.core import changes, placement
from wavetank.service.core.records import Held, Resize
from wavetank.service.core.refusals import Refused

UNIT = 320 * 2**20  # bytes: the smallest space that every kind makes
TENANTS = ("ann", "bob")
KINDS = ("nfs", "glusterfs")
DEVICE = st.builds(lambda size, less: size * UNIT - less, st.integers(2, 40), st.integers(0, 1))


def held_servers(servers, spaces):
    """What is free, counted anew from the shares of all spaces."""
    for each in servers:
        on = [
            (space, share)
            for space, shares in spaces.values()
            for share in shares
            if share.node == each.node
        ]
        yield Held(
            server=each,
            free={
                device.name: device.size
                - sum(share.held for _, share in on if share.device == device.name)
                for device in each.devices
            },
            tenants=frozenset(space.tenant for space, _ in on),
            dedicated_to=next((space.id for space, _ in on if space.mode == "dedicated"), None),
        )


def has_room(held, kind, mode, devices, share):
    """Whether some choice of devices of a server has room for a new space's shares."""
    if kind not in held.server.kinds or held.dedicated_to or (mode == "dedicated" and held.tenants):
        return False
    return any(
        all(free >= share for free in choice)
        for choice in combinations(held.free.values(), devices)
    )


def some_place_exists(space, size, n, shares, all_held):
    """Whether any set of servers does: all of its own where it has no more than wanted, else some of them."""
    share = -(-size * (space.redundancy + 1) // (n * space.devices_per_server))
    own = {each.node for each in shares}
    for chosen in combinations(all_held, n):
        nodes = {held.server.node for held in chosen}
        if not (own <= nodes or nodes <= own):
            continue
        if all(
            all(
                share <= held.free[each.device] + each.held
                for each in shares
                if each.node == held.server.node
            )
            if held.server.node in own
            else has_room(held, space.kind, space.mode, space.devices_per_server, share)
            for held in chosen
        ):
            return True
    return False


class Fleet(RuleBasedStateMachine):
    """Spaces of two tenants on a few servers."""

    there = Bundle("there")

    @initialize(
        sizes=st.lists(st.lists(DEVICE, min_size=1, max_size=3), min_size=1, max_size=4),
        kinds=st.lists(st.sampled_from([("nfs",), ("glusterfs",), KINDS]), min_size=4, max_size=4),
        allowed=st.integers(1, 120),
        servers=st.integers(0, 4),
        spaces=st.integers(1, 5),
    )
    def begin(self, sizes, kinds, allowed, servers, spaces):
        self.servers = [server(f"io{i}", *each, kinds=kinds[i]) for i, each in enumerate(sizes)]
        quotas = {"ann": {"bytes": allowed * UNIT, "servers": servers, "spaces": spaces}, "bob": {}}
        self.tenants = {name: tenant(name, **quotas[name]) for name in TENANTS}
        self.spaces = {}
        self.made = 0

    def _held(self):
        return list(held_servers(self.servers, self.spaces))

    def _used(self, name):
        return usage_of(space for space, _ in self.spaces.values() if space.tenant == name)

    def _expected(self, space, size, n, shares, *, before=None):
        """The code of the refusal that is right; None where the request is to be taken."""
        quota, used = self.tenants[space.tenant].quota, self._used(space.tenant)
        more = {
            "bytes": size - (before.size if before else 0),
            "servers": (n - (before.servers if before else 0)) * (space.mode == "dedicated"),
            "spaces": 0 if before else 1,
        }
        for word, asked in more.items():
            allowed = getattr(quota, word)
            if allowed is not None and asked > 0 and getattr(used, word) + asked > allowed:
                return "quota"
        return None if some_place_exists(space, size, n, shares, self._held()) else "no_room"

    @rule(
        target=there,
        name=st.sampled_from(TENANTS),
        size=st.integers(1, 60),
        kind=st.sampled_from(KINDS),
        mode=st.sampled_from(["shared", "shared", "dedicated"]),
        servers=st.integers(1, 3),
        devices=st.integers(1, 3),
        redundancy=st.integers(0, 1),
    )
    def create(self, name, size, kind, mode, servers, devices, redundancy):
        self.made += 1
        asked = request(
            f"s{self.made}",
            size * UNIT,
            kind=kind,
            mode=mode,
            servers=servers,
            devices_per_server=devices,
            redundancy=redundancy,
        )
        code, space = self._try(
            lambda: changes.create(
                asked.name, self.tenants[name], asked, self._used(name), self._held(), NOON
            )
        )
        if code == "invalid":
            assert (kind == "nfs" and (servers > 1 or devices > 1 or redundancy)) or (
                redundancy and (servers == 1 or servers * devices % 2)
            )
            return multiple()
        if space is None:
            shown = asked.model_copy()
            assert code == self._expected(_WithTenant(shown, name), asked.size, servers, ())
            return multiple()
        assert self._expected(space[0], asked.size, servers, ()) is None
        self.spaces[asked.name] = space
        return asked.name

    def _try(self, change):
        try:
            return None, change()
        except Refused as refused:
            assert str(refused)
            return refused.code, None

    @rule(identity=there, size=st.integers(1, 60), servers=st.integers(1, 4))
    def resize(self, identity, size, servers):
        space, shares = self.spaces[identity]
        code, after = self._try(
            lambda: changes.resize(
                space,
                shares,
                Resize(size=size * UNIT, servers=servers),
                self.tenants[space.tenant],
                self._used(space.tenant),
                self._held(),
                NOON,
            )
        )
        if code in ("state", "invalid"):
            return
        if (size * UNIT, servers) == (space.size, space.servers) and space.state == "ready":
            assert after == (space, shares)
            return
        assert code == self._expected(space, size * UNIT, servers, shares, before=space)
        if after is not None:
            kept = {each.node for each in shares} & {each.node for each in after[1] if each.wanted}
            assert len(kept) == min(servers, len({each.node for each in shares}))
            self.spaces[identity] = after

    @rule(identity=there)
    def finish(self, identity):
        space, shares = self.spaces[identity]
        if space.state == "requested":
            space = changes.moved(space, "making", NOON)
        if space.state in ("making", "growing", "changing"):
            self.spaces[identity] = changes.finished(space, "x", NOON), placement.settled(shares)

    @rule(identity=there)
    def fail(self, identity):
        space, shares = self.spaces[identity]
        if space.state != "failed":
            self.spaces[identity] = changes.failed(space, "broken", NOON), shares

    @rule(identity=there)
    def retry(self, identity):
        space, shares = self.spaces[identity]
        if space.state == "failed":
            self.spaces[identity] = changes.retry(space, NOON), shares

    @rule(identity=consumes(there))
    def delete(self, identity):
        space = changes.delete(self.spaces[identity][0], NOON)
        assert changes.finished(space, None, NOON).state == "gone"
        del self.spaces[identity]

    @precondition(lambda self: hasattr(self, "spaces"))
    @invariant()
    def nothing_is_overcommitted(self):
        for held in held_servers(self.servers, self.spaces):
            assert all(free >= 0 for free in held.free.values())

    @precondition(lambda self: hasattr(self, "spaces"))
    @invariant()
    def dedicated_servers_hold_one_space(self):
        for each in self.servers:
            on = {
                (space.id, space.mode)
                for space, shares in self.spaces.values()
                for share in shares
                if share.node == each.node
            }
            assert len(on) <= 1 or all(mode == "shared" for _, mode in on)

    @precondition(lambda self: hasattr(self, "spaces"))
    @invariant()
    def each_space_has_what_it_was_promised(self):
        for space, shares in self.spaces.values():
            wanted = [share for share in shares if share.wanted]
            places = {(share.node, share.device) for share in wanted}
            assert len(places) == len(wanted) == space.servers * space.devices_per_server
            assert len({share.node for share in wanted}) == space.servers
            assert sum(share.wanted for share in wanted) >= space.size * (space.redundancy + 1)
            assert all(share.held >= max(share.wanted, share.made) for share in shares)
            if space.state == "ready":
                assert all(share.held == share.wanted == share.made for share in shares)


class _WithTenant:
    """A request as a space of a tenant that it did not become."""

    def __init__(self, asked, name):
        self.tenant = name
        for key in ("kind", "mode", "redundancy", "devices_per_server"):
            setattr(self, key, getattr(asked, key))


Fleet.TestCase.settings = settings(max_examples=100, stateful_step_count=25)
TestFleet = Fleet.TestCase
