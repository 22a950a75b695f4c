"""``wavetank cluster smoke``: a small cluster in a person's own account, after its price was printed and agreed to."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.cli import cluster_bill, cluster_cloud
from wavetank.cli.output import print_tables
from wavetank.errors import ClusterError

YES = "yes"


@click.command(short_help="Try a cloud with your account: a small cluster, for less than 0.20 USD.")
@click.argument("provider", type=click.Choice(["aws"]))
@click.option("--region", default="us-east-1", show_default=True, help="Of the account.")
@click.option(
    "--prices", help="A price table of the region where none is shipped: a name or a file."
)
def command(provider: str, region: str, prices: str | None) -> None:
    """Bring a small cluster up in PROVIDER with your account, measure on it, and remove it.

    The price is printed first, and nothing is made before you type 'yes'. Afterwards the account is asked what is left,
    and the answer printed. Exit status 1: something failed, or something is left.

    Example: wavetank cluster smoke aws
    """
    from wavetank import smoke

    if prices is not None and Path(prices).is_file():
        prices = str(Path(prices).resolve())
    spec = smoke.smoke_spec(provider, region, prices)
    smoke.price_of(spec)
    print_tables([cluster_cloud.cost_until_end_table(spec)], "table")
    n = len(spec.node_names())
    click.echo(
        f"{n} instances of {spec.instance.name} in {region}, under the name {spec.name}: {cluster_cloud.price_words(spec)}. "
        "They are removed as soon as the measurement is over."
    )
    try:
        answer = click.prompt(
            f"Type '{YES}' to make them with your account", default="", show_default=False
        )
    except click.Abort:
        answer = ""
    if answer != YES:
        raise ClusterError(f"nothing was made: the answer was not '{YES}'")
    passed = smoke.run(spec, lambda said: click.echo(said, err=True))
    if passed.bill is not None:
        print_tables([cluster_bill.bill_table(passed.bill)], "table")
    cluster_cloud.prune_cloud(
        provider, [region], None, "table", everywhere=False, expired=False, dry_run=True
    )
    click.echo(f"passed: {passed.measured}. Nothing of {spec.name} is left in {region}.")
