"""Servers of a space's own: which template they are of, what becomes of them, and what a kill at any point leaves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_fakes import (
    GIB,
    NOON,
    Clock,
    FolderClusters,
    FolderMaker,
    ip,
    refusal,
    request,
    server,
    template,
    tenant,
)
from service_killing import DONE, KILLED, ended, points
from service_web import ASKED
from service_web import Service as WebService

from wavetank.errors import ServiceError
from wavetank.service.core.own_servers import Stock, choose
from wavetank.service.core.placement import Ask
from wavetank.service.core.records import AccessList, Device, Resize
from wavetank.service.core.refusals import Refused
from wavetank.service.daemon.registry import load_clusters
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.store.folder import open_store

LACKING = Refused("no_room", "no servers have room")


class AskingMaker(FolderMaker):
    """As makers of file systems do, it asks each server on which something of a space may be."""

    def __init__(self, store, clusters, folder, point):
        super().__init__(folder, point)
        self.store, self.clusters = store, clusters

    def find(self, space):
        for share in self.store.order(space).reached().shares:
            cluster = share.node.rpartition(".")[0]
            if cluster and self.clusters.look(cluster) != "up":
                raise ServiceError(f"no cluster is called {cluster}")
        return super().find(space)


class Service:
    """A store, one server of 4 GiB, templates of 10 GiB a server, and what makes spaces and brings servers up."""

    def __init__(self, store, folder, point=lambda: None, most=4):
        self.store, self.now = store, Clock()
        self.clusters = FolderClusters(folder / "clusters", point)
        self.maker = AskingMaker(store, self.clusters, folder / "made", point)
        self.driver = Reconciler(store, self.maker, self.now, clusters=self.clusters)
        store.put_tenant(tenant(), self.now())
        store.put_server(server("io0", 4 * GIB), self.now())
        store.put_template(template(most=most), self.now())

    def create(self, name="data", size=20 * GIB, servers=2, **others):
        asked = request(name, size, mode="dedicated", servers=servers, **others)
        return self.store.create_space("ann", asked, self.now(), "ann")[0].id

    def resize(self, space, **asked):
        return self.store.resize_space(space, Resize(**asked), self.now(), "ann")

    def settled(self, space):
        self.driver.settle()
        return self.store.space(space)

    def nodes(self):
        return [held.server.node for held in self.store.servers()]


@pytest.fixture
def service(tmp_path):
    with open_store(tmp_path / "service") as store:
        yield Service(store, tmp_path)


def test_servers_are_brought_up_for_a_space_and_go_with_it(service):
    space = service.create()
    assert service.nodes() == ["io0"]  # none is a server before it is there
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == {space}
    assert service.nodes() == ["io0", f"{space}.c1", f"{space}.c2"]
    own = [held for held in service.store.servers() if held.server.node != "io0"]
    assert {held.dedicated_to for held in own} == {space}
    assert [held.free_bytes for held in own] == [0, 0]
    steps = [each.text for each in service.store.events(space=space) if each.kind == "step"]
    assert [step.partition(":")[0] for step in steps] == ["bring_up", "admit", "make"]
    (stock,) = service.store.templates()
    assert stock.used == 2
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "gone"
    assert service.clusters.names() == service.maker.spaces() == set()
    assert service.nodes() == ["io0"]
    assert service.store.templates()[0].used == 0


def test_servers_that_are_there_come_first_and_shared_spaces_bring_up_none(service):
    space = service.create(size=4 * GIB, servers=1)
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == set()
    refused = refusal(
        service.store.create_space, "ann", request("more", 20 * GIB), service.now(), "ann"
    )
    assert refused.code == "no_room"
    assert "template" not in str(refused)


def test_a_refusal_says_what_each_template_lacks(service):
    service.store.put_template(template("large", 9, 50 * GIB, kinds=("nfs",)), service.now())
    service.settled(service.create())
    refused = refusal(service.create, "more", 30 * GIB, 3)
    assert refused.code == "no_room"
    assert "io0: has 0 of 1 device" in str(refused)
    assert "template large: its servers serve nfs, not glusterfs" in str(refused)
    assert "template small: 2 of its 4 servers are in use, and 3 more are needed" in str(refused)
    too_large = str(refusal(service.create, "more", 22 * GIB, 2))
    assert "template small: its servers have 10 GiB of a device, 1 GiB too little" in too_large
    devices = str(refusal(service.create, "more", 20 * GIB, 2, devices_per_server=2))
    assert "template small: its servers have 1 device, not 2" in devices
    assert len(service.clusters.names()) == 1


def test_its_servers_have_room_to_grow_to_their_ends(service):
    space = service.create(size=10 * GIB)
    service.settled(space)
    service.resize(space, size=20 * GIB)
    assert service.settled(space).size == 20 * GIB
    assert refusal(service.resize, space, size=21 * GIB).code == "no_room"


def test_it_gets_servers_of_a_further_cluster_and_all_go_with_it(service):
    space = service.create()
    service.settled(space)
    service.resize(space, size=30 * GIB, servers=3)
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == {space, f"{space}-2"}
    assert (service.clusters.folder / f"{space}-2" / "nodes").read_text() == "1"
    assert service.nodes() == ["io0", f"{space}-2.c1", f"{space}.c1", f"{space}.c2"]
    assert {share.node for share in service.store.order(space).shares} == set(service.nodes()[1:])
    assert [deed for deed, _ in service.maker.calls] == ["make", "resize"]
    assert service.store.templates()[0].used == 3
    refused = refusal(service.resize, space, size=50 * GIB, servers=5)
    assert (refused.code, str(refused)) == (
        "no_room",
        "no room for 2 more servers of template small: 3 of its 4 servers are in use, and 2 more are needed",
    )
    refused = refusal(service.resize, space, size=20 * GIB, servers=2)
    assert (refused.code, "hold data: they go with it" in str(refused)) == ("invalid", True)
    # those of the administrator may be elsewhere
    service.store.put_server(server("io9", 10 * GIB), service.now())
    service.resize(space, size=40 * GIB, servers=4)
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == {space, f"{space}-2", f"{space}-3"}
    service.store.remove_template("small", service.now())
    assert refusal(service.resize, space, size=50 * GIB, servers=5).code == "no_room"
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "gone"
    assert service.clusters.names() == service.maker.spaces() == set()
    assert service.nodes() == ["io0", "io9"]


def test_growth_for_which_no_servers_come_up_is_tried_again_or_taken_back(service):
    """Meanwhile the space stays as it was, and who loses access loses it."""
    space = service.create(access=[ip("10.0.0.2"), ip("10.0.0.3")])
    service.settled(space)
    service.clusters.broken["bring_up"] = "no zone has room"
    service.resize(space, size=30 * GIB, servers=3)
    found = service.settled(space)
    assert (found.state, found.reason, found.servers) == ("failed", "no zone has room", 3)
    service.store.set_access(space, AccessList(access=[ip("10.0.0.2")]), service.now(), "ann")
    assert service.settled(space).state == "failed"
    assert service.maker.find(space).access == {ip("10.0.0.2")}
    (service.clusters.folder / f"{space}-2").mkdir()  # of a process that was killed
    service.resize(space, size=20 * GIB, servers=2)
    found = service.settled(space)
    assert (found.state, found.servers, found.size) == ("ready", 2, 20 * GIB)
    assert service.clusters.names() == {space}
    assert {share.node for share in service.store.order(space).shares} == {f"{space}.c1", f"{space}.c2"}  # fmt: skip
    assert service.store.templates()[0].used == 2
    service.clusters.broken.clear()
    service.resize(space, size=40 * GIB, servers=4)
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == {space, f"{space}-2"}


def test_growth_that_cannot_be_is_asked_for_otherwise(service):
    space = service.create(size=10 * GIB, servers=1)
    service.settled(space)
    service.clusters.broken["bring_up"] = "no zone has room"
    service.resize(space, size=30 * GIB, servers=3)
    service.settled(space)
    service.clusters.broken.clear()
    service.resize(space, size=20 * GIB, servers=2)
    assert service.settled(space).state == "ready"
    assert service.clusters.names() == {space, f"{space}-3"}
    assert service.nodes() == ["io0", f"{space}-3.c1", f"{space}.c1"]


def test_a_space_is_deleted_while_further_servers_come_up(service):
    space = service.create()
    service.settled(space)
    service.clusters.broken["bring_up"] = "no zone has room"
    service.resize(space, size=30 * GIB, servers=3)
    service.settled(space)
    (service.clusters.folder / f"{space}-2").mkdir()
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "gone"
    assert service.clusters.names() == service.maker.spaces() == set()


def test_data_on_the_servers_that_are_left_is_removed_before_they_are(service):
    """One of its clusters is taken down by somebody: the space fails; its deletion asks the others, and says what keeps it."""
    space = service.create()
    service.settled(space)
    service.resize(space, size=30 * GIB, servers=3)
    service.settled(space)
    further = f"{space}-2"
    service.clusters.take_down(further)
    service.driver.examine()
    found = service.store.space(space)
    assert (found.state, "its data with them" in str(found.reason)) == ("failed", True)
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "deleting"
    assert service.store.events(space=space)[-1].text == f"no cluster is called {further}"
    assert service.clusters.names() == {space}
    service.clusters.take_down(space)  # as the administrator, to let it go on
    assert service.settled(space).state == "gone"
    assert service.clusters.names() == set()


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ({}, "each cluster of provider local has a network of its own"),
        ({"provider": "vm"}, "each cluster of provider vm has a network of its own"),
        ({"provider": "ssh"}, "they are all hosts that the template names"),
        ({"provider": "aws", "cloud": {}}, "they let in none but each other"),
        ({"provider": "openstack", "cloud": {"openstack": {}}}, "each cluster gets a network of its own"),
        ({"provider": "openstack", "cloud": {"openstack": {"network": "lab"}}}, "they let in none but each other"),
    ],
)  # fmt: skip
def test_servers_that_others_do_not_reach_stay_as_many_and_the_reason_is_said(
    service, cluster, why
):
    service.store.put_template(template(cluster={"name": "any", **cluster}), service.now())
    space = service.create()
    service.settled(space)
    refused = refusal(service.resize, space, size=30 * GIB, servers=3)
    assert (refused.code, why in str(refused)) == ("invalid", True), str(refused)
    assert service.store.space(space).state == "ready"


def test_servers_that_do_not_come_up_or_cannot_serve_fail_the_space_with_the_reason(service):
    space = service.create()
    service.clusters.broken["bring_up"] = "the cloud has no such instances left"
    assert service.settled(space).reason == "the cloud has no such instances left"
    assert service.store.templates()[0].used == 2  # it counts until it is deleted
    service.clusters.broken.clear()
    service.maker.broken["see"] = "program mkfs.xfs is missing there"
    service.store.retry_space(space, service.now(), "ann")
    assert service.settled(space).reason == "program mkfs.xfs is missing there"
    assert service.nodes() == ["io0"]
    service.maker.broken.clear()
    service.store.retry_space(space, service.now(), "ann")
    assert service.settled(space).state == "ready"
    other = service.create("other")
    service.clusters.broken["bring_up"] = "none left"
    assert service.settled(other).state == "failed"
    service.store.delete_space(other, service.now(), "ann")
    assert service.settled(other).state == "gone"
    assert service.clusters.names() == {space}


def test_servers_of_a_space_that_was_ready_are_never_brought_up_again(service):
    space = service.create()
    service.settled(space)
    away = service.clusters.folder / space
    away.rename(service.clusters.folder.parent / "kept")
    service.driver.examine()
    found = service.store.space(space)
    assert (found.state, "its data with them" in str(found.reason)) == ("failed", True)
    assert service.clusters.names() == set()
    service.store.retry_space(space, service.now(), "ann")
    assert service.settled(space).state == "failed"
    (service.clusters.folder.parent / "kept").rename(away)  # it was somebody's mistake
    service.store.retry_space(space, service.now(), "ann")
    assert service.settled(space).state == "ready"
    assert len(service.maker.calls) == 1  # made once


def test_a_space_that_is_deleted_while_its_servers_come_up_leaves_none(service):
    space = service.create()
    (service.clusters.folder / space).mkdir()  # of a process that was killed
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "gone"
    assert service.clusters.names() == set()
    assert service.maker.calls == []


def test_a_template_may_change_or_go_while_spaces_have_servers_of_it(service):
    space = service.create()
    service.store.put_template(template("small", 1, GIB), service.now())
    assert service.settled(space).state == "ready"
    assert service.store.order(space).own.template.devices[0].size == 10 * GIB
    assert refusal(service.create, "more", GIB).code == "no_room"
    service.store.remove_template("small", service.now())
    assert refusal(service.store.remove_template, "small", service.now()).code == "unknown"
    service.store.delete_space(space, service.now(), "ann")
    assert service.settled(space).state == "gone"


@given(
    stocks=st.lists(
        st.tuples(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 5), st.integers(0, 5)),
        max_size=4,
    ),
    size=st.integers(1, 60),
    servers=st.integers(1, 4),
    devices=st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=300)
def test_a_template_is_chosen_where_one_does_and_never_overcommitted(
    stocks, size, servers, devices
):
    found = [
        Stock(template=template(f"t{i}", most, *sizes), used=min(used, most))
        for i, (sizes, most, used) in enumerate(stocks)
    ]
    ask = Ask("data", "ann", "glusterfs", "dedicated", size, 0, servers, devices)

    def does(stock):
        sizes = [device.size for device in stock.template.devices]
        return (
            sum(each >= ask.share for each in sizes) >= devices
            and stock.used + servers <= stock.template.most_servers
        )

    good = [stock.template for stock in found if does(stock)]
    if not good:
        assert refusal(choose, ask, "sp-1", found, LACKING).code == "no_room"
        return
    own, shares = choose(ask, "sp-1", found, LACKING)
    assert own.template in good
    assert own.template.device_bytes == min(each.device_bytes for each in good)
    nodes = own.servers_of(own.clusters[0])
    sizes = {(each.node, d.name): d.size for each in nodes for d in each.devices}
    assert len({(share.node, share.device) for share in shares}) == servers * devices
    assert {share.node for share in shares} == {each.node for each in nodes}
    assert all(share.held == share.wanted == ask.share <= sizes[share.node, share.device] for share in shares)  # fmt: skip


BODY = {
    "name": "mine", "instance": {"name": "our-node"}, "nodes": {"compute": 1, "head": 1},
    "file_system": {"kind": "none"}, "storage": {"size": "10 GiB", "devices": 2},
}  # fmt: skip
TWO = ("/storage", "/storage2")


def of_nodes(said=None, *devices, size=10 * GIB):
    """A template of nodes whose devices are these."""
    found = tuple(Device(name=name, size=size) for name in devices or TWO)
    return template().model_copy(update={"cluster": BODY | (said or {}), "devices": found})


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (of_nodes({"file_system": {"kind": "nfs"}, "nodes": {"io": 1}}), "has file system nfs: the service makes"),
        (of_nodes({"nodes": {"compute": 1, "wheels": 4}}), "makes no cluster: .*wheels"),
        (of_nodes({"provider": "ssh"}), "makes no cluster: .*provider: ssh needs the key ssh"),
        (of_nodes({"provider": "null"}), "cannot come up: .*provider null has one device on a node"),
        (of_nodes(None, "/storage", "/storage3"), "/storage3 is no device of its nodes, which have /storage, /storage2"),
        (of_nodes(size=11 * GIB), "/storage has 10 GiB, and spaces are to have 11 GiB of it; /storage2 has"),
    ],
)  # fmt: skip
def test_a_template_of_which_no_servers_can_be_is_refused(wrong, why):
    with pytest.raises(ServiceError, match=why):
        load_clusters().see(wrong)


def story(folder, kill_at=None):
    """A space gets servers of its own, keeps them and gets one more, another goes with its servers; how many points there were."""
    with points(kill_at) as point, open_store(folder / "service") as store:
        service = Service(store, folder, point)
        service.driver.recover()
        service.create("kept")
        if not any(event.kind == "gone" for event in store.events("ann", limit=1000)):
            try:
                gone = service.create("gone")
            except Refused as refused:
                assert refused.code == "state"  # it is being deleted
            else:
                service.driver.settle()
                store.delete_space(gone, NOON, "ann")
        service.driver.settle()
        kept = store.space_named("ann", "kept")
        if kept.servers == 2:
            service.resize(kept.id, size=30 * GIB, servers=3)
        service.driver.settle()
    return point.n


def see_one_is_there(folder):
    with open_store(folder / "service") as store:
        kept = store.space_named("ann", "kept")
        assert (kept.state, kept.made_generation, kept.servers) == ("ready", 2, 3)
        assert store.spaces(None) == (kept,)
        clusters = {kept.id, f"{kept.id}-2"}
        assert {path.name for path in (folder / "clusters").iterdir()} == clusters
        assert {path.name for path in (folder / "made").iterdir()} == {kept.id}
        nodes = [held.server.node for held in store.servers()]
        assert nodes == ["io0", f"{kept.id}-2.c1", f"{kept.id}.c1", f"{kept.id}.c2"]
        assert store.templates()[0].used == 3
        assert store.open_intents() == ()


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
def test_a_kill_brings_no_servers_up_twice_and_forgets_none(tmp_path, part):
    """At one of some points: test_service_kill_all.py kills at each."""
    assert ended(lambda: story(tmp_path, int(part * 60))) == KILLED
    assert ended(lambda: story(tmp_path)) == DONE
    see_one_is_there(tmp_path)


def test_kills_one_after_the_other_leave_no_servers(tmp_path):
    for attempt in range(1, 400):
        if ended(lambda: story(tmp_path, 8 + 3 * attempt)) == DONE:  # noqa: B023 - called at once
            break
    else:
        raise AssertionError("no process came through")
    see_one_is_there(tmp_path)


def test_the_administrator_adds_templates_and_tenants_see_none(tmp_path):
    with open_store(tmp_path / "service") as store:
        service = WebService(store, tmp_path / "made")
        body = template().model_dump(mode="json", exclude={"name"})
        put = service.admin.put("/v1/templates/small", json=body)
        assert (put.status_code, put.json()["used"]) == (200, 0)
        service.clusters.broken["see"] = "this machine has no such provider"
        refused = service.admin.put("/v1/templates/other", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "unfit")
        assert "no such provider" in refused.json()["message"]
        last = store.audit(limit=1000)[-1]
        assert (last.action, last.subject, last.outcome) == ("put template", "other", "unfit")
        asked = {"mode": "dedicated", "size": 200 * GIB, "servers": 4}
        too_large = service.ann.post("/v1/spaces", json=ASKED | asked)
        assert (too_large.status_code, too_large.json()["code"]) == (507, "no_room")
        space = service.create(service.ann, **asked | {"size": 40 * GIB, "name": "own"})
        service.driver.settle()
        assert service.ann.get(f"/v1/spaces/{space}").json()["state"] == "ready"
        (shown,) = service.admin.get("/v1/templates").json()["templates"]
        assert (shown["template"]["name"], shown["used"]) == (
            "small",
            4,
        )  # three servers were there
        for call in (
            service.ann.get("/v1/templates"),
            service.ann.put("/v1/templates/x", json=body),
        ):
            assert call.status_code == 404
        assert service.admin.put("/v1/templates/x", json=body | {"most_servers": 0}).status_code == 422  # fmt: skip
        assert service.admin.delete("/v1/templates/small").status_code == 204
        assert service.admin.delete("/v1/templates/small").status_code == 404
