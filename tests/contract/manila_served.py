"""Manila as one process: API, scheduler, and a share manager for each back end. Run by the Python of Manila's environment.

    python manila_served.py MANILA.CONF

They talk in memory, and keep all else in the database that the configuration names. The API's port is printed once all have started.
"""

from __future__ import annotations

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from manila import monkey_patch

monkey_patch.patch()  # as Manila's own commands do, before they import anything else

from manila import rpc, service, version  # noqa: E402
from manila.common import config  # noqa: E402
from manila.db import migration  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_log import log  # noqa: E402
from oslo_service import wsgi  # noqa: E402


class Threads(ThreadingMixIn, WSGIServer):
    """Each request in a thread of its own."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Manila's log tells of requests."""

    def log_message(self, *_):
        """Say nothing."""


def main() -> None:
    """Serve until a signal ends the process."""
    conf = cfg.CONF
    log.register_options(conf)
    conf(["--config-file", sys.argv[1]], project="manila", version=version.version_string())
    config.verify_share_protocols()
    config.set_lib_defaults()
    log.setup(conf, "manila")
    migration.upgrade(None)
    rpc.init(conf)
    services = [service.Service.create(binary="manila-scheduler", coordination=True)]
    services += [
        service.Service.create(
            host=f"{conf.host}@{backend}",
            service_name=backend,
            binary="manila-share",
            coordination=True,
        )
        for backend in conf.enabled_share_backends
    ]
    for each in services:
        each.start()
    app = wsgi.Loader(conf).load_app("osapi_share")
    with make_server("127.0.0.1", 0, app, Threads, Quiet) as server:
        print(f"API at port {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
