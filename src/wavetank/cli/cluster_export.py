"""``wavetank cluster export``: a cluster file in the form of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.errors import CostError, UsageError


@click.command(short_help="Write a cluster in the form of another tool.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to", "target", type=click.Choice(["parallelcluster"]), required=True,
    help="The tool: AWS ParallelCluster 3.",
)  # fmt: skip
@click.option("--region", help="AWS region. [default: that of the key cloud, else us-east-1]")
@click.option("--subnet", metavar="ID", help="Of all nodes. [default: one that has to be replaced]")
@click.option("--key", metavar="NAME", help="EC2 key pair for ssh to the head node.")
@click.option(
    "--os", "operating_system", metavar="NAME",
    help="Image: alinux2023, ubuntu2204, ubuntu2404, rhel8, rhel9, rocky8, rocky9. [default: that of the key cloud, else alinux2023]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="OUT",
    help="File to write; one that exists is refused. [default: standard output]",
)  # fmt: skip
def command(
    *, file: Path, target: str, region: str | None, subnet: str | None, key: str | None, operating_system: str | None,
    output: Path | None,
) -> None:  # fmt: skip
    """Write the cluster of FILE as a configuration of AWS ParallelCluster 3. Asks nothing of an account.

    What ParallelCluster cannot express is in the file's comments and on standard error.

    Example: wavetank cluster export lab.yaml --to parallelcluster --region eu-west-1 --subnet subnet-0123456789abcdef0
    """
    from wavetank.cluster.parallelcluster.configuration import Place, parallelcluster, place_of
    from wavetank.cluster.spec import read_spec
    from wavetank.document import write_whole

    if output is not None and output.exists():
        raise UsageError(f"{output} exists already. Choose another name with -o, or remove it")
    spec = read_spec(file)
    said = place_of(spec)
    place = Place(
        region or said.region,
        subnet or said.subnet,
        key,
        operating_system or said.operating_system,
    )
    try:
        exported = parallelcluster(spec, place)
    except CostError as error:
        raise UsageError(str(error)) from error
    if output is None:
        click.echo(exported.text, nl=False)
    else:
        write_whole(output, exported.text)
        click.echo(f"wrote {output}", err=True)
    for note in exported.notes:
        click.echo(f"note: {note}", err=True)
