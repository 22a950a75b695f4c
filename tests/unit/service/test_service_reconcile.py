"""The driver with a maker whose spaces are folders: what is asked for comes about, and what fails is told."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest
from service_fakes import GIB, Clock, FolderMaker, ip, request, server, tenant

from wavetank.service.core.orders import UnfinishedError
from wavetank.service.core.records import AccessList, Resize
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.store.folder import open_store


class Service:
    """A store, a maker and the driver between them."""

    def __init__(self, store, folder):
        self.store, self.now = store, Clock()
        self.maker = FolderMaker(folder)
        self.driver = Reconciler(store, self.maker, self.now)
        store.put_tenant(tenant("ann"), self.now())
        for i in range(3):
            store.put_server(server(f"io{i}", 100 * GIB), self.now())

    def create(self, name="data", **asked):
        space, _ = self.store.create_space("ann", request(name, **asked), self.now(), "tenant:ann")
        return space.id

    def deeds(self):
        return [deed for deed, _ in self.maker.calls]

    def kinds(self, space):
        return [event.kind for event in self.store.events(space=space)]


@pytest.fixture
def service(tmp_path):
    with open_store(tmp_path / "service") as store:
        yield Service(store, tmp_path / "made")


def test_a_space_is_made_grows_changes_and_goes(service):
    space = service.create(access=[ip("10.0.0.1")])
    assert service.driver.settle() == 1
    ready = service.store.space(space)
    assert (ready.state, ready.export, ready.made_generation) == ("ready", f"server:/{space}", 1)
    service.store.resize_space(space, Resize(size=4 * GIB, servers=2), service.now(), "admin")
    service.driver.settle()
    assert service.maker.find(space).shares == service.store.order(space).wanted_shares()
    assert len(service.maker.find(space).shares) == 2
    service.store.set_access(
        space, AccessList(access=(ip("10.0.0.2", "ro"),)), service.now(), "admin"
    )
    service.driver.settle()
    assert service.maker.find(space).access == {ip("10.0.0.2", "ro")}
    assert service.store.space(space).made_generation == 3
    service.store.delete_space(space, service.now(), "admin")
    service.driver.settle()
    assert service.maker.spaces() == set()
    assert service.store.space(space).state == "gone"
    assert service.deeds() == ["make", "resize", "change_access", "remove"]
    assert service.driver.settle() == 0
    assert all(held.free_bytes == 100 * GIB for held in service.store.servers())


def test_every_deed_is_written_down_before_it_is_done(service):
    space = service.create()
    open_at = []
    service.maker.point = lambda: open_at.append([i.deed for i in service.store.open_intents()])
    service.driver.settle()
    service.store.delete_space(space, service.now(), "admin")
    service.driver.settle()
    assert len(open_at) > 8
    assert all(deeds in (["make"], ["remove"]) for deeds in open_at)
    assert service.store.open_intents() == ()


def test_what_the_maker_cannot_do_fails_with_its_reason_and_the_others_go_on(service):
    space = service.create()
    service.maker.broken = {"make": "io0: no space left on device"}
    service.driver.settle()
    failed = service.store.space(space)
    assert (failed.state, failed.failed_in, failed.reason) == (
        "failed",
        "making",
        "io0: no space left on device",
    )
    service.maker.broken = {}
    other = service.create("other")
    service.driver.settle()
    assert service.store.space(other).state == "ready"
    assert service.store.space(space).state == "failed"
    service.store.retry_space(space, service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).state == "ready"
    assert service.store.space(space).reason is None


def test_growth_that_failed_is_taken_back_or_tried_again(service):
    space = service.create()
    service.driver.settle()
    service.maker.broken = {"resize": "io1 is down"}
    service.store.resize_space(space, Resize(servers=2), service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).state == "failed"
    assert len([held for held in service.store.servers() if held.tenants]) == 2
    service.maker.broken = {}
    service.store.resize_space(space, Resize(servers=1), service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).state == "ready"
    assert list(service.maker.find(space).shares) == [("io0", "/dev/d0")]
    assert len([held for held in service.store.servers() if held.tenants]) == 1


def test_a_removal_that_failed_is_never_undone(service):
    space = service.create()
    service.driver.settle()
    service.maker.broken = {"remove": "busy"}
    service.store.delete_space(space, service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).failed_in == "deleting"
    service.maker.broken = {}
    service.store.retry_space(space, service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).state == "gone"
    assert service.maker.spaces() == set()


def test_servers_that_cannot_be_asked_make_nothing_fail(service):
    space = service.create()
    service.driver.settle()
    service.maker.away = {"io0": "io0 does not answer"}
    service.store.resize_space(space, Resize(size=2 * GIB), service.now(), "admin")
    service.driver.settle()
    service.driver.examine()
    service.driver.examine()
    assert service.store.space(space).state == "growing"
    assert service.kinds(space).count("unreachable") == 1
    service.maker.away = {}
    service.driver.settle()
    assert service.store.space(space).state == "ready"


def test_a_space_that_waits_lets_others_have_their_turn_and_says_what_for(service):
    slow, other = service.create("slow"), service.create("other")
    service.driver.settle()
    resize = service.maker.resize

    def waits(order):
        if order.space.id == slow:
            raise UnfinishedError("files are being moved")
        resize(order)

    service.maker.resize = waits
    for space in (slow, other):
        service.store.resize_space(space, Resize(size=2 * GIB), service.now(), "admin")
    for _ in range(3):
        service.driver.settle()
    states = [service.store.space(each).state for each in (slow, other)]
    assert states == ["growing", "ready"]
    last = service.store.events(space=slow)[-1]
    assert (last.kind, last.text, last.times) == ("waiting", "files are being moved", 3)
    assert service.kinds(slow).count("step") == 2  # it was made, and is being grown
    assert service.store.open_intents() == ()
    service.maker.resize = resize
    service.driver.settle()
    assert service.store.space(slow).state == "ready"


def test_where_one_server_is_away_spaces_of_the_others_are_looked_after(service):
    hidden, lost, damaged = (
        service.create(name, mode="dedicated") for name in ("hidden", "lost", "damaged")
    )
    service.driver.settle()
    nodes = {each: service.store.order(each).shares[0].node for each in (hidden, lost, damaged)}
    assert len(set(nodes.values())) == 3
    service.maker.away = {nodes[hidden]: "it does not answer"}
    shutil.rmtree(service.maker.folder / lost)
    (service.maker.folder / damaged / "half").write_text("")
    service.driver.examine()
    service.driver.examine()
    states = [service.store.space(each).state for each in (hidden, lost, damaged)]
    assert states == ["ready", "failed", "ready"]
    assert service.maker.find(damaged).whole
    assert [service.kinds(each).count("unreachable") for each in nodes] == [1, 0, 0]
    of_all = [each for each in service.store.events() if each.space is None]
    told = [each.text for each in of_all if each.kind == "unreachable"]
    assert told == ["it does not answer"]
    service.maker.away = {}
    service.driver.examine()
    assert service.store.space(hidden).state == "ready"


def test_a_maker_that_says_done_and_did_not_is_found_out(service):
    space = service.create()
    service.maker.make = lambda order: service.maker.calls.append(("make", order.space.id))
    service.driver.settle()
    assert service.deeds() == ["make"]
    failed = service.store.space(space)
    assert failed.state == "failed"
    assert failed.reason == "make was done, and still: nothing of it is there yet"


def test_data_that_something_else_removed_is_told_and_not_made_anew(service):
    space = service.create()
    service.driver.settle()
    service.maker.remove(space)
    service.maker.calls.clear()
    service.driver.examine()
    assert service.store.space(space).state == "failed"
    assert "its data with it" in service.store.space(space).reason
    assert service.deeds() == []


def test_rules_that_something_else_changed_are_put_back(service):
    space = service.create(access=[ip("10.0.0.1")])
    service.driver.settle()
    order = service.store.order(space)
    everyone = order.space.model_copy(update={"access": (ip("0.0.0.0/0"),)})
    service.maker.change_access(type(order)(everyone, order.shares))
    service.driver.examine()
    assert service.maker.find(space).access == {ip("10.0.0.1")}
    assert service.store.space(space).state == "ready"


def test_what_the_service_does_not_know_is_told_and_left(service):
    for name in ("sp-b", "sp-a"):
        (service.maker.folder / name).mkdir()
    service.driver.recover()
    service.driver.recover()
    assert service.maker.spaces() == {"sp-a", "sp-b"}
    told = [event.text for event in service.store.events() if event.kind == "stray"]
    assert told == ["on the servers and unknown to the service, left as it is: sp-a, sp-b"]


def test_what_is_left_of_a_space_that_is_gone_is_removed(service):
    space = service.create()
    service.driver.settle()
    service.store.delete_space(space, service.now(), "admin")
    service.driver.settle()
    (service.maker.folder / space).mkdir()  # a server that was away comes back
    service.driver.examine()
    assert service.maker.spaces() == set()
    (service.maker.folder / space).mkdir()
    service.maker.broken = {"remove": "busy"}
    service.driver.examine()
    assert service.store.space(space).state == "gone"
    assert service.kinds(space)[-1] == "left"


def test_a_request_that_comes_while_a_deed_is_done_is_what_counts(service):
    space = service.create()
    asked = []

    def delete_once():
        if not asked:
            asked.append(service.store.delete_space(space, service.now(), "tenant:ann"))

    service.maker.point = delete_once
    service.driver.settle()
    assert service.store.space(space).state == "gone"
    assert service.maker.spaces() == set()
    assert service.deeds() == ["make", "remove"]


def test_rules_that_come_while_a_space_is_made_are_in_force_when_it_is_ready(service):
    space = service.create(access=[ip("10.0.0.1")])
    rules = AccessList(access=(ip("10.0.0.2"),))
    service.maker.point = lambda: service.store.set_access(space, rules, service.now(), "admin")
    service.driver.settle()
    ready = service.store.space(space)
    assert (ready.state, ready.generation, ready.made_generation) == ("ready", 2, 2)
    assert service.maker.find(space).access == {ip("10.0.0.2")}


def test_a_driver_that_is_to_stop_takes_no_further_step(service):
    first, second = service.create("first"), service.create("second")
    service.driver.stopping = lambda: "make" in service.deeds()
    service.driver.settle()
    assert service.deeds() == ["make"]
    assert service.store.open_intents() == ()
    assert [service.store.space(each).state for each in (first, second)] == ["making", "requested"]
    service.driver.stopping = lambda: False
    service.driver.settle()
    assert [service.store.space(each).state for each in (first, second)] == ["ready", "ready"]
    assert service.deeds() == ["make", "make"]


def test_a_wrong_rule_is_corrected_before_all_else_is_mended(service):
    space = service.create(access=[ip("10.0.0.1")])
    service.driver.settle()
    service.maker.broken = {"change_access": "its server refuses 10.0.0.2"}
    wrong, right = (AccessList(access=(ip(each),)) for each in ("10.0.0.2", "10.0.0.3"))
    service.store.set_access(space, wrong, service.now(), "admin")
    service.driver.settle()
    (service.maker.folder / space / "half").write_text("")
    assert service.store.space(space).state == "failed"
    service.maker.broken = {}
    service.store.set_access(space, right, service.now(), "admin")
    service.maker.calls.clear()
    service.driver.settle()
    assert service.deeds() == ["change_access", "resize"]
    assert service.store.space(space).state == "ready"
    assert service.maker.find(space).access == {ip("10.0.0.3")}


def test_a_space_that_could_not_be_made_by_its_rules_is_made_by_others(service):
    space = service.create(access=[ip("10.0.0.1")])
    service.maker.broken = {"make": "its server refuses 10.0.0.1"}
    service.driver.settle()
    service.maker.broken = {}
    service.store.set_access(space, AccessList(access=(ip("10.0.0.2"),)), service.now(), "admin")
    service.driver.settle()
    assert service.store.space(space).state == "ready"
    assert service.maker.find(space).access == {ip("10.0.0.2")}


@pytest.mark.parametrize("deed", ["make", "resize", "change_access", "remove"])
def test_what_failed_is_tried_again_by_itself_less_and_less_often(service, deed):
    space = service.create()
    if deed == "make":
        service.maker.broken = {deed: "busy"}
    service.driver.settle()
    service.maker.broken = {deed: "busy"}
    if deed == "resize":
        service.store.resize_space(space, Resize(size=2 * GIB), service.now(), "admin")
    elif deed == "change_access":
        service.store.set_access(
            space, AccessList(access=(ip("10.0.0.2"),)), service.now(), "admin"
        )
    elif deed == "remove":
        service.store.delete_space(space, service.now(), "admin")
    service.driver.settle()
    before = len(service.deeds())
    waits = []
    for _ in range(4):
        service.driver.examine()
        began = service.now.time
        while len(service.deeds()) == before:
            service.now.time += timedelta(seconds=10)
            service.driver.examine()
        waits.append(service.now.time - began)
        before = len(service.deeds())
        assert service.store.space(space).state == "failed"
    assert waits == sorted(waits)
    assert waits[-1] >= timedelta(seconds=200)
    service.maker.broken = {}
    service.now.time += timedelta(hours=1)
    service.driver.examine()
    assert service.store.space(space).state == ("gone" if deed == "remove" else "ready")
