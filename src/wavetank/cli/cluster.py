"""``wavetank cluster``: virtual clusters up, down, listed, checked, planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from wavetank.cli import (
    cluster_bill,
    cluster_cloud,
    cluster_export,
    cluster_init,
    cluster_run,
    cluster_smoke,
)
from wavetank.cli.cluster_tables import (
    CLUSTERS,
    HEALTH,
    IN_FORCE,
    LEFT,
    LIMITS,
    NODES,
    ListedCluster,
)
from wavetank.cli.currency import currency_option
from wavetank.cli.output import print_tables, prints, say
from wavetank.cli.streams import lost_output
from wavetank.cli.table_sets import plan_definitions
from wavetank.cluster.registry import CLOUDS
from wavetank.errors import ClusterError, KernelError, SpecError, UsageError

if TYPE_CHECKING:
    from wavetank.cluster.namespaces.orphans import Orphan
    from wavetank.cluster.spec import ClusterSpec
    from wavetank.tables.table import Fact

F = TypeVar("F", bound=Callable[..., object])

spec_argument = click.argument("file", type=click.Path(path_type=Path))


def account_options(function: F) -> F:
    """Which account, and where in it."""
    for option in (
        click.option(
            "--provider", type=click.Choice(CLOUDS), help="Look into the account of this cloud, in place of this machine."
        ),
        click.option(
            "--region", "regions", multiple=True, metavar="REGION",
            help="With --provider: this region; may be given several times. [default: that of your settings]",
        ),
        click.option("--all-regions", "everywhere", is_flag=True, help="With --provider: every region of the account."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.group()
def command() -> None:
    """Bring virtual clusters up and down, list them, check their specifications.

    Example: wavetank cluster up lab.yaml
    """


@command.command(short_help="Bring up the cluster of a file.")
@spec_argument
@click.option(
    "--keep-on-failure",
    "keep",
    is_flag=True,
    help="What was made stays when it fails, to be looked at; 'wavetank cluster down' removes it.",
)
@prints(lambda: (NODES, IN_FORCE, LIMITS, HEALTH))
def up(file: Path, output_format: str, *, keep: bool) -> None:
    """Bring up the cluster that FILE describes, and leave it up.

    When it fails or is interrupted, until its status is printed, everything is taken down again:
    an exit status other than 0 means that nothing is up. A second Ctrl-C does not stop that.
    With --keep-on-failure what was made stays when it fails; an interrupt takes it down also then.

    Example: wavetank cluster up lab.yaml
    """
    from wavetank.cluster import deploy
    from wavetank.cluster.spec import read_spec
    from wavetank.steps import doing, steps

    spec = read_spec(file)
    if spec.provider in CLOUDS:
        steps.info("%s: %s", spec.name, cluster_cloud.price_words(spec))
    try:
        with (
            doing(f"bringing up {spec.name}: {_summary(spec)}", unit="steps", say=True) as bringing,
            deploy.coming_up(spec, (lambda: _say_kept(spec)) if keep else None, bringing.at),
        ):
            bringing.end()
            _print_status(spec.name, output_format)
            lost = lost_output()
            if lost is not None:
                raise ClusterError(
                    f"the status of {spec.name} cannot be printed: {lost}. It is taken down again"
                )
    except (KeyboardInterrupt, SystemExit):
        click.echo(f"interrupted; {spec.name} is taken down again", err=True)
        raise


def _say_kept(spec: ClusterSpec) -> None:
    """What stays of a cluster that failed: how to look at it, what it costs, what removes it."""
    from wavetank.cluster.state import directory_of

    name, node = spec.name, spec.node_names()[0]
    words = [f"{name} failed to come up, and what was made of it stays"]
    if any(entry["do"] == "install" for entry in directory_of(name).journal()):  # it has nodes
        words.append(
            f"to look at it: 'wavetank cluster status {name}', "
            f"'wavetank cluster run {name} --launcher none --node {node} --directory / -- COMMAND'"
        )
    if spec.provider in CLOUDS:
        words += cluster_cloud.kept_words(spec)
    words.append(f"to remove all of it: 'wavetank cluster down {name}'")
    for each in words:
        click.echo(each, err=True)


@command.command(short_help="Take clusters down, whatever state they are in.")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every cluster that was brought up here.")
def down(names: tuple[str, ...], everything: bool) -> None:
    """Take down the clusters NAMES, or all of them; whatever state they are in.

    Nothing that wavetank did not make is touched. Of clusters in a cloud, the computed bill is printed, and kept for
    'wavetank cluster bill'.

    Example: wavetank cluster down --all
    """
    from wavetank.cluster import deploy
    from wavetank.cluster.state import directories

    if bool(names) == everything:
        raise UsageError(
            "name the clusters to take down, or give --all ('wavetank cluster list' shows them)"
        )
    chosen = [directory.name for directory in directories()] if everything else list(names)
    failures = []
    for name in chosen:
        key = cluster_bill.key_of(name)
        try:
            deploy.take_down(name)
        except ClusterError as error:
            failures.append(str(error))
        else:
            click.echo(f"{name} is down", err=True)
            if key is not None:
                cluster_bill.print_kept(key)
    if everything:
        _clear_scratch()
    _say_orphans()
    if not chosen:
        click.echo("no cluster is up", err=True)
    if failures:
        raise ClusterError("\n  ".join(failures))


command.add_command(cluster_init.command, "init")
command.add_command(cluster_bill.command, "bill")
command.add_command(cluster_run.command, "run")
command.add_command(cluster_export.command, "export")
command.add_command(cluster_cloud.policy, "policy")
command.add_command(cluster_smoke.command, "smoke")


@command.command(name="list")
@account_options
@prints(lambda: (CLUSTERS, cluster_cloud.HELD))
def list_clusters(
    provider: str | None, regions: tuple[str, ...], output_format: str, *, everywhere: bool
) -> None:
    """List the clusters that were brought up on this machine; with --provider all in an account, whoever made them.

    Example: wavetank cluster list --format json
    """
    if _names_account(provider, regions, everywhere=everywhere):
        cluster_cloud.print_holdings(str(provider), regions, output_format, everywhere=everywhere)
        return
    from wavetank.cluster.state import directories

    rows: list[ListedCluster] = []
    for directory in directories():
        try:
            state = directory.read_state()
        except ClusterError:
            state = None
        in_cloud = state is not None and state.spec.cloud is not None
        bill = cluster_bill.so_far(directory.name) if in_cloud else None
        spent = None if bill is None else bill.computed.total
        rows.append(ListedCluster(directory.name, state, spent))
    note = None if rows else "No cluster is up. 'wavetank cluster up FILE' brings one up."
    print_tables([CLUSTERS.table(rows, caption=note)], output_format)
    _say_orphans()


@command.command(short_help="End what is left of clusters whose directory was deleted.")
@click.option("--dry-run", is_flag=True, help="Only list it.")
@account_options
@click.option("--expired", is_flag=True, help="With --provider: remove what is past its ttl.")
@click.option(
    "--token",
    metavar="TOKEN",
    help="With --provider: remove what has this token, past its ttl or not.",
)
@prints(lambda: (LEFT, cluster_cloud.HELD))
def prune(
    *, dry_run: bool, provider: str | None, regions: tuple[str, ...], everywhere: bool, expired: bool, token: str | None,
    output_format: str,
) -> None:  # fmt: skip
    """End what is left on this machine of clusters whose directory was deleted while they were up.

    It is found by the names that a cluster's control groups, disks and processes carry; what belongs to
    a cluster that 'wavetank cluster list' shows, of whatever user, is left alone.

    With --provider: list what an account holds of clusters that have no directory on this machine, found by its tags.
    It may be another machine's: only --expired and --token remove.

    Example: wavetank cluster prune --provider aws --all-regions --expired
    """
    if (expired or token is not None) and provider is None:
        raise UsageError("--expired and --token are of an account: give --provider too")
    if _names_account(provider, regions, everywhere=everywhere):
        cluster_cloud.prune_cloud(
            str(provider), regions, token, output_format, everywhere=everywhere, expired=expired, dry_run=dry_run
        )  # fmt: skip
        return
    from wavetank.cluster.namespaces.orphans import end_orphan, find_orphans

    failures = []
    rows: list[tuple[Orphan, str]] = []
    for orphan in find_orphans():
        state = "left" if dry_run else "ended"
        if not dry_run:
            try:
                end_orphan(orphan)
            except ClusterError as error:
                failures.append(str(error))
                state = "left"
        rows.append((orphan, state))
    note = None if rows else "Nothing is left of clusters without a directory."
    print_tables([LEFT.table(rows, caption=note)], output_format)
    if not dry_run:
        _clear_scratch()
    if failures:
        raise ClusterError("\n  ".join(failures))


@command.command(short_help="Show nodes, settings and limits in force, health.")
@click.argument("name")
@prints(lambda: (NODES, IN_FORCE, LIMITS, HEALTH))
def status(name: str, output_format: str) -> None:
    """Show a cluster's nodes, its settings and limits as in force, and its health.

    Exit status 1 when a node, a daemon or a mount is gone.

    Example: wavetank cluster status lab
    """
    _print_status(name, output_format)


@command.command(short_help="Explain every problem of a file, before anything starts.")
@spec_argument
def check(file: Path) -> None:
    """Explain every problem of FILE, and what this machine lacks for it, before anything starts.

    Example: wavetank cluster check lab.yaml
    """
    from wavetank.cluster import deploy
    from wavetank.cluster.notes import notes
    from wavetank.cluster.spec import examine_spec

    spec, findings = examine_spec(file)
    examined = None if spec is None else deploy.examine(spec)
    findings += [] if examined is None else examined.findings
    if spec is None or examined is None or findings:
        raise SpecError(f"{file}: this cluster cannot come up here:\n  " + "\n  ".join(findings))
    say(f"{spec.name} can come up here: {_summary(spec)}")
    for note in [*notes(spec), *examined.unknown, *_tools(spec)]:
        say(f"note: {note}")


def _tools(spec: ClusterSpec) -> Iterator[str]:
    """What measures besides the replay, and is missing where nodes are not made of this machine."""
    from wavetank.cluster import deploy
    from wavetank.cluster.components import MAKES_NODES
    from wavetank.kernel.execution.ior_program import find_ior

    for lacks in deploy.tools_lacking(spec):
        yield f"characterise and program: fio have to do without: {lacks}"
    yield from deploy.tools_unknown(spec)
    if spec.provider not in (*MAKES_NODES, "null"):
        try:
            find_ior()
        except KernelError as error:  # nodes that have none get this machine's
            yield f"program: ior has to do without: {error}"


@command.command(short_help="Print what will run where, with every default.")
@spec_argument
@click.option(
    "--prices",
    help="A shipped price table's name or a file; by default the shipped one that has the instance types.",
)  # fmt: skip
@currency_option
@prints(plan_definitions)
def plan(file: Path, prices: str | None, currency: Path | None, output_format: str) -> None:
    """Print what will run where, with every default filled in, and its cost an hour. Starts nothing.

    Example: wavetank cluster plan lab.yaml --prices aws-us-east-1-2026-07
    """
    from wavetank.cli.cluster_cost import cloud_table, price_table, says_cloud
    from wavetank.cli.cluster_plan import nodes_table, notes_table, processes_table, settings_table
    from wavetank.cluster.spec import read_spec

    spec = read_spec(file)
    tables = [nodes_table(spec), processes_table(spec), notes_table(spec), settings_table(spec)]
    if says_cloud(spec):
        tables.append(cloud_table(spec))
    if not spec.has_flavors or prices is not None:  # whose prices are in the last table
        tables.append(price_table(spec, prices, currency))
    if spec.cloud is not None:
        tables.append(cluster_cloud.cost_until_end_table(spec))
    print_tables(tables, output_format)


def _names_account(provider: str | None, regions: tuple[str, ...], *, everywhere: bool) -> bool:
    if provider is None and (regions or everywhere):
        raise UsageError("--region and --all-regions are of an account: give --provider too")
    return provider is not None


def _clear_scratch() -> None:
    """Remove what killed replays and campaigns left among temporary files."""
    from wavetank.kernel.execution.scratch import clear_abandoned

    for path in clear_abandoned():
        click.echo(f"{path}, left by a killed replay, is removed", err=True)


def _say_orphans() -> None:
    from wavetank.cluster.namespaces.orphans import find_orphans

    names = dict.fromkeys(orphan.cluster for orphan in find_orphans())
    if names:
        click.echo(
            f"things are left of clusters whose directory was deleted: {', '.join(names)}. "
            "'wavetank cluster prune' ends them",
            err=True,
        )


def _summary(spec: ClusterSpec) -> str:
    """In one line: 5 nodes of c3.2xlarge, GlusterFS on 3 data servers."""
    n, servers = len(spec.node_names()), len(spec.server_names())
    where = f" on {servers} data server{'s' if servers > 1 else ''}" if servers else ""
    fs = spec.file_system
    file_system = f"{fs.title}{where}" if fs.facts.is_global else "no global file system"
    return f"{n} node{'s' if n > 1 else ''} of {spec.instance.name}, {file_system}, provider {spec.provider}"


def _print_status(name: str, output_format: str) -> None:
    from wavetank.cli.cluster_plan import role_of
    from wavetank.cluster import deploy

    cluster = deploy.find(name, also_failed=True)
    findings = cluster.health()
    nodes = (
        (host.name, host.address, role_of(cluster.spec, host.name))
        for host in cluster.nodes.hosts.values()
    )
    tables = [
        NODES.table(nodes, title=f"Nodes of {name}"),
        IN_FORCE.table(_asked_of(cluster.settings)),
        LIMITS.table(_asked_of(cluster.limits)),
        HEALTH.table(findings or ["all is well"]),
    ]
    print_tables(tables, output_format, {"name": name, "healthy": not findings})
    if findings:
        raise ClusterError(f"cluster {name} is not healthy: {'; '.join(findings)}")


def _asked_of(what: Callable[[], dict[str, str]]) -> list[Fact]:
    """Rows of what a cluster says of itself; a dead server must not keep its health from being printed."""
    try:
        return list(what().items())
    except ClusterError as error:
        return [("cannot be read", str(error))]
