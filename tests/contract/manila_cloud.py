"""A cloud for the tests of Manila's driver: a real Manila with PostgreSQL, a daemon of the service, its servers, and clients on nodes.

c1 is a client, c2 serves NFS, c3 and c4 serve GlusterFS. Each part is a process of its own, which a test may kill.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import up

from waiting import HANG_S, until
from wavetank.cluster.deploy import DeployedCluster
from wavetank.cluster.devices import device_paths
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.service.client.connection import Connection, as_administrator
from wavetank.service.core.answers import Servers, SpacePage, TenantAnswer, TokenMade
from wavetank.service.core.places import admin_socket
from wavetank.service.core.records import Held, Space
from wavetank.service.makers.glusterfs import maker as gluster_maker
from wavetank.service.makers.nfs import maker as nfs_maker

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build" / "manila"
DRIVER = ROOT / "packaging" / "manila" / "src"
MICROVERSION = "2.90"
WAVETANK = [sys.executable, "-m", "wavetank"]
QUOTA_GIB = 64

CONFIG = """\
[DEFAULT]
host = here
my_ip = 127.0.0.1
state_path = {folder}/state
log_file = {folder}/manila.log
transport_url = fake:///
auth_strategy = noauthv2
api_paste_config = {environment}/etc/manila/api-paste.ini
enabled_share_backends = shared, dedicated
enabled_share_protocols = NFS, GLUSTERFS
delete_share_server_with_last_share = True
# A busy machine is no broken one.
service_down_time = 3600
rpc_response_timeout = 900
periodic_interval = 10
periodic_fuzzy_delay = 0
[database]
connection = postgresql+psycopg2://postgres@/postgres?host={database}
[oslo_concurrency]
lock_path = {folder}/locks
[shared]
share_backend_name = shared
share_driver = wavetank_manila.driver.WavetankShareDriver
driver_handles_share_servers = False
wavetank_url = {url}
wavetank_token_file = {token}
[dedicated]
share_backend_name = dedicated
share_driver = wavetank_manila.driver.WavetankShareDriver
driver_handles_share_servers = True
wavetank_url = {url}
wavetank_token_file = {token}
network_api_class = manila.network.standalone_network_plugin.StandaloneNetworkPlugin
standalone_network_plugin_gateway = 10.77.0.254
standalone_network_plugin_mask = 24
"""


def lacks() -> str | None:
    """What is missing for a real Manila; None: nothing."""
    if not (ENVIRONMENT / ".installed").exists():
        return "Manila is not installed: make test-manila installs it"
    if _postgres() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    missing = {*nfs_maker.needs().missing_here(), *gluster_maker.needs().missing_here()}
    return "; ".join(sorted(map(str, missing))) or None


def _postgres() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Process:
    """A program that runs until it is killed, or this process ends.

    Attributes:
        argv: the program; it can be started again.
    """

    def __init__(self, name: str, argv: list[str], folder: Path, **env: str) -> None:
        self.argv, self._env = argv, os.environ | env
        self._name, self._folder, self._starts = name, folder, 0
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._starts += 1
        with self._log.open("wb") as log:
            argv = ["setpriv", "--pdeathsig", "KILL", *self.argv]
            self._running = subprocess.Popen(argv, stdout=log, stderr=log, env=self._env)

    @property
    def _log(self) -> Path:
        """What it says; each start has a log of its own."""
        return self._folder / f"{self._name}-{self._starts}.log"

    def told(self, before: str) -> str:
        """The rest of the line in which it says something, since its last start."""

        def found() -> str:
            assert self._running is not None
            text = self._log.read_text()
            assert self._running.poll() is None, text[-4000:]
            line, ended, _ = text.partition(before)[2].partition("\n")
            return line if ended else ""

        return until(found, f"{self._name} says {before!r}")

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal, and wait until it has ended."""
        if self._running is not None:
            self._running.send_signal(number)
            self._running.wait(HANG_S)
            self._running = None


class RefusedError(AssertionError):
    """Manila refused a request, or failed at it.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, method: str, path: str, error: urllib.error.HTTPError) -> None:
        self.status = error.code
        super().__init__(f"{method} {path}: {error.code} {error.read()[:500]!r}")


class Manila:
    """Manila's API, asked as its administrator.

    Attributes:
        process: all of Manila.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.start()

    def start(self) -> None:
        self.process.start()
        self._url = f"http://127.0.0.1:{self.process.told('API at port ')}/v2"

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """An answer as JSON; None where it is empty."""
        headers = {
            "Content-Type": "application/json",
            "X-Auth-Token": "admin:project",
            "X-OpenStack-Manila-API-Version": MICROVERSION,
        }
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RefusedError(method, path, error) from error
        return json.loads(text) if text else None

    def type(self, name: str, dedicated: bool, **specs: str) -> str:
        """A new share type; its identity."""
        extra = {"driver_handles_share_servers": str(dedicated)}
        extra |= {f"pfs:{key}": value for key, value in specs.items()}
        body = {"name": name, "extra_specs": extra}
        return self.ask("POST", "/types", {"share_type": body})["share_type"]["id"]

    def create(
        self, protocol: str, share_type: str, network: str | None = None, gib: int = 1
    ) -> str:
        """Ask for a share; its identity."""
        body: dict[str, Any] = {"share_proto": protocol, "size": gib, "share_type": share_type}
        if network is not None:
            body["share_network_id"] = network
        return self.ask("POST", "/shares", {"share": body})["share"]["id"]

    def share(self, share: str) -> dict[str, Any]:
        return self.ask("GET", f"/shares/{share}")["share"]

    def settled(self, share: str) -> dict[str, Any]:
        """A share once its state is none in which something is done with it."""

        def found() -> dict[str, Any] | None:
            is_now = self.share(share)
            return None if is_now["status"].endswith("ing") else is_now

        return until(found, f"share {share} is settled")

    def available(self, share: str) -> str:
        """Where an available share is mounted from, its first place."""
        assert self.settled(share)["status"] == "available", self.messages(share)
        places = self.ask("GET", f"/shares/{share}/export_locations")["export_locations"]
        return sorted(each["path"] for each in places)[0]

    def do(self, share: str, action: str, **body: Any) -> Any:
        return self.ask("POST", f"/shares/{share}/action", {action: body or None})

    def allow(self, share: str, address: str, level: str = "rw", kind: str = "ip") -> str:
        """Ask for a rule; its identity."""
        asked = {"access_type": kind, "access_to": address, "access_level": level}
        return self.do(share, "allow_access", **asked)["access"]["id"]

    def rules(self, share: str) -> dict[str, str]:
        """Identity of each rule -> its state."""
        found = self.ask("GET", f"/share-access-rules?share_id={share}")["access_list"]
        return {each["id"]: each["state"] for each in found}

    def rules_settled(self, share: str) -> dict[str, str]:
        def found() -> dict[str, str] | None:
            states = self.rules(share)
            is_settled = all(state in ("active", "error") for state in states.values())
            return {"": "settled", **states} if is_settled else None

        states = until(found, f"rules of share {share}")
        del states[""]
        return states

    def delete(self, share: str) -> None:
        """Delete a share, and wait until Manila knows none."""
        self.ask("DELETE", f"/shares/{share}")
        self.gone(share)

    def gone(self, share: str) -> None:
        def is_gone() -> bool:
            try:
                status = self.share(share)["status"]
            except RefusedError as error:
                # Manila fails to show a share whose instance goes just then.
                assert error.status in (404, 500), error
                return error.status == 404
            assert status != "error_deleting", self.messages(share)
            return False

        until(is_gone, f"share {share} is gone")

    def messages(self, share: str) -> list[str]:
        """What Manila tells its user of a share."""
        found = self.ask("GET", f"/messages?resource_id={share}")["messages"]
        return [each["user_message"] for each in found]

    def pools(self) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of each back end."""
        pools = self.ask("GET", "/scheduler-stats/pools/detail")["pools"]
        return {each["backend"]: each["capabilities"] for each in pools}


class Cloud:
    """All of it.

    Attributes:
        client: a node.
        manila: asked by tests.
        service: the daemon's process.
        nodes: names of servers as the service calls them: of NFS, then two of GlusterFS.
    """

    def __init__(self, cluster: DeployedCluster, folder: Path, database: Path) -> None:
        self.cluster, self.folder, self.database = cluster, folder, database
        self.client: Host = cluster.compute_hosts[0]
        self.nodes = [f"{cluster.name}.{host.name}" for host in cluster.compute_hosts[1:]]
        argv = [*WAVETANK, "service", "run", "--listen", "127.0.0.1:0"]
        env = {"WAVETANK_SERVICE_FOLDER": str(folder / "service")}
        self.service = Process("service", argv, folder, **env)
        self.service.start()
        url = self.service.told("tenants ask at ")
        self.service.argv[-1] = url.removeprefix("http://")  # it keeps its address
        self._add_servers()
        self.token = folder / "token"
        with self.administrator() as service:
            made = service.send("POST", "/v1/tenants/manila/tokens", TokenMade)
        self.token.write_text(made.text)
        config = folder / "manila.conf"
        config.write_text(
            CONFIG.format(
                folder=folder, environment=ENVIRONMENT, database=database, url=url, token=self.token
            )
        )
        argv = [str(ENVIRONMENT / "bin/python"), str(Path(__file__).parent / "manila_served.py")]
        env = {"PYTHONPATH": str(DRIVER)}
        self.manila = Manila(Process("manila", [*argv, str(config)], folder, **env))

    def _add_servers(self) -> None:
        paths = device_paths(self.cluster.spec.storage, self.cluster.storage_path)
        devices = [{"name": path, "size": "2600 MiB"} for path in paths]
        with self.administrator() as service:
            for node, kind in zip(self.nodes, ("nfs", "glusterfs", "glusterfs"), strict=True):
                body = {"devices": devices[:1] if kind == "nfs" else devices, "kinds": [kind]}
                service.send("PUT", f"/v1/servers/{node}", Held, body)
            quota = {"bytes": QUOTA_GIB * 2**30}
            service.send("PUT", "/v1/tenants/manila", TenantAnswer, quota)

    @contextlib.contextmanager
    def administrator(self) -> Iterator[Connection]:
        """The service's administrator, who waits for the service however long it takes."""
        with as_administrator(admin_socket(self.folder / "service")) as service:
            service.http.timeout = HANG_S
            yield service

    def servers(self) -> dict[str, Held]:
        """What the service knows of its servers, by their names."""
        with self.administrator() as service:
            return {each.server.node: each for each in service.get("/v1/servers", Servers).servers}

    def spaces(self) -> dict[str, Space]:
        """All spaces, by the shares that they are of."""
        with self.administrator() as service:
            found = service.get("/v1/spaces", SpacePage).spaces
        return {space.name.removeprefix("manila-"): space for space in found}

    def only_space(self) -> Space:
        """The one space that there is."""
        (space,) = self.spaces().values()
        return space

    def close(self, space: Space) -> None:
        """As the service's administrator, have a space let nobody in."""
        with self.administrator() as service:
            path = f"/v1/spaces/{space.id}"
            service.send("PUT", f"{path}/access", Space, {"access": []})
            until(lambda: service.get(path, Space).state == "ready", "nobody is let in")

    def space(self, share: str) -> Space:
        """The space of a share."""
        instances = self.manila.ask("GET", f"/shares/{share}/instances")["share_instances"]
        return self.spaces()[instances[0]["id"]]


@contextlib.contextmanager
def database() -> Iterator[Path]:
    """A PostgreSQL of its own; the folder of its socket. It does not run as root, which sees no folder of pytest's."""
    programs = _postgres()
    assert programs is not None
    user = pwd.getpwnam("postgres")
    folder = Path(tempfile.mkdtemp(prefix="wavetank-manila-"))
    os.chown(folder, user.pw_uid, user.pw_gid)
    as_user = ["setpriv", "--reuid", "postgres", "--regid", str(user.pw_gid), "--clear-groups"]
    data = folder / "data"
    settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off"]
    server = [*as_user, "--pdeathsig", "QUIT", str(programs / "postgres"), "-D", str(data)]
    try:
        made = [
            *as_user,
            str(programs / "initdb"),
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--no-locale",
            "-D",
            str(data),
        ]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, timeout=HANG_S)
        with (folder / "log").open("wb") as log:
            argv = [*server, *(word for each in settings for word in ("-c", each))]
            running = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            until((folder / ".s.PGSQL.5432").exists, "PostgreSQL listens")
            yield folder
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(HANG_S)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def cloud(folders: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud, with nothing left of it in the end."""
    if lack := lacks():
        pytest.skip(lack)
    spec = ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-manila",
            "provider": "local",
            "instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB"},
            "nodes": {"compute": 4},
            "file_system": {"kind": "none"},
            "storage": {"size": "3 GiB", "devices": 2},
        }
    )
    folder = folders.mktemp("manila")
    with up(folders.mktemp("state"), spec) as cluster, database() as sockets:
        found = Cloud(cluster, folder, sockets)
        try:
            yield found
        finally:
            found.manila.process.end()
            found.service.end(signal.SIGTERM)
