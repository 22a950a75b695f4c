"""What tests of the service share: servers, requests, and a maker whose spaces are files of a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wavetank.errors import ServiceError
from wavetank.service.core.classes import KINDS, KindFacts
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.own_servers import Look, OwnCluster, OwnServers, Template
from wavetank.service.core.records import (
    Access,
    Device,
    Quota,
    Server,
    Space,
    SpaceRequest,
    Tenant,
    Usage,
)
from wavetank.service.core.refusals import Refused
from wavetank.service.store.folder import open_store

GIB = 2**30
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENDS = datetime(2026, 3, 8, 12, tzinfo=UTC)
"""When servers end themselves."""
ALL_KINDS = ("nfs", "glusterfs")


def usage_of(spaces: Iterable[Space]) -> Usage:
    """What spaces take of their tenant's quota: those that are not gone, also failed ones."""
    there = [space for space in spaces if space.state != "gone"]
    return Usage(
        bytes=sum(space.size for space in there),
        servers=sum(space.servers for space in there if space.mode == "dedicated"),
        spaces=len(there),
    )


@pytest.fixture(autouse=True, scope="module")
def kind_that_can_do_all() -> Iterator[None]:
    """Rules of the service are tested by a kind that can do all, whatever its maker can: here GlusterFS is one."""
    able = KindFacts(
        "GlusterFS", ("ip", "certificate"), most_servers=None, stripes=True, copies=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, "glusterfs", able)
        yield


class Clock:
    """Each look is a second later."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def server(node: str, *sizes: int, kinds: tuple[str, ...] = ALL_KINDS) -> Server:
    devices = tuple(Device(name=f"/dev/d{i}", size=size) for i, size in enumerate(sizes))
    return Server(node=node, devices=devices, kinds=kinds)


ONE_NETWORK = {"name": "any", "provider": "aws", "cloud": {"clients_from": ["10.0.0.0/16"]}}
"""Of templates whose clusters reach each other."""


def template(
    name: str = "small", most: int = 4, *sizes: int, kinds: tuple[str, ...] = ALL_KINDS,
    cluster: dict[str, object] = ONE_NETWORK,
) -> Template:  # fmt: skip
    devices = server(name, *(sizes or (10 * GIB,))).devices
    return Template(name=name, cluster=cluster, devices=devices, kinds=kinds, most_servers=most)


def tenant(name: str = "ann", **quota: int) -> Tenant:
    return Tenant(name=name, quota=Quota(**quota))


def request(name: str = "data", size: int = GIB, **others: object) -> SpaceRequest:
    return SpaceRequest(**{"name": name, "size": size, "kind": "glusterfs", **others})


def ip(subject: str, level: str = "rw") -> Access:
    return Access(kind="ip", subject=subject, level=level)


class Folders:
    """What is made are folders.

    Attributes:
        folder: of all of them.
        point: called before and after each thing that lasts; a test ends the process in it.
        broken: deed -> what it fails with.
    """

    def __init__(self, folder: Path, point: Callable[[], None] = lambda: None) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.point = point
        self.broken: dict[str, str] = {}

    def _see(self, deed: str) -> None:
        if deed in self.broken:
            raise ServiceError(self.broken[deed])

    def _lasts(self, do: Callable[[], object]) -> None:
        self.point()
        do()
        self.point()


class FolderMaker(Folders):
    """A maker whose spaces are folders: one file says that it was begun, one says what it is.

    Attributes:
        away: server -> why it cannot be asked.
        calls: (deed, space) in order.
    """

    def __init__(self, folder: Path, point: Callable[[], None] = lambda: None) -> None:
        super().__init__(folder, point)
        self.away: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.shut: list[tuple[str, str, tuple[Access, ...]]] = []

    def see(self, server: Server) -> None:
        self._see("see")
        if server.node in self.away:
            raise ServiceError(self.away[server.node])

    def there(self) -> There:
        found = (self._found(path.name) for path in sorted(self.folder.iterdir()))
        seen = (each for each in found if each is not None and not self._away(each))
        return There({each.space: each for each in seen}, self.away)

    def find(self, space: str) -> Found | None:
        self._see("find")
        found = self._found(space)
        if found is not None and (why := self._away(found)):
            raise ServiceError(why[0])
        return found

    def _away(self, found: Found) -> list[str]:
        return [self.away[node] for node, _ in found.shares if node in self.away]

    def _found(self, space: str) -> Found | None:
        path = self.folder / space
        if not path.is_dir():
            return None
        try:
            body = json.loads((path / "is").read_text())
        except FileNotFoundError:
            return Found(space, False, {}, frozenset(), "")
        shares = {(node, device): size for node, device, size in body["shares"]}
        access = frozenset(Access(**rule) for rule in body["access"])
        half = (path / "half").exists()
        return Found(space, not half, shares, access, f"server:/{space}")

    def make(self, order: Order) -> None:
        path = self._called("make", order.space.id)
        assert not path.exists(), "made twice"
        self._lasts(path.mkdir)
        self._lasts(lambda: (path / "data").write_text(""))
        self._write(path, order, access=order.space.access)

    def resize(self, order: Order) -> None:
        path = self._called("resize", order.space.id)
        before = json.loads((path / "is").read_text())
        self._lasts(lambda: (path / "half").write_text(""))
        self._write(path, order, access=tuple(Access(**rule) for rule in before["access"]))
        self._lasts((path / "half").unlink)

    def change_access(self, order: Order) -> None:
        path = self._called("change_access", order.space.id)
        self._write(path, order, access=order.space.access)

    def shut_out(self, order: Order, node: str) -> None:
        self.shut.append((order.space.id, node, order.space.access))

    def remove(self, space: str) -> None:
        path = self._called("remove", space)
        for name in ("is", "half", "data"):
            if (path / name).exists():
                self._lasts(lambda name=name: (path / name).unlink())
        if path.exists():
            self._lasts(path.rmdir)

    def spaces(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}

    def _write(self, path: Path, order: Order, access: tuple[Access, ...]) -> None:
        shares = [[*place, size] for place, size in order.wanted_shares().items()]
        body = {"shares": shares, "access": [rule.model_dump() for rule in access]}
        new = path.parent.parent / "new"
        new.write_text(json.dumps(body))
        self._lasts(lambda: new.rename(path / "is"))

    def _called(self, deed: str, space: str) -> Path:
        self.calls.append((deed, space))
        self._see(deed)
        return self.folder / space


class FolderClusters(Folders):
    """Brings up clusters that are folders: a file says that one is up. "see" and "bring_up" can be broken."""

    def see(self, template: Template) -> None:
        self._see("see")

    def look(self, cluster: str) -> Look:
        path = self.folder / cluster
        return "up" if (path / "up").exists() else "half" if path.exists() else "none"

    def ends(self, cluster: str) -> datetime | None:
        return ENDS

    def bring_up(self, own: OwnServers, cluster: OwnCluster) -> None:
        path = self.folder / cluster.name
        assert not path.exists(), "brought up twice"
        self._see("bring_up")
        self._lasts(path.mkdir)
        self._lasts(lambda: (path / "nodes").write_text(str(cluster.servers)))
        self._lasts(lambda: (path / "up").write_text(""))

    def take_down(self, cluster: str) -> None:
        path = self.folder / cluster
        for name in ("up", "nodes"):
            self._lasts(lambda name=name: (path / name).unlink(missing_ok=True))
        if path.exists():
            self._lasts(path.rmdir)

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def see_all_is_as_wanted(folder: Path, generation: int = 4) -> None:
    """The end of the story that processes are killed in: one space is as it was wanted last, one is gone."""
    with open_store(folder / "service") as store:
        maker = FolderMaker(folder / "made")
        kept = store.space_named("ann", "kept")
        assert (kept.state, kept.size, kept.servers) == ("ready", 2 * GIB, 2)
        assert kept.made_generation == kept.generation == generation
        found = maker.find(kept.id)
        assert found.whole
        assert found.shares == store.order(kept.id).wanted_shares()
        assert found.access == {ip("10.0.0.2", "ro")}
        assert maker.spaces() == {kept.id}  # nothing twice, nothing left
        assert store.spaces(None) == (kept,)
        assert store.open_intents() == ()
        assert store.unsettled() == ()
        # What is held is what is there: nothing is held for what is gone.
        assert sum(100 * GIB - held.free_bytes for held in store.servers()) == 2 * GIB
        requested = [
            event for event in store.events("ann", limit=1000) if event.kind == "requested"
        ]
        assert len(requested) == 2
        its = store.events("ann", space=kept.id, limit=1000)
        assert [event.kind for event in its].count("requested") == 1


def make_ready(store, space, now):
    """As the driver does when all goes well."""
    while (current := store.space(space)).state not in ("ready", "gone"):
        if current.state == "requested":
            store.begin(current, now)
        else:
            store.finish(current, "io0:/data", now)


def refusal(call, *args, **others):
    with pytest.raises(Refused) as refused:
        call(*args, **others)
    return refused.value
