"""Jobs on servers: none waits for a server that it does not need, and revocations wait for no other work."""

from __future__ import annotations

import threading

import pytest
from service_fakes import GIB, Clock, FolderMaker, ip, request, server, tenant

from waiting import until
from wavetank.service.core.records import AccessList, Resize
from wavetank.service.daemon.loop import Loop
from wavetank.service.daemon.settings import Settings
from wavetank.service.reconcile.lanes import Lanes
from wavetank.service.store.folder import open_store


def test_a_server_has_one_job_at_a_time_and_no_job_waits_for_other_servers():
    failures, log, go_on = [], [], threading.Event()
    lanes = Lanes(failures.append)

    def job(name, waits=False):
        def run():
            log.append(name)
            if waits:
                go_on.wait()

        return run

    lanes.offer("slow", frozenset({"a"}), job("slow", waits=True))
    lanes.offer("both", frozenset({"a", "b"}), job("both"))
    lanes.offer(
        "after", frozenset({"b"}), job("after")
    )  # came later than one that needs its server
    lanes.offer("other", frozenset({"c"}), job("other"))
    lanes.offer("both", frozenset({"a", "b"}), job("both"))
    until(lambda: "other" in log)
    assert log == ["slow", "other"]
    go_on.set()
    until(lambda: "after" in log)
    assert log == ["slow", "other", "both", "after"]
    lanes.offer("broken", frozenset({"a"}), lambda: 1 / 0)
    lanes.offer("next", frozenset({"a"}), job("next"))
    until(lambda: "next" in log)
    lanes.close()
    lanes.offer("late", frozenset({"d"}), job("late"))
    assert "late" not in log
    assert [type(each) for each in failures] == [ZeroDivisionError]


class Stuck(FolderMaker):
    """A maker whose resizing waits, as on a server that does not answer; ``stuck`` says that it does."""

    def __init__(self, folder):
        super().__init__(folder)
        self.stuck, self.go_on = threading.Event(), threading.Event()

    def resize(self, order):
        self.stuck.set()
        self.go_on.wait()
        super().resize(order)


@pytest.fixture
def running(tmp_path):
    """A store with two spaces on two servers, a maker that sticks, and the loop."""
    with open_store(tmp_path / "service") as store:
        now, maker = Clock(), Stuck(tmp_path / "made")
        store.put_tenant(tenant("ann"), now())
        for node in ("io0", "io1"):
            store.put_server(server(node, 100 * GIB), now())
        settings = Settings(folder=tmp_path / "service", retry_s=0.05)
        loop = Loop(store, maker, settings, now, lambda: 0.0, lambda: None)
        asked = request(mode="dedicated", access=[ip("10.0.0.1")])
        spaces = [
            store.create_space("ann", asked.model_copy(update={"name": name}), now(), "admin")[0].id
            for name in ("one", "two")
        ]
        loop.start()
        try:
            until(lambda: store.ready_spaces() == tuple(spaces))
            yield store, maker, now, loop, spaces
        finally:
            maker.go_on.set()
            loop.stop()
        assert loop.failure is None


def test_a_server_that_is_stuck_keeps_nothing_from_the_others_and_no_client_in(running):
    store, maker, now, loop, (slow, other) = running
    store.resize_space(slow, Resize(size=2 * GIB), now(), "admin")
    loop.wake()
    until(maker.stuck.is_set)
    nobody = AccessList(access=())
    for space in (other, slow):
        store.set_access(space, nobody, now(), "admin")
    loop.wake()
    until(lambda: store.space(other).state == "ready")
    assert maker.find(other).access == frozenset()
    (node,) = {share.node for share in store.order(slow).shares}
    until(lambda: (slow, node, ()) in maker.shut)  # while its server is stuck
    assert not maker.go_on.is_set()
    maker.go_on.set()
    until(lambda: store.space(slow).state == "ready")
    assert maker.find(slow).access == frozenset()


def test_a_space_that_goes_lets_nobody_in_while_its_server_is_stuck(running):
    store, maker, now, loop, (slow, _) = running
    store.resize_space(slow, Resize(size=2 * GIB), now(), "admin")
    loop.wake()
    until(maker.stuck.is_set)
    store.delete_space(slow, now(), "admin")
    loop.wake()
    until(lambda: any(each[0] == slow and each[2] == () for each in maker.shut))
    maker.go_on.set()
    until(lambda: store.space(slow).state == "gone")
