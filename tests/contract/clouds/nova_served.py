"""A real Nova and its Placement as one process: the services' own programs, hosts by Nova's fake driver, databases of SQLite.

Usage: nova_served.py FOLDER URL, by the Python of an environment that has Nova. URL is that of the stand-ins of Keystone, Neutron,
Cinder and Glance, which Nova calls as it calls the services. The port is written to standard output when all services run; all ends with
standard input.

Messages between Nova's services do not leave the process (``fake://``). Nothing else of Nova is replaced until a test tells what the fake
driver is to do with the next servers: POST /told {...}.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from functools import partialmethod
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

FOLDER, STANDINS = Path(sys.argv[1]), sys.argv[2]
os.environ |= {
    "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1",
    "OS_NOVA_CONFIG_DIR": str(FOLDER),
    "OS_NOVA_CONFIG_FILES": f"{sys.prefix}/etc/nova/api-paste.ini;nova.conf",
    "OS_PLACEMENT_CONFIG_DIR": str(FOLDER),
}
sys.argv = ["nova"]

from nova import monkey_patch  # noqa: E402

monkey_patch.patch(backend="threading")

import sqlalchemy  # noqa: E402
from nova import context, exception, objects, service  # noqa: E402
from nova.api.openstack import wsgi_app  # noqa: E402
from nova.compute import rpcapi as compute_rpc  # noqa: E402
from nova.conductor import rpcapi as conductor_rpc  # noqa: E402
from nova.conf import CONF  # noqa: E402
from nova.db import migration  # noqa: E402
from nova.objects import host_mapping  # noqa: E402
from nova.scheduler import rpcapi as scheduler_rpc  # noqa: E402
from nova.virt import fake  # noqa: E402
from oslo_utils import uuidutils  # noqa: E402
from placement import wsgi as placement_wsgi  # noqa: E402

SPAWN = fake.FakeDriver.spawn
HOSTS = tuple(f"host{i + 1}" for i in range(7))
SMALL_MIB = 1024  # memory of a host that has no room: less than the flavors of clusters have, more than is kept for the host
# Nothing depends on how long anything takes: services are never taken for dead, calls never for lost, nothing is done now and then, and
# the scheduler reads which servers hosts have. By Nova's own weights, memory, cores and disk outweigh soft-affinity (how-to for operators).
SETTINGS = """
[DEFAULT]
compute_driver = fake.FakeDriver
transport_url = fake://
host = controller
my_ip = 127.0.0.1
state_path = {folder}
log_file = {folder}/{service}.log
report_interval = 3600
service_down_time = 1000000
rpc_response_timeout = 1800
periodic_enable = false
[filter_scheduler]
track_instance_changes = false
soft_affinity_weight_multiplier = 10
[compute]
consecutive_build_service_disable_threshold = 0
[api]
compute_link_prefix = {standins}/compute
auth_strategy = keystone
[oslo_concurrency]
lock_path = {folder}
[database]
connection = {cell1}
[api_database]
connection = sqlite:///{folder}/api.sqlite
[placement_database]
connection = sqlite:///{folder}/placement.sqlite
sync_on_startup = true
[placement]
endpoint_override = http://127.0.0.1:{port}/placement
"""
OF_SERVICE = """
auth_type = password
auth_url = {standins}/identity
username = nova
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
"""
ASKED = ("placement", "neutron", "cinder", "glance", "keystone")


class Threaded(ThreadingMixIn, WSGIServer):
    """A thread for each call: a call to Nova makes calls to Placement."""

    daemon_threads = True
    request_queue_size = 64


class Quiet(WSGIRequestHandler):
    """Without a line for each call."""

    def log_message(self, *args):
        pass


class Front:
    """Placement, Nova when it is there, and what tests tell."""

    def __init__(self):
        self.placement = self.nova = None
        self.computes = {}

    def __call__(self, environ, start):
        path = environ["PATH_INFO"]
        if path == "/told":
            self.told(json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))))
            start("200 OK", [("Content-Type", "application/json"), ("Content-Length", "2")])
            return [b"{}"]
        if path.startswith("/placement"):
            environ["SCRIPT_NAME"] = "/placement"
            environ["PATH_INFO"] = path.removeprefix("/placement")
            return self.placement(environ, start)
        return self.nova(environ, start)

    def told(self, how):
        """no_room: hosts with less memory than a server takes; fault: why no server starts, empty for none; page: items of a list."""
        for host, compute in self.computes.items() if "no_room" in how else ():
            size = SMALL_MIB if host in how["no_room"] else fake.FakeDriver.memory_mb
            driver = compute.manager.driver
            if driver.memory_mb != size:
                driver.memory_mb = driver.resources.memory_mb = size
                compute.manager.update_available_resource(context.get_admin_context())
        if "fault" in how:
            fake.FakeDriver.spawn = partialmethod(fail, how["fault"]) if how["fault"] else SPAWN
        if "page" in how:
            CONF.set_override("max_limit", how["page"], "api")


def fail(driver, reason, context, instance, *args, **more):
    """In place of a driver's ``spawn``: what it raises when starting a server again elsewhere does not help."""
    raise exception.BuildAbortException(instance_uuid=instance.uuid, reason=reason)


def begin_at_once(connection, cursor, statement, parameters, execution, many):
    """Transactions take SQLite's lock as they begin: one that takes it later fails where another one writes."""
    return ("BEGIN IMMEDIATE" if statement == "BEGIN" else statement), parameters


def wait_for_locks(connection, record):
    connection.execute("PRAGMA busy_timeout = 1800000")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = MEMORY")


def write_settings(port, password):
    of_service = OF_SERVICE.format(standins=STANDINS, password=password)
    token = f"[keystone_authtoken]\ninterface = public\n{of_service}"
    asked = "".join(f"[{each}]\nvalid_interfaces = public\n{of_service}" for each in ASKED)
    for name in ("nova", "placement"):
        text = SETTINGS.format(
            folder=FOLDER, standins=STANDINS, port=port, service=name, cell1=f"sqlite:///{FOLDER}/cell1.sqlite"
        )  # fmt: skip
        # oslo.config takes a section that is there twice as one
        (FOLDER / f"{name}.conf").write_text(text + token + asked)


def make_databases(ctxt):
    """As ``nova-manage api_db sync``, ``cell_v2 map_cell0``, ``db sync`` and ``cell_v2 create_cell`` do it; both cells begin alike."""
    migration.db_sync(database="api")
    cell0, cell1 = FOLDER / "cell0.sqlite", FOLDER / "cell1.sqlite"
    cells = (
        (objects.CellMapping.CELL0_UUID, "cell0", "none:///", f"sqlite:///{cell0}"),
        (uuidutils.generate_uuid(), "cell1", CONF.transport_url, CONF.database.connection),
    )
    made = [
        objects.CellMapping(
            ctxt, uuid=uuid, name=name, transport_url=transport, database_connection=database
        )
        for uuid, name, transport, database in cells
    ]
    for cell in made:
        cell.create()
    with context.target_cell(ctxt, made[0]) as of_cell:
        migration.db_sync(database="main", context=of_cell)
    shutil.copyfile(cell0, cell1)


def start_services(front):
    """Conductor and scheduler, then the hosts, and the cell is told of these."""
    for binary, topic in (("conductor", conductor_rpc), ("scheduler", scheduler_rpc)):
        service.Service.create("controller", f"nova-{binary}", topic.RPC_TOPIC).start()
    for host in HOSTS:
        compute = service.Service.create(
            host, "nova-compute", compute_rpc.RPC_TOPIC, topic_alt=compute_rpc.RPC_TOPIC_ALT
        )
        compute.start()
        front.computes[host] = compute
    host_mapping.discover_hosts(context.get_admin_context())


def end_with_whoever_started_it():
    while os.read(0, 4096):
        pass
    os._exit(0)


def main():
    threading.Thread(target=end_with_whoever_started_it, daemon=True).start()
    front = Front()
    server = make_server("127.0.0.1", 0, front, Threaded, Quiet)
    write_settings(server.server_port, os.environ["WAVETANK_NOVA_PASSWORD"])
    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", begin_at_once, retval=True)
    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", wait_for_locks)
    front.placement = placement_wsgi.init_application()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wsgi_app.init_global_data(wsgi_app._get_config_files(), "osapi_compute", "nova-api")
    make_databases(context.get_admin_context())
    start_services(front)
    front.nova = wsgi_app.init_application("osapi_compute", "nova-api")
    os.write(1, f"{server.server_port}\n".encode())
    threading.Event().wait()


if __name__ == "__main__":
    main()
