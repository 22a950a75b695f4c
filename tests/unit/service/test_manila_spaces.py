"""What Manila's driver asks of the service, without Manila: its client against the service's own application, in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from service_fakes import GIB
from service_web import Service as Served

from wavetank.service.core.classes import KINDS
from wavetank.service.store.folder import open_store
from wavetank_manila import shares
from wavetank_manila.service import (
    Answer,
    Limit,
    NoAnswerError,
    OverHttp,
    RefusedError,
    Service,
    ServiceError,
)
from wavetank_manila.spaces import AbsentError, Capacity, Spaces

ANN, BOB = "10.0.0.1", "10.0.0.2"
ASKED = {"name": "manila-1", "size": GIB, "kind": "glusterfs", "mode": "shared"}


def rule(subject, level="rw", kind="ip"):
    return {"kind": kind, "subject": subject, "level": level}


def rules_of(space):
    return [rule(each["subject"], each["level"], each["kind"]) for each in space["access"]]


class Wire:
    """A transport into the application of this process, on which answers can get lost. Each pause lets the service make what it can."""

    def __init__(self, served):
        self.served = served
        self.asked = []
        self.lost = 0  # answers that get lost next
        self.refused = []  # answers in place of the service's
        self.now_s = 0.0
        self.makes = True

    def __call__(self, method, path, params, body):
        self.asked.append((method, path, body))
        if self.refused:
            return self.refused.pop(0)
        found = self.served.ann.request(method, path, params=params, json=body)
        if self.lost:
            self.lost -= 1
            raise NoAnswerError("lost")
        headers = {name.lower(): value for name, value in found.headers.items()}
        return Answer(found.status_code, headers, found.content)

    def sleep(self, pause_s):
        self.now_s += pause_s
        if self.makes:
            self.served.driver.settle()

    def bodies(self, method):
        return [body for each, _, body in self.asked if each == method]


@pytest.fixture
def wire(tmp_path):
    with open_store(tmp_path / "service") as store:
        yield Wire(Served(store, tmp_path / "made"))


@pytest.fixture
def spaces(wire):
    return Spaces(Service(wire, lambda: Limit(600.0, lambda: wire.now_s, wire.sleep)))


@pytest.fixture
def keeps_little(monkeypatch):
    """GlusterFS as it is: rules for writing alone, no shrinking."""
    able = replace(KINDS["glusterfs"], levels=("rw",), shrinks=False)
    monkeypatch.setitem(KINDS, "glusterfs", able)


def test_a_share_becomes_a_space_and_goes(spaces):
    made = spaces.create(ASKED)
    assert (made["state"], made["size"], made["access"]) == ("ready", GIB, [])
    assert spaces.create(ASKED)["id"] == made["id"]
    assert spaces.open_to("manila-1", [rule(ANN), rule(BOB, "ro")]) == {}
    assert spaces.resize("manila-1", 2 * GIB)["size"] == 2 * GIB
    assert spaces.resize("manila-1", GIB)["size"] == GIB
    found = spaces.named("manila-1")
    assert (found["state"], rules_of(found)) == ("ready", [rule(ANN), rule(BOB, "ro")])
    assert spaces.open_to("manila-1", []) == {}
    assert spaces.named("manila-1")["access"] == []
    spaces.delete("manila-1")
    assert spaces.named("manila-1") is None
    spaces.delete("manila-1")  # once more is no error
    for call in (lambda: spaces.resize("manila-1", GIB), lambda: spaces.open_to("manila-1", [])):
        with pytest.raises(AbsentError, match="no space 'manila-1'"):
            call()


def test_a_rule_that_cannot_be_kept_takes_no_other_one_with_it(spaces, wire, keeps_little):
    spaces.create(ASKED)
    assert spaces.open_to("manila-1", [rule(ANN), rule("10.0.0.9")]) == {}
    wire.asked.clear()
    wanted = [rule(BOB, "ro"), rule(ANN), rule("10.1.0.0/16"), rule("10.2.0.0/16", "ro")]
    refused = spaces.open_to("manila-1", wanted)
    assert sorted(refused) == [0, 3]
    assert "not for ro" in refused[0]
    assert rules_of(spaces.named("manila-1")) == [rule(ANN), rule("10.1.0.0/16")]
    # Who may stay is let in by each of the requests: nobody is shut out meanwhile.
    assert all(rule(ANN) in body["access"] for body in wire.bodies("PUT"))


def test_other_refusals_of_rules_are_no_rules_in_error(spaces, wire):
    spaces.create(ASKED)
    wire.served.maker.broken["change_access"] = "the server burns"
    with pytest.raises(ServiceError, match="the server burns"):
        spaces.open_to("manila-1", [rule(ANN)])
    wire.served.maker.broken.clear()
    assert spaces.open_to("manila-1", [rule(ANN)]) == {}  # asked again, it is made


def test_a_shrink_that_is_refused_leaves_the_space_as_it_is(spaces, keeps_little):
    spaces.create({**ASKED, "size": 2 * GIB})
    with pytest.raises(RefusedError, match="does not shrink") as refused:
        spaces.resize("manila-1", GIB)
    assert refused.value.code == "invalid"
    found = spaces.named("manila-1")
    assert (found["state"], found["size"]) == ("ready", 2 * GIB)


def test_what_cannot_be_made_says_why_and_is_deleted_like_all_else(spaces, wire):
    wire.served.maker.broken["make"] = "no such device"
    with pytest.raises(ServiceError, match="has failed: no such device"):
        spaces.create(ASKED)
    assert spaces.open_to("manila-1", []) == {}  # Manila takes rules away before it deletes
    with pytest.raises(ServiceError, match="no such device"):  # other rules are another try
        spaces.open_to("manila-1", [rule(ANN)])
    wire.served.maker.broken.clear()
    assert spaces.create(ASKED)["state"] == "ready"  # tried again
    wire.served.maker.broken["resize"] = "the disk is full"
    with pytest.raises(ServiceError, match="the disk is full"):
        spaces.resize("manila-1", 2 * GIB)
    wire.served.maker.broken.clear()
    spaces.delete("manila-1")
    assert spaces.all() == {}


def test_a_refusal_names_what_lacks(spaces):
    with pytest.raises(RefusedError, match="no room") as refused:
        spaces.create({**ASKED, "size": 101 * GIB})
    assert refused.value.code == "no_room"
    assert spaces.all() == {}


def test_answers_that_get_lost_make_nothing_twice(spaces, wire):
    wire.lost = 2
    made = spaces.create(ASKED)
    assert [method for method, *_ in wire.asked].count("POST") == 3
    assert [each.id for each in wire.served.store.spaces("ann")] == [made["id"]]
    wire.lost = 3
    spaces.delete("manila-1")
    assert spaces.all() == {}


def test_a_service_that_stays_away_is_left_at_the_limit(spaces, wire):
    wire.lost, wire.makes = 10**6, False
    with pytest.raises(NoAnswerError):
        spaces.create(ASKED)
    assert 500 < wire.now_s <= 600
    wire.lost, wire.now_s = 0, 0.0
    with pytest.raises(ServiceError, match="still requested"):
        spaces.create(ASKED)
    assert 500 < wire.now_s <= 600


def test_pages_are_read_to_the_end(spaces, wire, monkeypatch):
    monkeypatch.setattr("wavetank_manila.spaces.PAGE", 2)
    for number in range(5):
        wire.served.create(wire.served.ann, name=f"manila-{number}")
    assert sorted(spaces.all()) == [f"manila-{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("quota", "shared", "alone"),
    [
        # three servers of 100 GiB; two spaces of 1.5 GiB are there, one of them alone on its server
        ({}, Capacity(300, 198), Capacity(300, 100)),
        ({"bytes": 10 * GIB + 5}, Capacity(300, 7), Capacity(300, 7)),
        ({"bytes": 2 * GIB}, Capacity(300, 0), Capacity(300, 0)),  # lowered below what is there
        ({"bytes": 10 * GIB, "spaces": 2}, Capacity(300, 0), Capacity(300, 0)),
        ({"servers": 1, "spaces": 9}, Capacity(300, 198), Capacity(300, 0)),
    ],
)
def test_capacity_is_what_the_disks_have_and_the_quota_leaves(spaces, wire, quota, shared, alone):
    wire.served.create(wire.served.ann, name="a", size=3 * GIB // 2)
    wire.served.create(wire.served.ann, name="b", size=3 * GIB // 2, mode="dedicated")
    assert wire.served.admin.put("/v1/tenants/ann", json=quota).status_code == 200
    assert spaces.capacity("shared") == shared
    assert spaces.capacity("dedicated") == alone


def test_extra_specs_say_what_a_space_is(spaces):
    known = spaces.fields()
    specs = {
        "driver_handles_share_servers": "True",
        "pfs:servers": "2",
        "pfs:devices": "1",
        "pfs:stripe_size": "4 MiB",
        "other:thing": "x",
    }
    fields = shares.fields_of(specs, known)
    assert fields == {"servers": 2, "devices_per_server": 1, "stripe_size": "4 MiB"}
    asked = shares.request_of("1", 1, "glusterfs", "dedicated", fields)
    made = spaces.create(asked)
    assert made["name"] == "manila-1"
    assert (made["servers"], made["stripe_size"], made["mode"]) == (2, 4 * 2**20, "dedicated")
    with pytest.raises(shares.SpecError, match=r"'pfs:severs' is none; there are pfs:servers"):
        shares.fields_of({"pfs:severs": "2"}, known)
    with pytest.raises(shares.SpecError, match="does not know devices_per_server"):
        shares.fields_of(specs, known - {"devices_per_server"})
    with pytest.raises(shares.SpecError, match="NFS or GLUSTERFS, not CIFS"):
        shares.request_of("1", 1, "CIFS", "shared", {})
    with pytest.raises(RefusedError, match="servers"):
        spaces.create(shares.request_of("2", 1, "GLUSTERFS", "shared", {"servers": "many"}))


def of_manila(identity, to, level="rw", kind="ip"):
    return {"access_id": identity, "access_type": kind, "access_to": to, "access_level": level}


def test_rules_of_manila_are_written_as_the_service_writes_them():
    rules, stand_for, refused = shares.rules_of(
        [
            of_manila("a", "10.0.0.1"),
            of_manila("b", "10.0.0.1/32"),  # the same client
            of_manila("c", "10.0.0.1/32", "ro"),  # the same again, and not so
            of_manila("d", "10.2.0.0/16", "ro"),
            of_manila("e", "fd00:0::1"),
            of_manila("f", "joe", kind="user"),
        ]
    )
    assert rules == [rule("10.0.0.1"), rule("10.2.0.0/16", "ro"), rule("fd00::1")]
    assert stand_for == [["a", "b"], ["d"], ["e"]]
    assert sorted(refused) == ["c", "f"]
    assert "not by user" in refused["f"]


def test_places_that_shares_are_mounted_from():
    def paths(kind, export):
        space = {"name": "s", "state": "ready", "kind": kind, "export": export}
        found = shares.locations_of(space)
        assert all(not each["is_admin_only"] for each in found)
        return [each["path"] for each in found]

    assert paths("nfs", "nfs://10.77.0.1:28102/sp-1f") == ["nfs://10.77.0.1:28102/sp-1f"]
    volume = "glusterfs:10.77.0.3:24100,10.77.0.4:24101,10.77.0.3:24102/sp-1f?stripe=4194304"
    assert paths("glusterfs", volume) == ["10.77.0.3:/sp-1f", "10.77.0.4:/sp-1f"]
    with pytest.raises(ServiceError, match="no volume of GlusterFS"):
        paths("glusterfs", "10.77.0.3:/sp-1f")
    with pytest.raises(ServiceError, match="never ready"):
        paths("nfs", None)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://storage.example.org:8470", "not encrypted"),
        ("http://10.0.0.1:8470", "not encrypted"),
        ("storage.example.org", "no URL"),
        ("ftp://127.0.0.1", "no URL"),
    ],
)
def test_a_token_is_not_sent_where_others_read_it(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OverHttp(url, tmp_path / "token")
