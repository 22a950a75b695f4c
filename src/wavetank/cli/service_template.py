"""``wavetank service template``: servers that the service brings up by itself for dedicated spaces."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.service_asked import device_of, segment, service_here
from wavetank.cli.service_tables import TEMPLATES


@click.group()
def template() -> None:
    """Clusters that the service brings up for dedicated spaces which no server has room for.

    Example: wavetank service template list
    """


@template.command(name="put")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--device", "devices", multiple=True, required=True, metavar="NAME=SIZE",
    help="A device of each server and what spaces may have of it, e.g. /storage=100GiB; may stand several times.",
)  # fmt: skip
@click.option(
    "--kind", "kinds", multiple=True, required=True, type=click.Choice(["nfs", "glusterfs"]),
    help="A file system that they can serve; may stand several times.",
)  # fmt: skip
@click.option(
    "--most", "most_servers", type=click.IntRange(1, 1024), required=True,
    help="Servers that all spaces together may have of it.",
)  # fmt: skip
@prints(lambda: (TEMPLATES,))
@click.pass_obj
def put(
    folder: Path,
    name: str,
    file: Path,
    devices: tuple[str, ...],
    kinds: tuple[str, ...],
    most_servers: int,
    output_format: str,
) -> None:
    """Add a template of servers, or change it for spaces to come.

    FILE is a cluster file of kind none. Each space gets a cluster of its own: its name and its number of compute nodes are the space's.

    Example: wavetank service template put small servers.yaml --device /storage=1400MiB --kind nfs --most 4
    """
    from wavetank.cluster.spec import read_spec
    from wavetank.service.core.own_servers import Stock

    body = {
        "cluster": read_spec(file).model_dump(mode="json", exclude_unset=True),
        "devices": [device_of(each) for each in devices],
        "kinds": list(dict.fromkeys(kinds)),
        "most_servers": most_servers,
    }
    with service_here(folder) as service:
        found = service.send("PUT", f"/v1/templates/{segment(name)}", Stock, body)
    print_tables([TEMPLATES.table([found])], output_format)


@template.command(name="list")
@prints(lambda: (TEMPLATES,))
@click.pass_obj
def list_templates(folder: Path, output_format: str) -> None:
    """List all templates, with the servers that spaces have of them.

    Example: wavetank service template list
    """
    from wavetank.service.core.answers import Templates

    with service_here(folder) as service:
        found = service.get("/v1/templates", Templates)
    print_tables([TEMPLATES.table(found.templates)], output_format)


@template.command(name="remove")
@click.argument("name")
@click.pass_obj
def remove(folder: Path, name: str) -> None:
    """Forget a template. Spaces that have servers of it keep them until they are deleted.

    Example: wavetank service template remove small
    """
    with service_here(folder) as service:
        service.remove(f"/v1/templates/{segment(name)}")
