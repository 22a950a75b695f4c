"""The service as one process: opens its folder, listens, and runs until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import uvicorn
from fastapi import FastAPI

from wavetank.errors import ServiceError
from wavetank.service.api.app import administrators_app, tenants_app
from wavetank.service.api.desk import Desk
from wavetank.service.api.rates import Rates
from wavetank.service.core.classes import KINDS
from wavetank.service.core.places import admin_socket
from wavetank.service.core.records import Kind
from wavetank.service.daemon.listening import administrators_socket, tenants_socket, tls_of
from wavetank.service.daemon.loop import Loop
from wavetank.service.daemon.renewal import Renewal
from wavetank.service.daemon.settings import Settings
from wavetank.service.reconcile.clusters import Clusters, NoClusters
from wavetank.service.reconcile.kinds import MakerOfKinds
from wavetank.service.reconcile.maker import Maker
from wavetank.service.store.folder import open_store
from wavetank.service.store.store import Store

STRANGERS_PER_S, STRANGERS_BURST = 1.0, 10
"""How often an address may ask without a valid token."""
LAST_REQUESTS_S = 10  # that are being answered when the service is told to stop
CONCURRENT = 1000  # connections; more are answered with 503 at once
IDLE_S = 20  # a connection is kept so long: longer than httpx does (5 s), so that no request meets its end


def serve(
    settings: Settings,
    makers: Callable[[Store], Mapping[Kind, Maker]],
    told: Callable[[str], None],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    clusters: Clusters | None = None,
) -> None:
    """Run the service until SIGTERM or SIGINT comes.

    Requests are answered from the start on, also while what a killed process left is made good. At the end requests that
    are being answered get their answers, and the step that a maker takes is waited for.

    Args:
        settings: of the service.
        makers: gives them, once the store is open.
        told: is given the URL for tenants once they can ask.
        now: the time in UTC.
        clusters: brings up servers of spaces' own; None: nothing does.

    Raises:
        UsageError: plain TCP beyond this machine; a certificate without its key.
        ServiceError: the folder, the address or the certificate cannot be used; spaces are of a kind without a maker.
    """
    tls = tls_of(settings)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(settings.folder))
        maker = MakerOfKinds(makers(store))
        _see_all_have_makers(store, maker)
        listening = stack.enter_context(tenants_socket(settings))
        for_admin = stack.enter_context(administrators_socket(admin_socket(settings.folder)))
        sockets = listening, for_admin
        asyncio.run(
            _serve(settings, store, maker, clusters or NoClusters(), sockets, tls, told, now)
        )


def _see_all_have_makers(store: Store, maker: MakerOfKinds) -> None:
    """See that no space would look lost only because nobody is there to look for it.

    Raises:
        ServiceError: naming the kinds.
    """
    if lacking := sorted(store.kinds() - maker.makers.keys()):
        titles = ", ".join(KINDS[kind].title for kind in lacking)
        raise ServiceError(
            f"this folder has spaces of {titles}, and this service has no maker for that: "
            "start the service that made them, or delete them there first"
        )


async def _serve(
    settings: Settings,
    store: Store,
    maker: MakerOfKinds,
    clusters: Clusters,
    sockets: tuple[socket.socket, socket.socket],
    tls: ssl.SSLContext | None,
    told: Callable[[str], None],
    now: Callable[[], datetime],
) -> None:
    events = asyncio.get_running_loop()
    servers: list[_Server] = []

    def end() -> None:
        for server in servers:
            server.should_exit = True

    loop = Loop(store, maker, settings, now, time.monotonic, lambda: _call(events, end), clusters)
    desk = Desk(
        store=store,
        kinds=frozenset(maker.makers),
        now=now,
        wake=loop.wake,
        look_at=maker.see,
        rates=Rates(settings.rate_per_s, settings.burst, time.monotonic),
        strangers=Rates(STRANGERS_PER_S, STRANGERS_BURST, time.monotonic),
        look_at_template=clusters.see,
    )
    servers += [_server(tenants_app(desk), tls), _server(administrators_app(desk), None)]
    for number in (signal.SIGTERM, signal.SIGINT):
        events.add_signal_handler(number, end)
    loop.start()
    renewal = None if tls is None else asyncio.create_task(Renewal(settings, tls).run())
    told(_url(sockets[0], tls))
    try:
        await asyncio.gather(
            *(server.serve([each]) for server, each in zip(servers, sockets, strict=True))
        )
    finally:
        if renewal is not None:
            renewal.cancel()
        await asyncio.to_thread(loop.stop)
    if loop.failure is not None:
        raise loop.failure


def _call(events: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Have another thread's event loop call something, unless it has ended."""
    if not events.is_closed():
        events.call_soon_threadsafe(call)


class _Server(uvicorn.Server):
    """One of several in a process: signals are for the process to answer."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def _server(app: FastAPI, tls: ssl.SSLContext | None) -> _Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,  # audit rows say who asked for what
        server_header=False,
        proxy_headers=False,  # who asks is whoever has the connection
        lifespan="off",
        ws="none",
        limit_concurrency=CONCURRENT,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=LAST_REQUESTS_S,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    return _Server(config)


def _url(listening: socket.socket, tls: ssl.SSLContext | None) -> str:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'http' if tls is None else 'https'}://{shown}:{port}"
