"""wavetank service and wavetank space: over a service in this process, and once over a daemon that the command itself runs."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from service_certificates import Authority
from service_fakes import kind_that_can_do_all
from service_web import Service

from wavetank.cli.main import cli
from wavetank.errors import ServiceError, SpecError, UsageError
from wavetank.service.client import connection
from wavetank.service.client.connection import AnsweredError, Connection, as_tenant
from wavetank.service.core.certificates import fingerprint
from wavetank.service.core.volume import Volume
from wavetank.service.csi.mounts import Mount
from wavetank.service.store.folder import open_store

__all__ = ["kind_that_can_do_all"]
CREATE = "space create data --size 1GiB --kind glusterfs"


class Terminal:
    """Commands over the service in this process."""

    def __init__(self, service):
        self.service = service

    def __call__(self, line):
        result = CliRunner().invoke(cli, line.split())
        self.told = result.stderr.splitlines()
        if result.exception is not None:
            raise result.exception
        return result.stdout

    def rows(self, line, key="spaces"):
        return json.loads(self(f"{line} --format json"))[key]


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    with open_store(tmp_path / "service") as store:
        service = Service(store, tmp_path / "made")

        @contextmanager
        def tenant(url, token, authority=None):
            assert (url, authority) == ("https://there:8470", None)
            yield Connection(service.client(token), url)

        @contextmanager
        def administrator(socket):
            assert socket == tmp_path / "service" / "admin.sock"
            yield Connection(service.admin, str(socket))

        monkeypatch.setattr(connection, "as_tenant", tenant)
        monkeypatch.setattr(connection, "as_administrator", administrator)
        monkeypatch.setattr("wavetank.cli.space._pause", service.driver.settle)
        monkeypatch.setenv("WAVETANK_SERVICE", "https://there:8470")
        monkeypatch.setenv("WAVETANK_TOKEN", "ann")  # the name by which this test finds the token
        monkeypatch.setenv("WAVETANK_SERVICE_FOLDER", str(tmp_path / "service"))
        yield Terminal(service)


def test_a_tenant_makes_changes_and_removes_a_space(terminal):
    (row,) = terminal.rows(f"{CREATE} --access 10.0.0.1 --access cert:io.lab:ro --wait")
    assert (row["state"], row["size_bytes"], row["export"]) == (
        "ready",
        2**30,
        f"server:/{row['id']}",
    )
    assert (
        terminal.rows(
            CREATE.replace("1GiB", "1024MiB") + " --access cert:io.lab:ro --access 10.0.0.1"
        )[0]["id"]
        == row["id"]
    )
    (grown,) = terminal.rows("space grow data --size 2GiB --servers 2 --wait")
    assert (grown["size_bytes"], grown["servers"]) == (2**31, 2)
    terminal("space grant data 10.0.0.1:ro 10.1.0.0/16 --wait")
    terminal("space revoke data cert:io.lab --wait")
    rules = terminal.rows("space show data", "access_rules")
    assert [(each["subject"], each["level"]) for each in rules] == [
        ("10.0.0.1", "ro"),
        ("10.1.0.0/16", "rw"),
    ]
    kinds = [each["kind"] for each in terminal.rows("space show data", "events_of_a_space")]
    assert (kinds[0], kinds.count("ready")) == ("requested", 4)
    assert row["export"] in terminal("space list")
    (gone,) = terminal.rows("space delete data --wait")
    assert gone["state"] == "gone"
    assert terminal.rows("space list") == []


def test_the_command_that_mounts_a_space_is_printed(terminal, monkeypatch):
    maker, bricks = terminal.service.driver.maker, (("10.0.0.3", 24100), ("10.0.0.4", 24101))
    terminal(CREATE)
    find = maker.find

    def found(space):
        seen = find(space)
        return seen and dataclasses.replace(seen, export=Volume(space, bricks).export())

    monkeypatch.setattr(maker, "find", found)
    terminal.service.driver.settle()
    (space,) = terminal.rows("space list")
    text = terminal("space mount --print data /mnt/data")
    options = "server-port=24099,backup-volfile-servers=10.0.0.4"
    assert text == f"mount -t glusterfs -o {options} 10.0.0.3:/{space['id']} /mnt/data\n"


def test_rules_by_certificate_name_their_authority_once(terminal, tmp_path):
    signs = Authority(tmp_path)
    pem = signs.file.read_text()
    terminal(f"{CREATE} --access cert:one --authority {signs.file} --wait")
    terminal("space grant data cert:two --wait")
    rules = terminal.rows("space show data", "access_rules")
    assert [(each["subject"], each["authority"]) for each in rules] == [("one", pem), ("two", pem)]
    assert fingerprint(pem) in terminal("space show data")
    with pytest.raises(UsageError, match="--authority goes with rules by certificate"):
        terminal(f"space grant data 10.0.0.1 --authority {signs.file}")
    with pytest.raises(ServiceError, match=f"cannot read the authority {tmp_path}/none: No such"):
        terminal(f"space grant data cert:three --authority {tmp_path}/none")
    _, key = signs.signs("client")
    with pytest.raises(UsageError, match=r"rule 'cert:three': .*has a private key") as refused:
        terminal(f"space grant data cert:three --authority {key}")
    assert key.read_text().splitlines()[1][:20] not in str(refused.value)
    terminal("space revoke data cert:one --wait")
    assert [each["subject"] for each in terminal.rows("space show data", "access_rules")] == ["two"]


def test_a_space_with_rules_by_certificate_is_mounted_with_one(terminal, tmp_path, monkeypatch):
    signs, done = Authority(tmp_path), []
    certificate, key = signs.signs("one")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("wavetank.service.csi.mounts.mounts_at", lambda _: [])
    monkeypatch.setattr("wavetank.cli.space_mount.mount_on", lambda *each: done.append(each[3]))
    terminal(f"{CREATE} --access cert:one --authority {signs.file} --wait")
    own = f"--certificate {certificate} --key {key}"
    terminal(f"space mount data {tmp_path}/at {own}")
    assert done == [{"certificate": str(certificate), "key": str(key)}]
    for wrong, said in (
        ("", "has rules by certificate: give this machine's by --certificate FILE and --key FILE"),
        (
            f"--certificate {certificate}",
            "give this machine's by --certificate FILE and --key FILE",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            terminal(f"space mount data {tmp_path}/at {wrong}")
    with pytest.raises(ServiceError, match=r"cannot use certificate .* they belong together"):
        terminal(f"space mount data {tmp_path}/at --certificate {signs.file} --key {key}")
    terminal("space revoke data cert:one --wait")
    with pytest.raises(UsageError, match="has rules by address: leave --certificate and --key out"):
        terminal(f"space mount data {tmp_path}/at {own}")
    assert len(done) == 1


def test_a_space_is_mounted_once_and_over_nothing_else(terminal, tmp_path, monkeypatch):
    terminal(CREATE)
    at, mounted, done = tmp_path / "at", [], []
    with pytest.raises(ServiceError, match="'data' is requested and was never ready"):
        terminal(f"space mount data {at}")
    terminal.service.driver.settle()
    (space,) = terminal.rows("space list")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ServiceError, match="only root mounts"):
        terminal(f"space mount data {at}")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("wavetank.service.csi.mounts.mounts_at", lambda _: mounted)
    monkeypatch.setattr(
        "wavetank.cli.space_mount.mount_on", lambda _, space, at, __: done.append((space.id, at))
    )
    terminal(f"space mount data {at}")
    assert done == [(space["id"], str(at))]
    assert f"'umount {at}' unmounts it" in terminal.told[-1]
    mounted.append(Mount(str(at), space["export"], ("0:1", "/"), False))
    terminal(f"space mount data {at}")
    assert "already" in terminal.told[-1] and len(done) == 1
    mounted[:] = [Mount(str(at), "/dev/other", ("0:1", "/"), False)]
    with pytest.raises(UsageError, match="/dev/other is mounted there"):
        terminal(f"space mount data {at}")
    mounted.clear()
    at.mkdir()
    (at / "file").touch()
    with pytest.raises(UsageError, match="is not empty"):
        terminal(f"space mount data {at}")
    assert len(done) == 1


def test_what_failed_is_told_and_can_be_tried_again(terminal):
    terminal.service.driver.maker.broken = {"make": "io0: no space left on device"}
    with pytest.raises(ServiceError, match="'data' has failed: io0: no space left on device"):
        terminal(f"{CREATE} --wait")
    assert "no space left on device" in terminal("space list")
    terminal.service.driver.maker.broken = {}
    assert terminal.rows("space retry data --wait")[0]["state"] == "ready"


def test_waiting_tells_what_happens_once_each_and_counts_what_comes_again(terminal, monkeypatch):
    service, pauses = terminal.service, []

    def pause():
        pauses.append(1)
        broken = len(pauses) <= 5
        service.driver.maker.broken = {"find": "io0 does not answer"} if broken else {}
        service.driver.settle()

    monkeypatch.setattr("wavetank.cli.space._pause", pause)
    terminal(f"{CREATE} --wait")
    assert [line.partition("data: ")[2] for line in terminal.told] == [
        "requested: shared glusterfs, 1 GiB on 1 server",
        "unreachable: io0 does not answer",
        "unreachable: the same 5 times by now",
        "making: its place on servers is kept",
        "step: make: nothing of it is there yet",
        f"ready: server:/{terminal.rows('space list')[0]['id']}",
    ]
    kinds = {
        each["kind"]: each["times"]
        for each in terminal.rows("space show data", "events_of_a_space")
    }
    assert (kinds["unreachable"], kinds["ready"]) == (5, 1)
    terminal("space grow data --size 2GiB --wait")  # what was before is not told again
    kinds = [line.partition("data: ")[2].partition(":")[0] for line in terminal.told]
    assert (kinds[0], kinds[-1], kinds.count("ready")) == ("growing", "ready", 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("space show data", "there is no space 'data'"),
        ("space create data --size 1GiB --kind nfs", "no maker for NFS"),
        ("space create data --size much --kind nfs", "--size: 'much' is not a size"),
        ("space create .. --size 1GiB --kind glusterfs", "no such space can be"),
        (f"{CREATE} --access here", "access rule 'here': .*is no address"),
        (f"{CREATE} --access key:ann", "GlusterFS keeps rules by ip or certificate, not by key"),
        ("space grow data", "give --size, --servers or both"),
        ("service tenant remove eve", "there is no tenant 'eve'"),
        ("service server put io9 --device /srv --kind nfs", "write NAME=SIZE"),
        ("service token make ann --expires never", "--expires: 'never' is not a duration"),
        ("service run --listen 8470", "write HOST:PORT"),
        ("service run --keep-gone ever", "--keep-gone: 'ever' is not a duration"),
        ("service run --listen 0.0.0.0:8470", "without TLS tokens are read on the way"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_reason(terminal, line, message):
    with pytest.raises((AnsweredError, UsageError), match=message):
        terminal(line)
    assert terminal.rows("space list") == []


def test_where_the_service_is_and_who_asks_must_be_said(terminal, monkeypatch):
    monkeypatch.delenv("WAVETANK_TOKEN")
    with pytest.raises(UsageError, match="set WAVETANK_TOKEN in the environment"):
        terminal("space list")
    monkeypatch.undo()
    for url in ("http://storage.example.org:8470", "http://192.0.2.1:8470"):
        with pytest.raises(UsageError, match="not encrypted"), as_tenant(url, "wt_x"):
            raise AssertionError
    for url in ("there", "ftp://there", "https://"):
        with pytest.raises(UsageError, match="is no URL"), as_tenant(url, "wt_x"):
            raise AssertionError


def test_the_administrator_adds_templates_of_servers(terminal, tmp_path):
    file = tmp_path / "servers.yaml"
    words = f"service template put small {file} --device /storage=9GiB --kind glusterfs --most 4"
    with pytest.raises(SpecError, match=r"servers\.yaml"):
        terminal(words)
    file.write_text(
        "name: any\ninstance: {name: our-node}\nnodes: {compute: 1}\nfile_system: {kind: none}\n"
    )
    (row,) = terminal.rows(words, "templates_of_servers")
    assert row == {
        "name": "small", "provider": "local", "devices": 1, "device_bytes": 9 * 2**30, "kinds": "glusterfs",
        "used_servers": 0, "most_servers": 4,
    }  # fmt: skip
    terminal(f"{CREATE} --mode dedicated --servers 4 --wait")  # three were added
    (row,) = terminal.rows("service template list", "templates_of_servers")
    assert row["used_servers"] == 4
    terminal("service template remove small")
    assert terminal.rows("service template list", "templates_of_servers") == []
    with pytest.raises(AnsweredError, match="there is no template 'small'"):
        terminal("service template remove small")


def test_the_administrator_sees_tenants_servers_and_tokens(terminal):
    (row,) = terminal.rows("service tenant put ann --size 1GiB --spaces 3", "tenants")
    assert (row["quota_bytes"], row["quota_servers"], row["quota_spaces"]) == (2**30, None, 3)
    terminal(CREATE)
    found = {
        each["name"]: each["used_bytes"] for each in terminal.rows("service tenant list", "tenants")
    }
    assert found == {"ann": 2**30, "bob": 0}
    devices = terminal.rows("service server list", "devices_of_servers")
    assert sum(each["size_bytes"] - each["free_bytes"] for each in devices) == 2**30
    terminal("service server put io9 --device /a=1GiB --device /b=2GiB --kind nfs --kind glusterfs")
    new = [
        each
        for each in terminal.rows("service server list", "devices_of_servers")
        if each["node"] == "io9"
    ]
    assert [(each["device"], each["free_bytes"], each["kinds"]) for each in new] == [
        ("/a", 2**30, "nfs, glusterfs"),
        ("/b", 2**31, "nfs, glusterfs"),
    ]
    terminal("service server remove io9")
    text = terminal("service token make ann").strip()
    tokens = terminal.rows("service token list", "tokens")
    identity = text.split("_")[1]
    assert identity in {each["id"] for each in tokens}
    assert text.split("_", 2)[2] not in json.dumps(tokens)
    terminal(f"service token revoke {identity}")
    assert identity not in {each["id"] for each in terminal.rows("service token list", "tokens")}
    kept = terminal("service tenant put carl --token").strip().split("_")[1]
    tenants = {each["id"]: each["tenant"] for each in terminal.rows("service token list", "tokens")}
    assert tenants[kept] == "carl"
    terminal("service tenant remove carl")
    terminal("service token make ann --expires 90d")
    last = terminal.rows("service token list", "tokens")[-1]
    assert last["expires_utc"] > last["created_utc"]
    terminal("service tenant remove bob")
    assert [each["name"] for each in terminal.rows("service tenant list", "tenants")] == ["ann"]


def test_the_command_runs_a_service_until_it_is_told_to_stop(tmp_path):
    program = [sys.executable, "-m", "wavetank"]
    environment = {**os.environ, "WAVETANK_SERVICE_FOLDER": str(tmp_path / "service")}

    def run(*words, **more):
        found = subprocess.run(
            [*program, *words], env=environment | more, capture_output=True, text=True, check=False
        )
        return found.returncode, found.stdout.strip(), found.stderr

    status, _, told = run("service", "tenant", "list")
    assert (status, "Is it running there?" in told) == (1, True)
    with subprocess.Popen(
        [*program, "service", "run", "--listen", "127.0.0.1:0"],
        env=environment, stderr=subprocess.PIPE, text=True,
    ) as service:  # fmt: skip
        try:
            url = service.stderr.readline().split()[-1]
            assert run("service", "tenant", "put", "ann")[0] == 0
            token = run("service", "token", "make", "ann")[1]
            who = {"WAVETANK_SERVICE": url, "WAVETANK_TOKEN": token}
            status, text, told = run("space", "list", "--format", "json", **who)
            assert (status, json.loads(text)["spaces"], told) == (0, [], "")
            service.send_signal(signal.SIGTERM)
            assert service.stderr.read() == ""
            assert service.wait() == 0
        finally:
            service.kill()
