"""The interface over HTTP, in this process: what is asked comes about, what is refused says why, nobody sees another's."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from service_fakes import GIB, server
from service_web import ASKED, Seconds, Service

from wavetank.service.api.app import OPENAPI
from wavetank.service.api.bodies import MOST_BYTES
from wavetank.service.api.callers import TooMany
from wavetank.service.api.desk import Desk
from wavetank.service.api.rates import MOST_BUCKETS, Rates
from wavetank.service.api.refusals import STATUS
from wavetank.service.core.answers import Refusal
from wavetank.service.core.records import SpaceRequest
from wavetank.service.store.folder import open_store


@pytest.fixture
def service(tmp_path):
    with open_store(tmp_path / "service") as store:
        yield Service(store, tmp_path / "made")


def refused(answer):
    """Status and code of an answer that is a refusal."""
    return answer.status_code, Refusal.model_validate(answer.json()).code


def test_a_space_is_asked_for_made_changed_and_removed(service):
    taken = service.ann.post("/v1/spaces", json={**ASKED, "size": "1 GiB"})
    assert (taken.status_code, taken.json()["state"]) == (202, "requested")
    space = taken.headers["location"]
    assert space == f"/v1/spaces/{taken.json()['id']}"
    assert service.woken == 1
    service.driver.settle()
    ready = service.ann.get(space).json()
    assert (ready["state"], ready["export"]) == ("ready", f"server:/{ready['id']}")
    grown = service.ann.post(f"{space}/resize", json={"servers": 2})
    assert (grown.status_code, grown.json()["state"]) == (202, "growing")
    service.driver.settle()
    rules = {"access": [{"kind": "ip", "subject": "10.0.0.1"}]}
    assert service.ann.put(f"{space}/access", json=rules).status_code == 202
    service.driver.settle()
    kept = {**rules["access"][0], "level": "rw", "authority": None}
    assert service.ann.get(space).json()["access"] == [kept]
    assert service.ann.delete(space).json()["state"] == "deleting"
    service.driver.settle()
    assert service.ann.get(space).json()["state"] == "gone"
    assert service.ann.get("/v1/spaces").json() == {"spaces": [], "next": None}
    assert service.woken == 4
    kinds = [each["kind"] for each in service.ann.get("/v1/events").json()["events"]]
    assert [kind for kind in kinds if kind != "step"] == [
        "requested", "making", "ready", "growing", "ready", "access", "ready", "deleting", "gone",
    ]  # fmt: skip


def test_a_name_is_one_request_however_often_it_is_asked(service):
    first = service.create(service.ann)
    again = service.ann.post("/v1/spaces", json=ASKED)
    assert (again.status_code, again.json()["id"]) == (202, first)
    service.driver.settle()
    now_there = service.ann.post("/v1/spaces", json=ASKED)
    assert (now_there.status_code, now_there.json()["id"]) == (200, first)
    assert refused(service.ann.post("/v1/spaces", json={**ASKED, "size": 2 * GIB})) == (
        409,
        "exists",
    )
    assert service.create(service.bob) != first
    assert len(service.admin.get("/v1/spaces").json()["spaces"]) == 2


def test_a_kind_without_a_maker_is_refused_before_anything_is_kept(service):
    answer = service.ann.post("/v1/spaces", json={**ASKED, "kind": "nfs"})
    assert refused(answer) == (422, "not_offered")
    assert "no maker for NFS; kinds that it can make: glusterfs" in answer.json()["message"]
    assert service.ann.get("/v1/spaces").json()["spaces"] == []
    assert service.ann.get("/v1/events").json()["events"] == []
    row = service.admin.get("/v1/audit", params={"limit": 1000}).json()["rows"][-1]
    assert (row["actor"], row["subject"], row["outcome"]) == (
        "tenant:ann",
        "ann/data",
        "not_offered",
    )
    classes = service.ann.get("/v1/classes").json()["classes"]
    offered = {(each["kind"], each["mode"]) for each in classes if each["refused"] is None}
    assert offered == {("glusterfs", "shared"), ("glusterfs", "dedicated")}


@pytest.mark.parametrize("mode", ["shared", "dedicated"])
@pytest.mark.parametrize("kind", ["cephfs", "orangefs", "lustre"])
def test_a_class_whose_isolation_is_not_proved_is_refused_with_its_reason(service, kind, mode):
    answer = service.ann.post("/v1/spaces", json={**ASKED, "kind": kind, "mode": mode})
    assert refused(answer) == (422, "not_offered")
    (reason,) = (
        each["refused"]
        for each in service.ann.get("/v1/classes").json()["classes"]
        if (each["kind"], each["mode"]) == (kind, mode)
    )
    assert f"is not offered: {reason}" in answer.json()["message"]
    assert service.ann.get("/v1/spaces").json()["spaces"] == []


def test_a_tenant_neither_sees_nor_changes_what_is_anothers(service):
    space = service.create(service.ann)
    service.driver.settle()
    path = f"/v1/spaces/{space}"
    tries = [
        service.bob.get(path),
        service.bob.delete(path),
        service.bob.post(f"{path}/resize", json={"size": "2 GiB"}),
        service.bob.put(f"{path}/access", json={"access": []}),
        service.bob.post(f"{path}/retry"),
    ]
    assert {refused(each) for each in tries} == {(404, "unknown")}
    none = service.bob.get("/v1/spaces/sp-0")
    assert tries[0].json()["message"].replace(space, "sp-0") == none.json()["message"]
    assert service.bob.get("/v1/spaces").json()["spaces"] == []
    assert service.bob.get("/v1/spaces", params={"name": "data"}).json()["spaces"] == []
    for params in ({}, {"space": space}):
        assert service.bob.get("/v1/events", params=params).json()["events"] == []
    assert service.ann.get(path).json()["generation"] == 1
    assert service.bob.get("/v1/tenant").json()["used"]["spaces"] == 0


def test_nothing_but_health_and_the_description_is_told_without_a_token(service):
    stranger = TestClient(service.application)
    paths = stranger.get(OPENAPI).json()["paths"]
    assert set(stranger.get("/v1/health").json()) == {"version"}
    asked = [
        (method, path.replace("{space}", "sp-0"))
        for path, methods in paths.items()
        for method in methods
        if path != "/v1/health"
    ]
    assert len(asked) == 11
    for method, path in asked:
        service.seconds.now_s += 2
        answer = stranger.request(method, path, json=ASKED)
        assert refused(answer) == (401, "unauthorized"), (method, path)
    service.seconds.now_s += 2
    basic = stranger.get("/v1/spaces", headers={"authorization": "Basic eDp5"})
    assert refused(basic) == (401, "unauthorized")


def test_strangers_are_counted_and_written_down_only_as_often_as_they_may_ask(service):
    stranger = TestClient(service.application, headers={"authorization": "Bearer wt_guess"})
    before = len(service.store.audit(limit=1000))
    answers = [stranger.get("/v1/spaces") for _ in range(5)]
    assert [refused(each) for each in answers] == [(401, "unauthorized")] * 2 + [
        (429, "too_many")
    ] * 3
    assert answers[0].headers["www-authenticate"] == "Bearer"
    rows = service.store.audit(limit=1000)[before:]
    assert [(row.actor, row.outcome) for row in rows] == [
        ("address:testclient", "unauthorized")
    ] * 2
    assert service.ann.get("/v1/spaces").status_code == 200


def test_a_token_that_has_expired_is_refused_with_the_reason(service):
    made = service.admin.post("/v1/tenants/ann/tokens", json={"lifetime_s": 60}).json()
    headers = {"authorization": f"Bearer {made['text']}"}
    client = TestClient(service.application, headers=headers)
    listed = service.admin.get("/v1/tokens", params={"tenant": "ann"}).json()["tokens"]
    assert [each["expires_utc"] for each in listed] == [None, made["token"]["expires_utc"]]
    created, expires = (
        datetime.fromisoformat(made["token"][each]) for each in ("created_utc", "expires_utc")
    )
    assert expires - created == timedelta(seconds=60)
    service.now.time = expires - timedelta(seconds=2)  # each look is a second later
    assert client.get("/v1/spaces").status_code == 200
    answer = client.get("/v1/spaces")
    assert refused(answer) == (401, "unauthorized")
    assert f"token {made['token']['id']} of tenant ann expired at" in answer.json()["message"]
    row = service.store.audit(limit=1000)[-1]
    assert (row.actor, row.outcome) == ("address:testclient", "unauthorized")
    assert made["token"]["id"] in row.detail
    assert made["text"].split("_", 2)[2] not in row.detail
    assert service.ann.get("/v1/spaces").status_code == 200  # which does not expire
    for wrong in (0, -1, 1e12):
        answer = service.admin.post("/v1/tenants/ann/tokens", json={"lifetime_s": wrong})
        assert refused(answer) == (422, "invalid")


def test_each_tenant_asks_at_its_own_rate(service):
    limited = Desk(
        service.store, service.desk.kinds, service.now, lambda: None, service.maker.see,
        Rates(2, 3, service.seconds), service.desk.strangers,
    )  # fmt: skip
    service.application.state.desk = limited
    answers = [service.ann.get("/v1/spaces") for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert service.bob.get("/v1/spaces").status_code == 200
    service.seconds.now_s += 0.5  # one more at 2 in a second
    assert [service.ann.get("/v1/spaces").status_code for _ in range(2)] == [200, 429]
    assert service.admin.get("/v1/spaces").status_code == 200


def test_a_server_that_cannot_serve_is_refused_and_not_kept(service):
    service.maker.broken = {"see": "server io9 cannot serve: nothing is mounted at /srv"}
    body = server("io9", GIB).model_dump(exclude={"node"})
    answer = service.admin.put("/v1/servers/io9", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "unfit")
    assert "nothing is mounted at /srv" in answer.json()["message"]
    assert "io9" not in {held.server.node for held in service.store.servers()}
    row = service.store.audit(limit=1000)[-1]
    assert (row.action, row.subject, row.outcome) == ("put server", "io9", "unfit")
    service.maker.broken = {}
    assert service.admin.put("/v1/servers/io9", json=body).status_code == 200


def test_buckets_of_strangers_take_bounded_room():
    rates = Rates(1, 1, Seconds())
    for i in range(MOST_BUCKETS + 5):
        rates.take(str(i))
    assert len(rates._buckets) == MOST_BUCKETS
    assert rates.take(str(MOST_BUCKETS + 4)) > 0  # the last one is known still
    assert rates.take("0") == 0
    assert TooMany("ann", 1, 0.25).wait_s == 1


def test_what_does_not_fit_is_refused_with_its_place(service):
    answer = service.ann.post(
        "/v1/spaces", json={**ASKED, "size": "much", "servers": 0, "color": 1}
    )
    assert refused(answer) == (422, "invalid")
    for words in ("size: 'much' is not a size", "servers: 0 is too small", "color: no such key"):
        assert words in answer.json()["message"]
    assert refused(service.ann.post("/v1/spaces", content=b"{")) == (422, "invalid")
    assert refused(service.ann.get("/v1/spaces", params={"limit": 0})) == (422, "invalid")
    assert refused(service.ann.get("/v1/nothing")) == (404, "unknown")
    devices = [{"name": "/d", "size": GIB}] * 2
    wrong = service.admin.put("/v1/servers/io9", json={"devices": devices, "kinds": ["nfs"]})
    assert refused(wrong) == (422, "invalid")
    assert "each name may stand once" in wrong.json()["message"]


def test_a_large_body_is_not_read_to_its_end(service):
    pieces = iter([b" " * MOST_BYTES, b" ", b"never read"])

    def body():
        yield from pieces

    for content in (body(), b" " * (MOST_BYTES + 1)):
        answer = service.ann.post("/v1/spaces", content=content)
        assert refused(answer) == (413, "too_large")
    assert service.ann.post("/v1/spaces", json=ASKED).status_code == 202


def test_refusals_have_the_status_of_their_code(service):
    service.admin.put("/v1/tenants/ann", json={"bytes": "2 GiB"})
    assert refused(service.ann.post("/v1/spaces", json={**ASKED, "size": "3 GiB"})) == (
        403,
        "quota",
    )
    big = {**ASKED, "size": "200 GiB"}
    assert refused(service.bob.post("/v1/spaces", json=big)) == (507, "no_room")
    space = service.create(service.ann)
    resize = service.ann.post(f"/v1/spaces/{space}/resize", json={"size": "2 GiB"})
    assert refused(resize) == (409, "state")
    put = service.ann.put(
        f"/v1/spaces/{space}/access", params={"generation": 7}, json={"access": []}
    )
    assert refused(put) == (412, "changed")
    assert refused(service.admin.delete("/v1/tenants/ann")) == (409, "in_use")
    told = service.ann.get(OPENAPI).json()["paths"]["/v1/spaces"]["post"]["responses"]
    assert {str(status) for status in STATUS.values()} <= set(told)


def test_the_description_has_the_records_and_no_route_of_the_administrator(service):
    told = service.ann.get(OPENAPI).json()
    assert set(told["components"]["schemas"]["SpaceRequest"]["properties"]) == set(
        SpaceRequest.model_fields
    )
    assert {path.split("/")[2] for path in told["paths"]} == {
        "spaces", "events", "classes", "tenant", "health", "room",
    }  # fmt: skip
    for path in ("/v1/tenants", "/v1/servers", "/v1/tokens", "/v1/audit"):
        assert service.admin.get(path).status_code == 200
        assert refused(service.ann.get(path)) == (404, "unknown")
    assert service.admin.post("/v1/spaces", json=ASKED).status_code == 405


def test_pages_lead_through_all_spaces(service):
    for name in ("a", "b", "c"):
        service.create(service.ann, name=name)
        service.create(service.bob, name=name)
    for who, expected in ((service.ann, 3), (service.admin, 6)):
        found, after = [], ""
        while after is not None:
            page = who.get("/v1/spaces", params={"after": after, "limit": 2}).json()
            found += [(each["tenant"], each["name"]) for each in page["spaces"]]
            after = page["next"]
        assert found == sorted(set(found))
        assert len(found) == expected


def test_tokens_are_shown_once_and_can_be_taken_back(service):
    made = service.admin.post("/v1/tenants/ann/tokens").json()
    listed = service.admin.get("/v1/tokens", params={"tenant": "ann"}).text
    assert made["token"]["id"] in listed
    assert made["text"].rsplit("_", 1)[1] not in listed
    new = TestClient(service.application, headers={"authorization": f"Bearer {made['text']}"})
    assert new.get("/v1/tenant").json()["name"] == "ann"
    assert service.admin.delete(f"/v1/tokens/{made['token']['id']}").status_code == 204
    assert new.get("/v1/tenant").status_code == 401
    assert service.ann.get("/v1/tenant").status_code == 200
    assert service.admin.delete("/v1/tenants/ann/tokens").json() == {"n": 1}
    assert service.ann.get("/v1/tenant").status_code == 401


def test_a_store_that_cannot_be_written_is_told_without_its_reason(service, monkeypatch):
    from wavetank.errors import ServiceError

    def full(*_, **__):
        raise ServiceError("cannot write to /srv/secret/path: disk full")

    monkeypatch.setattr(service.store, "create_space", full)
    monkeypatch.setattr(service.store, "put_tenant", full)
    told = service.ann.post("/v1/spaces", json=ASKED)
    assert refused(told) == (503, "unavailable")
    assert "/srv/secret" not in told.text
    assert "/srv/secret" in service.admin.put("/v1/tenants/ann", json={}).text
