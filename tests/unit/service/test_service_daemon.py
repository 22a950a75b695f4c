"""The daemon as a process: who can reach it, how it ends, and what a kill at any point leaves to the next one."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat

import pytest
from service_daemon import Daemon
from service_fakes import GIB, NOON, see_all_is_as_wanted, server, tenant

from waiting import until
from wavetank.errors import ServiceError
from wavetank.service.client.connection import AnsweredError
from wavetank.service.client.spaces import Spaces
from wavetank.service.core.answers import EventPage, Health, TenantAnswer, TokenMade
from wavetank.service.core.places import admin_socket, audit_log
from wavetank.service.core.records import Access, Held, Resize, Space, SpaceRequest
from wavetank.service.daemon.audit import AuditLog
from wavetank.service.daemon.listening import administrators_socket
from wavetank.service.daemon.run import serve
from wavetank.service.daemon.settings import Settings
from wavetank.service.store.folder import open_store


def prepare(daemon):
    """A tenant and three servers; the text of a new token."""
    with daemon.admin() as admin:
        admin.send("PUT", "/v1/tenants/ann", TenantAnswer, {})
        for i in range(3):
            body = server(f"io{i}", 100 * GIB).model_dump(mode="json", exclude={"node"})
            admin.send("PUT", f"/v1/servers/io{i}", Held, body)
        return admin.send("POST", "/v1/tenants/ann/tokens", TokenMade).text


def asked(name="data", **others):
    return SpaceRequest(**{"name": name, "size": GIB, "kind": "glusterfs", **others})


def test_it_answers_while_a_space_is_made_and_ends_after_the_step(tmp_path):
    go_on, folder = tmp_path / "go-on", tmp_path / "service"
    made = tmp_path / "made"

    def point():  # the maker is in the middle of a space until the test lets it go on
        if made.is_dir() and any(made.iterdir()):
            until(go_on.exists)

    with Daemon(folder, point) as daemon:
        assert stat.S_IMODE(admin_socket(folder).stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        token = prepare(daemon)
        with daemon.tenant(token) as connection:
            spaces = Spaces(connection)
            space = spaces.create(asked())
            until(lambda: any(made.iterdir()))
            assert spaces.named("data").state == "making"
        os.kill(daemon.pid, signal.SIGTERM)
        go_on.touch()
        assert daemon.ends() == 0
    assert not admin_socket(folder).exists()
    with open_store(folder) as store:
        assert store.open_intents() == ()
        secret = token.rsplit("_", 1)[1]
        told = audit_log(folder).read_text()
        assert [json.loads(line) for line in told.splitlines()] == [
            row.model_dump(mode="json") for row in store.audit(limit=1000)
        ]
        assert secret not in told
        assert stat.S_IMODE(audit_log(folder).stat().st_mode) == 0o600
    with Daemon(folder) as daemon, daemon.tenant(token) as connection:
        spaces = Spaces(connection)
        ready = until(lambda: (each := spaces.named("data")).state == "ready" and each)
        assert (ready.id, ready.export) == (space.id, f"server:/{space.id}")
        with (
            pytest.raises(ServiceError, match=f"process {daemon.pid} has .* open"),
            open_store(folder),
        ):
            raise AssertionError
        assert daemon.ends(signal.SIGINT) == 0


def test_without_a_maker_for_spaces_that_are_there_it_does_not_start(tmp_path):
    """A maker that is not there finds nothing: its spaces would be taken for lost."""
    folder = tmp_path / "service"
    with open_store(folder) as store:
        store.put_tenant(tenant("ann"), NOON)
        store.put_server(server("io0", 100 * GIB), NOON)
        space, _ = store.create_space("ann", asked(), NOON, "tenant:ann")
    with pytest.raises(ServiceError, match="has spaces of GlusterFS, and this service has no"):
        serve(Settings(folder=folder, port=0), lambda _: {}, pytest.fail)
    with open_store(folder) as store:
        assert store.space(space.id) == space


class KilledError(Exception):
    """The daemon was killed while the story was told."""


def story(daemon):
    """All that is wanted, in the order that leads there, from wherever the last daemon was killed."""
    try:
        with daemon.tenant(prepare(daemon)) as connection:
            spaces = Spaces(connection)
            one_that_goes(spaces)
            kept = spaces.create(asked("kept", access=[Access(kind="ip", subject="10.0.0.1")]))
            settle(spaces, kept)
            for generation, change in (
                (1, lambda: spaces.grow("kept", Resize(size=6 * GIB, servers=2))),
                (
                    2,
                    lambda: spaces.grant(
                        "kept", [Access(kind="ip", subject="10.0.0.2", level="ro")]
                    ),
                ),
                (3, lambda: spaces.revoke("kept", [Access(kind="ip", subject="10.0.0.1")])),
                (4, lambda: shrink(connection, kept)),
            ):
                if spaces.named("kept").generation == generation:
                    change()
                settle(spaces, kept)
    except AnsweredError:
        raise
    except ServiceError as error:
        raise KilledError from error


def one_that_goes(spaces):
    """A dedicated space that is made and removed, once."""

    def removed():
        events = spaces.service.get("/v1/events", EventPage, limit=1000).events
        return any(event.kind == "gone" for event in events)

    if removed():
        return
    try:
        settle(spaces, spaces.create(asked("gone", mode="dedicated")))
        spaces.delete("gone")
    except AnsweredError as refused:
        assert "is being deleted" in str(refused) or refused.code == "unknown"
    until(removed)


def settle(spaces, space):
    spaces.settled(space, lambda: until(lambda: True), lambda line: None)


def shrink(connection, space):
    connection.send("POST", f"/v1/spaces/{space.id}/resize", Space, {"size": 2 * GIB})


def test_a_kill_at_any_point_is_made_good_by_the_next_daemon(tmp_path):
    """Each is killed some points after it began, each time later, until one tells the story to its end."""
    kills = 0
    for attempt in range(100):
        points = iter(range(7 + 4 * attempt, 0, -1))

        def point(points=points):
            if next(points) == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        with Daemon(tmp_path / "service", point, rate_per_s=10_000) as daemon:
            try:
                story(daemon)
            except KilledError:
                status = daemon.ends()
            else:
                status = daemon.ends(signal.SIGTERM)
            if status == 0:
                break
            assert status == -signal.SIGKILL
            kills += 1
    assert kills > 5
    see_all_is_as_wanted(tmp_path, generation=5)
    with open_store(tmp_path / "service") as store:
        lines = audit_log(tmp_path / "service").read_text().splitlines()
        assert [json.loads(line)["number"] for line in lines] == [
            row.number for row in store.audit(limit=1000)
        ]


def test_the_administrators_socket_is_its_owners_and_replaces_one_that_was_left(tmp_path):
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with administrators_socket(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()
    with pytest.raises(ServiceError, match="No such file"), administrators_socket(tmp_path / "x/y"):
        raise AssertionError


def test_the_administrator_reaches_the_service_in_a_folder_with_a_long_name(tmp_path):
    folder = tmp_path / ("long" * 30)
    with Daemon(folder) as daemon, daemon.admin() as admin:
        assert admin.get("/v1/health", Health)
        assert daemon.ends(signal.SIGTERM) == 0
    assert not admin_socket(folder).exists()


def test_the_audit_log_has_each_row_once_whatever_a_kill_left_of_it(tmp_path):
    path = tmp_path / "audit.jsonl"

    def numbers():
        return [json.loads(line)["number"] for line in path.read_text().splitlines()]

    with open_store(tmp_path / "service") as store:

        def note(n):
            for _ in range(n):
                store.note("admin", "test", "nothing", "done", NOON)

        note(3)
        assert AuditLog(store, path).follow() == 3
        store.set_audit_written(0)  # killed before the database knew
        with path.open("a") as stream:
            stream.write('{"number": 4, "at_')  # and in the middle of a line
        note(2)
        log = AuditLog(store, path)
        assert log.follow() == 2
        assert log.follow() == 0
        assert numbers() == [1, 2, 3, 4, 5]
        path.rename(tmp_path / "audit.jsonl.1")  # as logrotate does
        note(1)
        log.follow()
        assert numbers() == [6]
        assert AuditLog(store, path).follow() == 0
        path.unlink()
        assert AuditLog(store, path).follow() == 0  # the database knows
        path.write_text("something else\n")
        with pytest.raises(ServiceError, match="is no audit log"):
            AuditLog(store, path).follow()
