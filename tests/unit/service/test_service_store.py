"""The store: one request, one answer, one transaction; what is read is read by an index."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from service_fakes import (
    GIB,
    NOON,
    ip,
    make_ready,
    refusal,
    request,
    server,
    tenant,
)

from wavetank.errors import ServiceError
from wavetank.service.core.records import AccessList, Resize
from wavetank.service.store.folder import DATABASE, open_store
from wavetank.service.store.schema import READS, SCHEMA_VERSION


def test_a_space_is_kept_with_all_that_was_asked_for(tmp_path, store):
    asked = request(
        size=10 * GIB,
        servers=2,
        devices_per_server=2,
        redundancy=1,
        stripe_size=2**16,
        mode="dedicated",
        access=[ip("10.0.0.0/24"), ip("10.1.0.1", "ro")],
    )
    space, is_new = store.create_space("ann", asked, NOON, "tenant:ann")
    assert is_new
    assert (space.state, space.generation, space.made_generation) == ("requested", 1, 0)
    again = store.space(space.id, "ann")
    assert again == space
    assert again.access == asked.access
    assert store.space_named("ann", "data") == space
    assert store.spaces("ann") == (space,)
    order = store.order(space.id)
    assert order.wanted_shares() == {
        (node, device): 5 * GIB for node in ("io0", "io1") for device in ("/dev/d0", "/dev/d1")
    }
    assert [held.dedicated_to for held in store.servers()] == [space.id, space.id, None]
    assert store.usage("ann").model_dump() == {"bytes": 10 * GIB, "servers": 2, "spaces": 1}


def test_asked_again_it_is_the_same_space_also_after_it_has_grown(store):
    asked = request(access=[ip("10.0.0.1"), ip("10.0.0.2")])
    space, _ = store.create_space("ann", asked, NOON, "tenant:ann")
    make_ready(store, space.id, NOON)
    store.resize_space(space.id, Resize(size=2 * GIB), NOON, "tenant:ann")
    other_order = request(access=[ip("10.0.0.2"), ip("10.0.0.1")])
    again, is_new = store.create_space("ann", other_order, NOON, "tenant:ann")
    assert (again.id, again.size, is_new) == (space.id, 2 * GIB, False)
    assert store.usage("ann").spaces == 1


def test_another_request_of_the_same_name_is_refused_with_what_differs(store):
    store.create_space("ann", request(), NOON, "tenant:ann")
    refused = refusal(
        store.create_space,
        "ann",
        request(size=2 * GIB, servers=2, access=[ip("10.0.0.1")]),
        NOON,
        "tenant:ann",
    )
    assert refused.code == "exists"
    assert "size 1 GiB and not 2 GiB, servers 1 and not 2, other access rules" in str(refused)
    other, is_new = store.create_space("bob", request(size=2 * GIB), NOON, "tenant:bob")
    assert is_new
    assert other.tenant == "bob"


def test_requests_of_many_threads_for_one_name_make_one_space(store):
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(store.create_space("ann", request(), NOON, "tenant:ann"))
        )
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({space.id for space, _ in found}) == 1
    assert sorted(is_new for _, is_new in found) == [False] * 15 + [True]


def test_a_name_is_free_again_when_the_space_is_gone(store):
    space, _ = store.create_space("ann", request(), NOON, "tenant:ann")
    make_ready(store, space.id, NOON)
    store.delete_space(space.id, NOON, "tenant:ann")
    refused = refusal(store.create_space, "ann", request(), NOON, "tenant:ann")
    assert (refused.code, "being deleted" in str(refused)) == ("state", True)
    free_before = [held.free for held in store.servers()]
    make_ready(store, space.id, NOON)
    assert store.space(space.id).state == "gone"
    assert [held.free for held in store.servers()] != free_before
    assert all(held.free_bytes == 200 * GIB and not held.tenants for held in store.servers())
    assert store.spaces("ann") == ()
    new, is_new = store.create_space("ann", request(size=2 * GIB), NOON, "tenant:ann")
    assert is_new
    assert new.id != space.id


def test_to_another_tenant_a_space_is_unknown(store):
    space, _ = store.create_space("ann", request(), NOON, "tenant:ann")
    said = [
        refusal(store.space, space.id, "bob"),
        refusal(store.resize_space, space.id, Resize(size=GIB), NOON, "tenant:bob", "bob"),
        refusal(store.set_access, space.id, AccessList(access=()), NOON, "tenant:bob", "bob"),
        refusal(store.delete_space, space.id, NOON, "tenant:bob", "bob"),
        refusal(store.retry_space, space.id, NOON, "tenant:bob", "bob"),
    ]
    none = refusal(store.space, "sp-none", "bob")
    assert {each.code for each in said} == {"unknown"}
    assert {str(each).replace(space.id, "X") for each in said} == {
        str(none).replace("sp-none", "X")
    }
    assert store.space_named("bob", "data") is None
    assert store.spaces("bob") == ()
    assert store.events("bob") == ()
    assert store.events("bob", space.id) == ()
    assert store.space(space.id) == space


def test_a_later_tenant_of_the_same_name_sees_nothing_of_the_first(store):
    space, _ = store.create_space("ann", request(), NOON, "tenant:ann")
    assert refusal(store.remove_tenant, "ann", NOON).code == "in_use"
    store.delete_space(space.id, NOON, "tenant:ann")
    make_ready(store, space.id, NOON)
    _, token = store.add_token("ann", NOON)
    store.remove_tenant("ann", NOON)
    assert store.token_of(token) is None
    assert refusal(store.tenant, "ann").code == "unknown"
    store.put_tenant(tenant("ann"), NOON)
    assert store.events("ann") == ()
    assert refusal(store.space, space.id, "ann").code == "unknown"
    assert store.space(space.id).state == "gone"  # the administrator still knows it
    assert store.events(space=space.id)


def test_a_refused_request_changes_nothing_and_is_audited(store):
    store.put_tenant(tenant("ann", bytes=GIB), NOON)
    before = store.servers(), store.events(), store.audit(limit=1000)
    refused = refusal(store.create_space, "ann", request(size=2 * GIB), NOON, "tenant:ann")
    assert (store.servers(), store.events()) == before[:2]
    (row,) = store.audit(after=before[2][-1].number)
    assert (row.actor, row.action, row.subject) == ("tenant:ann", "create space", "ann/data")
    assert (row.outcome, row.detail) == ("quota", str(refused))


def test_while_a_space_shrinks_what_it_leaves_is_not_given_to_others(store):
    space, _ = store.create_space("ann", request(size=80 * GIB), NOON, "tenant:ann")
    make_ready(store, space.id, NOON)
    store.resize_space(space.id, Resize(size=10 * GIB), NOON, "tenant:ann")
    assert min(held.free_bytes for held in store.servers()) == 120 * GIB
    make_ready(store, space.id, NOON)
    assert min(held.free_bytes for held in store.servers()) == 190 * GIB
    assert [event.kind for event in store.events("ann")] == [
        "requested",
        "making",
        "ready",
        "changing",
        "ready",
    ]


def test_what_came_of_a_step_counts_only_for_what_was_decided_on(store):
    space, _ = store.create_space("ann", request(), NOON, "tenant:ann")
    store.begin(space, NOON)
    decided_on = store.space(space.id)
    store.delete_space(space.id, NOON, "tenant:ann")
    assert not store.finish(decided_on, "io0:/data", NOON)
    intent = store.intend(decided_on, "make", "why", NOON)
    assert not store.could_not(intent, decided_on, "no", NOON)
    assert store.space(space.id).state == "deleting"
    assert store.open_intents() == ()


def test_a_server_keeps_what_spaces_hold_of_it(store):
    store.create_space("ann", request(size=50 * GIB), NOON, "tenant:ann")
    refused = refusal(store.put_server, server("io0", 100 * GIB, 10 * GIB, kinds=("nfs",)), NOON)
    assert refused.code == "in_use"
    assert "it holds spaces of glusterfs" in str(refused)
    refused = refusal(store.put_server, server("io0", 10 * GIB, 10 * GIB), NOON)
    assert "spaces hold 50 GiB of device /dev/d0, which would have 10 GiB" in str(refused)
    assert refusal(store.remove_server, "io0", NOON).code == "in_use"
    assert refusal(store.remove_server, "io9", NOON).code == "unknown"
    assert store.put_server(server("io0", 60 * GIB), NOON).free == {"/dev/d0": 10 * GIB}
    store.remove_server("io2", NOON)
    assert [held.server.node for held in store.servers()] == ["io0", "io1"]


def test_rules_are_put_only_on_the_generation_that_they_are_for(store):
    space, _ = store.create_space("ann", request(), NOON, "tenant:ann")
    make_ready(store, space.id, NOON)
    rules = AccessList(access=(ip("10.0.0.1"),))
    put = store.set_access(space.id, rules, NOON, "tenant:ann", "ann", 1)
    assert put.generation == 2
    other = AccessList(access=(ip("10.0.0.2"),))
    assert refusal(store.set_access, space.id, other, NOON, "a", "ann", 1).code == "changed"
    assert store.space(space.id).access == rules.access


def test_one_process_at_a_time_has_a_folder(tmp_path, store):
    with (
        pytest.raises(ServiceError, match=r"process \d+ has .* open: one service at a time"),
        open_store(tmp_path / "service"),
    ):
        raise AssertionError
    assert (tmp_path / "service").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "service" / DATABASE).stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    folder = tmp_path / "service"
    folder.mkdir()
    (folder / DATABASE).write_text("no database " * 100)
    with (
        pytest.raises(ServiceError, match="cannot be used as the service's database"),
        open_store(folder),
    ):
        raise AssertionError
    (folder / DATABASE).unlink()
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with (
        pytest.raises(
            ServiceError, match=f"schema {SCHEMA_VERSION + 1}, this one reads {SCHEMA_VERSION}"
        ),
        open_store(folder),
    ):
        raise AssertionError
    (tmp_path / "file").write_text("")
    with pytest.raises(ServiceError, match="Choose another folder"), open_store(tmp_path / "file"):
        raise AssertionError


ONLY_WHAT_IT_ANSWERS_WITH = ("space_unsettled", "intent_open")
"""Indices that hold the rows of one read and no others: all of them are its answer."""


@pytest.mark.parametrize("name", READS)
def test_a_read_looks_at_no_row_that_it_does_not_answer_with(tmp_path, store, name):
    connection = sqlite3.connect(tmp_path / "service" / DATABASE)
    try:
        marks = READS[name].count("?")
        plan = [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {READS[name]}", [0] * marks)
        ]
    finally:
        connection.close()
    assert plan
    for line in plan:
        if (
            "(rowid>?)" in line
        ):  # from a number on: all of them are the answer only where nothing else is asked
            assert name in ("events", "audit")
        assert line.startswith("SEARCH") or any(
            index in line for index in ONLY_WHAT_IT_ANSWERS_WITH
        ), line
