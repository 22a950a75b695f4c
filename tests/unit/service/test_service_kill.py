"""The process is killed before and after every commit and every lasting thing of the maker; the next one makes it good."""

from __future__ import annotations

import pytest
from service_fakes import (
    GIB,
    Clock,
    FolderMaker,
    ip,
    request,
    see_all_is_as_wanted,
    server,
    tenant,
)
from service_killing import DONE, KILLED, ended, points

from wavetank.service.core.records import AccessList, Resize
from wavetank.service.core.refusals import Refused
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.store.folder import open_store


class Wish:
    """What tenants ask for, each thing again until it is answered: a client does so whose connection broke."""

    def __init__(self, store, now):
        self.store, self.now = store, now

    def all(self, settle):
        store, now = self.store, self.now
        store.put_tenant(tenant("ann"), now())
        for i in range(3):
            store.put_server(server(f"io{i}", 100 * GIB), now())
        kept = self._create("kept", access=[ip("10.0.0.1")])
        gone = self._create("gone", mode="dedicated")
        settle()
        self._until_taken(kept, Resize(size=6 * GIB, servers=2))
        settle()
        rules = AccessList(access=(ip("10.0.0.2", "ro"),))
        store.set_access(kept, rules, now(), "tenant:ann")
        settle()
        self._until_taken(kept, Resize(size=2 * GIB))
        settle()
        if gone is not None:
            store.delete_space(gone, now(), "tenant:ann")
        settle()

    def _create(self, name, **asked):
        """Identity of the space; None of the one that was deleted already."""
        if name == "gone" and any(event.kind == "gone" for event in self.store.events("ann")):
            return None
        try:
            return self.store.create_space("ann", request(name, **asked), self.now(), "a")[0].id
        except Refused as refused:
            assert refused.code == "state"  # it is being deleted
            return None

    def _until_taken(self, space, resize):
        current = self.store.space(space)
        if current.generation > {6 * GIB: 1, 2 * GIB: 3}[resize.size]:
            return  # it was taken
        self.store.resize_space(space, resize, self.now(), "tenant:ann")


def run(folder, kill_at=None):
    """The whole story in this process; the number of points at which it could have been killed."""
    with points(kill_at) as point, open_store(folder / "service") as store:
        now = Clock()
        driver = Reconciler(store, FolderMaker(folder / "made", point), now)
        driver.recover()
        Wish(store, now).all(driver.settle)
    return point.n


def killed_at(folder, point):
    """Run the story in a process of its own that ends at a point; how it ended."""
    return ended(lambda: run(folder, point))


N_POINTS = 60  # at least so many: test_service_kill_all.py kills at each


def test_without_a_kill_it_comes_out_as_wanted(tmp_path):
    assert run(tmp_path) > N_POINTS
    see_all_is_as_wanted(tmp_path)


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
def test_a_kill_is_made_good_by_the_next_process(tmp_path, part):
    point = int(part * N_POINTS)
    assert killed_at(tmp_path, point) == KILLED
    assert killed_at(tmp_path, None) == DONE
    see_all_is_as_wanted(tmp_path)


def test_kills_one_after_the_other_are_made_good(tmp_path):
    """Each process is killed a few points after it began, until one comes through."""
    for attempt in range(1, 400):
        if killed_at(tmp_path, 6 + attempt) == DONE:
            break
    else:
        raise AssertionError("no process came through")
    see_all_is_as_wanted(tmp_path)
