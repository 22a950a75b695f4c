"""``wavetank space``: what a tenant asks a service of spaces for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.space_check import check
from wavetank.cli.space_mount import mount
from wavetank.cli.space_rules import authority_option, rules_of
from wavetank.cli.space_service import service_of_tenant
from wavetank.cli.table_sets import (
    choice_definitions,
    space_definitions,
    spaces_definitions,
)
from wavetank.errors import UsageError

if TYPE_CHECKING:
    from wavetank.service.client.spaces import Spaces
    from wavetank.service.core.records import Space

PAUSE_S = 0.5
F = TypeVar("F", bound=Callable[..., Any])


def need_options(command: F) -> F:
    """Add what chooses a space for a kernel."""
    options = (
        click.option(
            "--for", "kernel", type=click.Path(path_type=Path), metavar="KERNEL",
            help="Choose the kind, mode, servers, devices and stripe for this kernel.",
        ),
        click.option(
            "--within", metavar="TIME", help="That the kernel's I/O time must not exceed, e.g. 60s.",
        ),
        click.option(
            "--campaign", "campaigns", multiple=True, metavar="DIR",
            type=click.Path(path_type=Path, file_okay=False),
            help="Results of a campaign that measured the kernel; may stand several times.",
        ),
        click.option(
            "--accept", "accepted", multiple=True,
            type=click.Choice(["emulated", "caches", "guests", "doubts", "shared"]),
            help="Take measurements in spite of this doubt; may stand several times.",
        ),
        click.option("--dry-run", is_flag=True, help="Show what --for would choose; ask for nothing."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Ask a service of spaces for file systems of one's own.

    The environment says where it is and who asks: WAVETANK_SERVICE is its URL, WAVETANK_TOKEN the tenant's token,
    WAVETANK_SERVICE_CA the file of the authority that signed its certificate, where this machine does not trust it anyway.

    Example: wavetank space create data --size 10GiB --kind nfs --access 10.0.0.0/24 --wait
    """


def wait_option(command: F) -> F:
    """Add ``--wait``."""
    return click.option(
        "--wait",
        is_flag=True,
        help="Return when it is done, and tell what happens meanwhile; fail with the reason if it fails.",
    )(command)


def size_of(option: str, text: str | None) -> int | None:
    """Bytes of an option.

    Raises:
        UsageError: not a size.
    """
    from wavetank.units import parse_size

    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


@command.command()
@click.argument("name")
@click.option(
    "--size",
    metavar="SIZE",
    help="What it can hold, e.g. 10GiB; with --for by default what the kernel needs.",
)
@click.option(
    "--kind",
    type=click.Choice(["nfs", "glusterfs", "cephfs", "orangefs", "lustre"]),
    help="Of file system; with --for by default any.",
)
@click.option(
    "--mode",
    type=click.Choice(["shared", "dedicated"]),
    default="shared",
    show_default=True,
    help="dedicated: its servers hold nothing else.",
)
@click.option(
    "--servers", type=click.IntRange(1, 1024), default=1, show_default=True, help="That it lies on."
)
@click.option(
    "--devices",
    type=click.IntRange(1, 24),
    default=1,
    show_default=True,
    help="Of each of its servers.",
)
@click.option(
    "--stripe",
    metavar="SIZE",
    help="Bytes of a file on one device before the next.  [default: the file system's]",
)
@click.option(
    "--redundancy",
    type=click.IntRange(0, 7),
    default=0,
    show_default=True,
    help="Further copies of each byte.",
)
@click.option(
    "--access",
    multiple=True,
    metavar="RULE",
    help="Who may mount it, as in 'wavetank space grant'; may stand several times.",
)
@authority_option
@need_options
@wait_option
@prints(choice_definitions)
def create(
    name: str,
    size: str | None,
    kind: str | None,
    mode: str,
    servers: int,
    devices: int,
    stripe: str | None,
    redundancy: int,
    access: tuple[str, ...],
    authority: Path | None,
    kernel: Path | None,
    within: str | None,
    campaigns: tuple[Path, ...],
    accepted: tuple[str, ...],
    dry_run: bool,
    wait: bool,
    output_format: str,
) -> None:
    """Ask for a space. With the same name and values again, it is the same space.

    With --for and --within the cheapest space is taken that campaigns measured to do the kernel's I/O in that time.

    Example: wavetank space create data --size 10GiB --kind nfs --access 10.0.0.0/24 --wait
    """
    from pydantic import ValidationError

    from wavetank.document import explain
    from wavetank.service.core.records import SpaceRequest

    if kernel is not None:
        from wavetank.cli.space_for import create_for, need_of

        size_bytes, rules = size_of("--size", size), rules_of(access, authority)
        need = need_of(name, kernel, within, size_bytes, kind, mode, rules, accepted)
        with service_of_tenant() as spaces:
            create_for(
                spaces, need, kernel, campaigns,
                settle=None if dry_run else lambda space: _waited(spaces, space, wait),
                output_format=output_format,
            )  # fmt: skip
        return
    if within is not None or campaigns or accepted or dry_run:
        raise UsageError(
            "--within, --campaign, --accept and --dry-run choose a space for a kernel: name it with --for"
        )
    if size is None or kind is None:
        raise UsageError("give --size and --kind; or --for and --within, which choose the kind")
    try:
        asked = SpaceRequest.model_validate(
            {
                "name": name,
                "size": size_of("--size", size),
                "kind": kind,
                "mode": mode,
                "servers": servers,
                "devices_per_server": devices,
                "stripe_size": size_of("--stripe", stripe),
                "redundancy": redundancy,
                "access": rules_of(access, authority),
            }
        )
    except ValidationError as error:
        raise UsageError(f"no such space can be: {explain(error)}") from error
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.create(asked), wait)], output_format)


@command.command(name="list")
@prints(spaces_definitions)
def list_command(output_format: str) -> None:
    """List the spaces that there are.

    Example: wavetank space list
    """
    with service_of_tenant() as spaces:
        show_spaces(spaces.all(), output_format)


@command.command()
@click.argument("name")
@prints(space_definitions)
def show(name: str, output_format: str) -> None:
    """Show a space, who may mount it, and what happened to it.

    Example: wavetank space show data
    """
    from wavetank.cli.space_tables import EVENTS, RULES, SPACES

    with service_of_tenant() as spaces:
        space = spaces.named(name)
        events = spaces.events(space)
    print_tables(
        [SPACES.table([space]), RULES.table(space.access), EVENTS.table(events)], output_format
    )


@command.command()
@click.argument("name")
@click.option("--size", metavar="SIZE", help="What it is to hold, e.g. 20GiB.")
@click.option("--servers", type=click.IntRange(1, 1024), help="That it is to lie on.")
@wait_option
@prints(spaces_definitions)
def grow(name: str, size: str | None, servers: int | None, wait: bool, output_format: str) -> None:
    """Ask for more bytes, more servers, or both. Its data stay, and it can be used meanwhile.

    More servers of a GlusterFS space need more bytes, as all of its parts are equal: an answer says how many.

    Example: wavetank space grow data --size 20GiB
    """
    from pydantic import ValidationError

    from wavetank.document import explain
    from wavetank.service.core.records import Resize

    if size is None and servers is None:
        raise UsageError("say how far it is to grow: give --size, --servers or both")
    try:
        asked = Resize(size=size_of("--size", size), servers=servers)
    except ValidationError as error:
        raise UsageError(f"no space can be so: {explain(error)}") from error
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.grow(name, asked), wait)], output_format)


@command.command()
@click.argument("name")
@click.argument("rules", nargs=-1, required=True)
@authority_option
@wait_option
@prints(spaces_definitions)
def grant(
    name: str, rules: tuple[str, ...], authority: Path | None, wait: bool, output_format: str
) -> None:
    """Let others mount a space too. A rule is SUBJECT or SUBJECT:ro.

    SUBJECT is an address (10.0.0.7), a network (10.0.0.0/24), cert:NAME (the name in a client's certificate) or key:NAME.
    ':ro' lets it read only. NFS and GlusterFS tell addresses, and GlusterFS names in certificates in their place. Who signs these
    is given by --authority with the first of them.

    Example: wavetank space grant data 10.0.0.7 10.0.1.0/24:ro
    """
    asked = rules_of(rules, authority)
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.grant(name, asked), wait)], output_format)


@command.command()
@click.argument("name")
@click.argument("subjects", nargs=-1, required=True)
@wait_option
@prints(spaces_definitions)
def revoke(name: str, subjects: tuple[str, ...], wait: bool, output_format: str) -> None:
    """Let others mount a space no more. Subjects are those of 'wavetank space grant'.

    Example: wavetank space revoke data 10.0.0.7
    """
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.revoke(name, rules_of(subjects)), wait)], output_format)


@command.command()
@click.argument("name")
@wait_option
@prints(spaces_definitions)
def retry(name: str, wait: bool, output_format: str) -> None:
    """Try again what failed.

    Example: wavetank space retry data --wait
    """
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.retry(name), wait)], output_format)


@command.command()
@click.argument("name")
@wait_option
@prints(spaces_definitions)
def delete(name: str, wait: bool, output_format: str) -> None:
    """Remove a space and all of its data, for good.

    Example: wavetank space delete data --wait
    """
    with service_of_tenant() as spaces:
        show_spaces([_waited(spaces, spaces.delete(name), wait)], output_format)


command.add_command(check)
command.add_command(mount)


def show_spaces(spaces: Sequence[Space], output_format: str) -> None:
    """Print spaces."""
    from wavetank.cli.space_tables import SPACES

    print_tables([SPACES.table(spaces)], output_format)


def _waited(spaces: Spaces, space: Space, wait: bool) -> Space:
    if not wait:
        return space
    try:
        return spaces.settled(space, _pause, _say)
    except (KeyboardInterrupt, SystemExit):
        _say(
            f"no longer waiting: the service goes on with space {space.name!r}. See how far it is: wavetank space show {space.name}"
        )
        raise


def _say(line: str) -> None:
    click.echo(f"wavetank: {line}", err=True)


def _pause() -> None:
    time.sleep(PAUSE_S)
