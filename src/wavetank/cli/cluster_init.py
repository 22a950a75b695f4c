"""``wavetank cluster init``: a commented cluster file from the names of instance types."""

from __future__ import annotations

import re
from pathlib import Path

import click

from wavetank.errors import CostError, UsageError
from wavetank.nearest import did_you_mean


def _kind(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """A file system that nodes of this machine can have."""
    from wavetank.cluster.registry import file_system_kinds

    del ctx, parameter
    kinds = file_system_kinds(lambda facts: facts.on_this_machine)
    if value not in kinds:
        raise click.BadParameter(
            f"{value!r} is none of {', '.join(kinds)}.{did_you_mean(value, kinds)}"
        )
    return value


@click.command(short_help="Write a commented cluster file from instance types.")
@click.option(
    "--instance", required=True, metavar="TYPE",
    help="Instance type of the compute nodes, e.g. c5.large ('wavetank instances find' looks for some).",
)  # fmt: skip
@click.option("--io-instance", metavar="TYPE", help="Of the I/O nodes. [default: as --instance]")
@click.option(
    "--file-system", callback=_kind, default="nfs", show_default=True, metavar="KIND",
    help="The global file system, of those that 'wavetank doctor' shows; none: each node's own disk.",
)  # fmt: skip
@click.option(
    "--compute", type=click.IntRange(1, 64), default=2, show_default=True, help="Compute nodes."
)
@click.option(
    "--servers", type=click.IntRange(1, 64), default=1, show_default=True,
    help="Data servers, each on an I/O node of its own.",
)  # fmt: skip
@click.option(
    "--storage", default="2 GiB", show_default=True, metavar="SIZE",
    help="Disk of each node that holds data.",
)  # fmt: skip
@click.option(
    "--scale", type=click.FloatRange(min=1), default=1.0, show_default=True,
    help="Divide rates of network and disks by this, where the machine is smaller than the instance.",
)  # fmt: skip
@click.option("--name", help="Of the cluster. [default: the file's, else lab]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="File to write; one that exists is refused. [default: standard output]",
)  # fmt: skip
def command(
    *, instance: str, io_instance: str | None, file_system: str, compute: int, servers: int, storage: str, scale: float,
    name: str | None, output: Path | None,
) -> None:  # fmt: skip
    """Write a cluster file with every limit of an instance type, and a comment with unit and default for each key.

    Example: wavetank cluster init --instance c5.large --file-system glusterfs --servers 2 --compute 4 -o lab.yaml
    """
    import yaml

    from wavetank.cluster.notes import notes
    from wavetank.cluster.spec import ClusterSpec
    from wavetank.cluster.template import Choices, cluster_text
    from wavetank.document import write_whole
    from wavetank.units import parse_size

    if output is not None and output.exists():
        raise UsageError(f"{output} exists already. Choose another name with -o, or remove it")
    try:
        storage_bytes = parse_size(storage)
    except ValueError as error:
        raise UsageError(f"--storage {error}") from error
    choices = Choices(
        name=name or _name_of(output),
        instance=instance,
        io_instance=io_instance,
        file_system=file_system,
        compute=compute,
        servers=servers,
        storage_bytes=storage_bytes,
        scale=scale,
    )
    try:
        text = cluster_text(choices)
    except CostError as error:
        raise UsageError(str(error)) from error
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)
        click.echo(f"wrote {output}. See what it is: wavetank cluster plan {output}", err=True)
    for note in notes(ClusterSpec.model_validate(yaml.safe_load(text))):
        click.echo(f"note: {note}", err=True)


def _name_of(output: Path | None) -> str:
    """A name of a cluster out of a file's; "lab" where it makes none."""
    if output is None:
        return "lab"
    name = re.sub(r"[^a-z0-9]+", "-", output.stem.lower()).strip("-")[:30]
    return name if re.match(r"[a-z]", name) else "lab"
