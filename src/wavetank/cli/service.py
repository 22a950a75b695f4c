"""``wavetank service``: runs a service of spaces on this machine, and administers it by its socket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.service_asked import EXTRA, device_of, segment, service_here
from wavetank.cli.service_csi import csi
from wavetank.cli.service_tables import DEVICES, TENANTS, TOKENS
from wavetank.cli.service_template import template
from wavetank.cli.space import size_of
from wavetank.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from wavetank.service.client.connection import Connection
    from wavetank.service.core.records import Held

FOLDER = "/var/lib/wavetank/service"


@click.group()
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, show_default=True,
    envvar="WAVETANK_SERVICE_FOLDER",
    help="Of the service: its database, its audit log, the administrator's socket. Also WAVETANK_SERVICE_FOLDER.",
)  # fmt: skip
@click.pass_context
def command(context: click.Context, folder: Path) -> None:
    """Run a service of spaces on this machine, and administer it.

    Example: wavetank service run
    """
    context.obj = folder


@command.command()
@click.option(
    "--listen", default="127.0.0.1:8470", show_default=True, metavar="HOST:PORT",
    help="Where tenants ask. Beyond this machine only with --certificate.",
)  # fmt: skip
@click.option(
    "--certificate", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Of this machine, as PEM, with those between it and its authority.",
)  # fmt: skip
@click.option(
    "--key", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Of the certificate, as PEM without a password.",
)  # fmt: skip
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), default=50.0, show_default=True,
    help="Requests of each tenant in a second, in the long run.",
)  # fmt: skip
@click.option(
    "--burst", type=click.IntRange(1), default=200, show_default=True,
    help="Requests of each tenant at once.",
)  # fmt: skip
@click.option(
    "--keep-gone", default="30 d", show_default=True, metavar="TIME",
    help="Age at which spaces that are gone, and what is told of them, are forgotten.",
)  # fmt: skip
@click.option(
    "--examine-every", default="60 s", show_default=True, metavar="TIME",
    help="How often to see that all spaces are there as they should be.",
)  # fmt: skip
@click.pass_obj
def run(
    folder: Path,
    listen: str,
    certificate: Path | None,
    key: Path | None,
    rate: float,
    burst: int,
    keep_gone: str,
    examine_every: str,
) -> None:
    """Run the service until it is told to stop (SIGTERM, Ctrl-C).

    Example: wavetank service run --listen 0.0.0.0:8470 --certificate service.pem --key service.key
    """
    from wavetank.service.daemon.registry import load_clusters, load_makers
    from wavetank.service.daemon.settings import Settings

    host, port = _address(listen)
    settings = Settings(
        folder=folder.resolve(),
        host=host,
        port=port,
        certificate=certificate,
        key=key,
        rate_per_s=rate,
        burst=burst,
        keep_gone_s=_seconds("--keep-gone", keep_gone),
        examine_s=_seconds("--examine-every", examine_every, least=1.0),
    )
    try:
        from wavetank.service.daemon.run import serve
    except ModuleNotFoundError as error:
        raise ServiceError(f"{EXTRA} ({error.name} is missing)") from error
    serve(settings, load_makers, _told, clusters=load_clusters())


def _told(url: str) -> None:
    click.echo(f"wavetank: tenants ask at {url}", err=True)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--listen {text}: write HOST:PORT, e.g. 127.0.0.1:8470 or [::1]:8470")
    return host, int(port)


def _seconds(option: str, text: str, least: float = 0.0) -> float:
    from wavetank.units import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    if found < least:
        raise UsageError(f"{option}: {text} is too short: at least {least:g} s")
    return found


@command.group()
def tenant() -> None:
    """Who may ask for spaces, and for how much.

    Example: wavetank service tenant list
    """


@tenant.command(name="put")
@click.argument("name")
@click.option(
    "--size",
    metavar="SIZE",
    help="Bytes of all of its spaces together, e.g. 1TiB.  [default: no limit]",
)
@click.option(
    "--servers",
    type=click.IntRange(0),
    help="Servers of its dedicated spaces together.  [default: no limit]",
)
@click.option("--spaces", type=click.IntRange(0), help="Spaces.  [default: no limit]")
@click.option(
    "--token",
    "with_token",
    is_flag=True,
    help="Print a new token of it in place of the table, as 'wavetank service token make' does.",
)
@prints(lambda: (TENANTS,))
@click.pass_obj
def put_tenant(
    folder: Path,
    name: str,
    size: str | None,
    servers: int | None,
    spaces: int | None,
    output_format: str,
    *,
    with_token: bool,
) -> None:
    """Add a tenant, or give it other quotas in place of all that it had.

    Example: wavetank service tenant put ann --size 1TiB --spaces 20
    """
    from wavetank.service.core.answers import TenantAnswer

    quota = {"bytes": size_of("--size", size), "servers": servers, "spaces": spaces}
    with service_here(folder) as service:
        found = service.send("PUT", f"/v1/tenants/{segment(name)}", TenantAnswer, quota)
        text = _new_token(service, name, None) if with_token else None
    if text is None:
        print_tables([TENANTS.table([found])], output_format)
    else:
        click.echo(text)


@tenant.command(name="list")
@prints(lambda: (TENANTS,))
@click.pass_obj
def list_tenants(folder: Path, output_format: str) -> None:
    """List all tenants, with what they have and may have.

    Example: wavetank service tenant list
    """
    from wavetank.service.core.answers import Tenants

    with service_here(folder) as service:
        found = service.get("/v1/tenants", Tenants)
    print_tables([TENANTS.table(found.tenants)], output_format)


@tenant.command(name="remove")
@click.argument("name")
@click.pass_obj
def remove_tenant(folder: Path, name: str) -> None:
    """Forget a tenant that has no spaces, and its tokens.

    Example: wavetank service tenant remove ann
    """
    with service_here(folder) as service:
        service.remove(f"/v1/tenants/{segment(name)}")


@command.group()
def token() -> None:
    """What a tenant proves with who it is.

    Example: wavetank service token list
    """


@token.command(name="make")
@click.argument("tenant_name", metavar="TENANT")
@click.option(
    "--expires", metavar="TIME",
    help="From now until it is refused, e.g. 90 d.  [default: it does not expire]",
)  # fmt: skip
@click.pass_obj
def make_token(folder: Path, tenant_name: str, expires: str | None) -> None:
    """Print a new token of a tenant. It is shown this once: the service keeps no more than a hash of it.

    Example: wavetank service token make ann --expires "90 d" >ann.token
    """
    from wavetank.service.core.answers import LONGEST_LIFETIME_S

    lifetime_s = None if expires is None else _seconds("--expires", expires, least=1.0)
    if lifetime_s is not None and lifetime_s > LONGEST_LIFETIME_S:
        raise UsageError(f"--expires: {expires} is longer than 100 years: leave it out")
    with service_here(folder) as service:
        click.echo(_new_token(service, tenant_name, lifetime_s))


def _new_token(service: Connection, tenant_name: str, lifetime_s: float | None) -> str:
    """A new token of a tenant; ``lifetime_s`` None: it does not expire."""
    from wavetank.service.core.answers import TokenMade

    where = f"/v1/tenants/{segment(tenant_name)}/tokens"
    return service.send("POST", where, TokenMade, {"lifetime_s": lifetime_s}).text


@token.command(name="list")
@prints(lambda: (TOKENS,))
@click.pass_obj
def list_tokens(folder: Path, output_format: str) -> None:
    """List all tokens, without their secrets.

    Example: wavetank service token list
    """
    from wavetank.service.core.answers import Tokens

    with service_here(folder) as service:
        found = service.get("/v1/tokens", Tokens)
    print_tables([TOKENS.table(found.tokens)], output_format)


@token.command(name="revoke")
@click.argument("identity")
@click.pass_obj
def revoke_token(folder: Path, identity: str) -> None:
    """Take a token back. IDENTITY is what 'wavetank service token list' shows, not the token.

    Example: wavetank service token revoke 0123456789ab
    """
    with service_here(folder) as service:
        service.remove(f"/v1/tokens/{segment(identity)}")


@command.group()
def server() -> None:
    """Servers and their devices, that spaces are placed on.

    Example: wavetank service server list
    """


@server.command(name="put")
@click.argument("node")
@click.option(
    "--device", "devices", multiple=True, required=True, metavar="NAME=SIZE",
    help="A device and what spaces may have of it, e.g. /srv/d0=100GiB; may stand several times.",
)  # fmt: skip
@click.option(
    "--kind", "kinds", multiple=True, required=True, type=click.Choice(["nfs", "glusterfs"]),
    help="A file system that it can serve; may stand several times.",
)  # fmt: skip
@prints(lambda: (DEVICES,))
@click.pass_obj
def put_server(
    folder: Path, node: str, devices: tuple[str, ...], kinds: tuple[str, ...], output_format: str
) -> None:
    """Add a server, or change what it gives.

    Example: wavetank service server put io1 --device /srv/d0=100GiB --kind nfs
    """
    from wavetank.service.core.records import Held

    body = {"devices": [device_of(each) for each in devices], "kinds": list(dict.fromkeys(kinds))}
    with service_here(folder) as service:
        found = service.send("PUT", f"/v1/servers/{segment(node)}", Held, body)
    _print_servers((found,), output_format)


@server.command(name="list")
@prints(lambda: (DEVICES,))
@click.pass_obj
def list_servers(folder: Path, output_format: str) -> None:
    """List all servers, with what is free of them.

    Example: wavetank service server list
    """
    from wavetank.service.core.answers import Servers

    with service_here(folder) as service:
        found = service.get("/v1/servers", Servers)
    _print_servers(found.servers, output_format)


@server.command(name="remove")
@click.argument("node")
@click.pass_obj
def remove_server(folder: Path, node: str) -> None:
    """Forget a server that no space is on.

    Example: wavetank service server remove io1
    """
    with service_here(folder) as service:
        service.remove(f"/v1/servers/{segment(node)}")


def _print_servers(servers: tuple[Held, ...], output_format: str) -> None:
    rows = [(held, device) for held in servers for device in held.server.devices]
    print_tables([DEVICES.table(rows)], output_format)


command.add_command(csi)
command.add_command(template)
