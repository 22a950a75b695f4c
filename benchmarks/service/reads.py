"""Reads of one space by many clients at once, from a daemon with many spaces, beside a bare route of FastAPI.

Daemon, bare server and clients are a process each. Each client asks at times that were set before, so that an answer that comes
late makes no later question late unseen: a time is from when the question was due. Both servers are asked in turns, and the
ratios are of the two p99 of one run, and of the processor time that each server takes for a read. The daemon's looks at all that is
there, once a minute, are in its times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

GIB = 2**30
TENANTS, SERVERS = 20, 4
ROUNDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--spaces", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1.0, help="questions of a client in a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds that are not counted")
    parser.add_argument("--serve", choices=["service", "bare"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve == "service":
        serve_spaces(asked.folder)
    elif asked.serve == "bare":
        serve_bare(asked.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), asked)


def measure(folder: Path, asked: argparse.Namespace) -> None:
    began = time.monotonic()
    fill(folder, asked.spaces)
    print(f"{asked.spaces:,} spaces of {TENANTS} tenants made in {time.monotonic() - began:.0f} s")
    servers = {name: start(name, folder) for name in ("service", "bare")}
    try:
        targets = json.loads((folder / "targets.json").read_text())
        waits: dict[str, list[float]] = {name: [] for name in servers}
        used_s = dict.fromkeys(servers, 0.0)
        for _, url in servers.values():
            asyncio.run(ask(url, targets, asked.clients, asked.rate, asked.warm_up))
        for _ in range(ROUNDS):
            for name, (process, url) in servers.items():
                before_s = cpu_s(process.pid)
                waits[name] += asyncio.run(
                    ask(url, targets, asked.clients, asked.rate, asked.seconds)
                )
                used_s[name] += cpu_s(process.pid) - before_s
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait()
    show(waits, used_s, asked)


def cpu_s(pid: int) -> float:
    """Processor time of a process, in user mode and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(
    waits: dict[str, list[float]], used_s: dict[str, float], asked: argparse.Namespace
) -> None:
    print(f"{asked.clients} clients, each {asked.rate:g} reads in a second")
    print(f"{'':10}{'reads':>9}{'median':>11}{'p99':>11}{'CPU a read':>14}")
    p99, cpu = {}, {}
    for name, found in waits.items():
        p99[name] = statistics.quantiles(found, n=100)[98]
        cpu[name] = used_s[name] / len(found)
        print(
            f"{name:10}{len(found):9,}{statistics.median(found) * 1e3:8.1f} ms{p99[name] * 1e3:8.1f} ms"
            f"{cpu[name] * 1e6:11,.0f} us"
        )
    print(f"p99 of the service's reads: {p99['service'] * 1e3:.1f} ms (goal: below 50 ms)")
    print(
        f"ratio to the bare route: {p99['service'] / p99['bare']:.2f} of p99, "
        f"{cpu['service'] / cpu['bare']:.2f} of CPU a read"
    )


def fill(folder: Path, n: int) -> None:
    """A store with ready spaces, and what clients ask for: tokens and identities."""
    from wavetank.service.core.records import Device, Server, SpaceRequest, Tenant
    from wavetank.service.store.folder import open_store

    now = datetime.now(UTC)
    targets: list[list[str]] = []
    with open_store(folder / "service") as store:
        store._connections._writer.execute("PRAGMA synchronous = OFF")  # a store for a minute
        for i in range(SERVERS):
            device = Device(name="/srv/d0", size=n * GIB)
            store.put_server(Server(node=f"io{i}", devices=(device,), kinds=("nfs",)), now)
        tokens = []
        for i in range(TENANTS):
            store.put_tenant(Tenant(name=f"tenant{i}"), now)
            tokens.append(store.add_token(f"tenant{i}", now)[1])
        for i in range(n):
            whose = i % TENANTS
            request = SpaceRequest(name=f"space{i}", size=GIB, kind="nfs")
            space, _ = store.create_space(f"tenant{whose}", request, now, "benchmark")
            store.begin(space, now)
            store.finish(store.space(space.id), f"io0:/{space.id}", now)
            targets.append([tokens[whose], space.id])
    (folder / "targets.json").write_text(json.dumps(targets))


def start(name: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", name, "--folder", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        sys.exit(f"the server {name} ended with status {process.wait()}")
    return process, url


async def ask(
    url: str, targets: list[list[str]], n_clients: int, rate: float, seconds: float
) -> list[float]:
    """Seconds of each answer, from when its question was due."""
    import httpx2

    chosen = random.Random(1)
    times: list[float] = []
    limits = httpx2.Limits(max_connections=n_clients, max_keepalive_connections=n_clients)
    async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=60, trust_env=False) as http:
        begin = time.monotonic()

        async def client(number: int) -> None:
            # Each begins at its own moment of the period.
            due = begin + number / n_clients / rate
            while due < begin + seconds:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                token, space = chosen.choice(targets)
                answer = await http.get(
                    f"/v1/spaces/{space}", headers={"authorization": f"Bearer {token}"}
                )
                if answer.status_code != 200:
                    sys.exit(f"{url} answered {answer.status_code}: {answer.text}")
                times.append(time.monotonic() - due)
                due += 1 / rate

        await asyncio.gather(*(client(number) for number in range(n_clients)))
    return times


def serve_spaces(folder: Path) -> None:
    from wavetank.service.core.orders import Found, Order, There
    from wavetank.service.core.records import Server
    from wavetank.service.daemon.run import serve
    from wavetank.service.daemon.settings import Settings
    from wavetank.service.store.store import Store

    class AllThere:
        """A maker on whose servers everything is as the store says: what is measured are reads."""

        def __init__(self, store: Store) -> None:
            self.store = store

        def see(self, server: Server) -> None:
            raise AssertionError(f"reads add no server: {server}")

        def there(self) -> There:
            return There({each: self.find(each) for each in self.store.ready_spaces()})

        def find(self, space: str) -> Found:
            order = self.store.order(space)
            rules = frozenset(order.space.access)
            return Found(space, True, order.wanted_shares(), rules, order.space.export or "")

        def make(self, order: Order) -> None:
            raise AssertionError(f"reads change nothing: {order}")

        resize = change_access = make

        def remove(self, space: str) -> None:
            raise AssertionError(f"reads change nothing: {space}")

    settings = Settings(folder=folder / "service", port=0, rate_per_s=1e6, burst=10**6)
    serve(settings, lambda store: {"nfs": AllThere(store)}, lambda url: print(url, flush=True))


def serve_bare(folder: Path) -> None:
    """A route that answers with one space that it has: no token, no store."""
    import socket

    import uvicorn
    from fastapi import FastAPI

    from wavetank.service.core.records import Space
    from wavetank.service.store.folder import open_store

    with open_store(folder / "bare") as _:
        pass  # as much is loaded as by the service
    now = datetime.now(UTC)
    held = Space(
        id="sp-0", tenant="tenant0", name="space0", size=GIB, kind="nfs", mode="shared", servers=1,
        devices_per_server=1, stripe_size=None, redundancy=0, state="ready", generation=1,
        made_generation=1, export="io0:/sp-0", created_utc=now, changed_utc=now,
    )  # fmt: skip
    app = FastAPI()

    async def show(space: str) -> Space:
        del space
        return held

    show.__annotations__ = {"space": str, "return": Space}
    app.get("/v1/spaces/{space}")(show)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
