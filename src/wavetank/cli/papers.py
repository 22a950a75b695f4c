"""``wavetank papers``: published studies measured again, and each of their statements judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from wavetank.cli.output import print_tables, prints, say
from wavetank.cli.papers_ratios import (
    RATIOS,
    draw,
    plot_option,
    ratio_table,
    see_that_it_can_be_drawn,
)
from wavetank.errors import MeasurementError, UsageError
from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavetank.campaign.load import Loaded
    from wavetank.campaign.plan import Plan
    from wavetank.cli.table_sets import Definitions
    from wavetank.compare.comparison import Comparison, NotMeasured
    from wavetank.papers.study import LoadedStudy, Statement
    from wavetank.papers.verdict import Verdict

_LeftOut: TypeAlias = "tuple[NotMeasured, str]"
"""What was not measured, and the title of its cluster."""

STUDIES: Definition[tuple[str, LoadedStudy]] = Definition(
    "studies",
    "Studies",
    (
        Column("name", "Name", lambda i: i[0]),
        Column("title", "Title", lambda i: i[1].study.title, wide=True),
        Column("statements", "Statements", lambda i: len(i[1].study.statements), kind="integer"),
        Column("measures", "Measures", lambda i: _measures(i[1])),
        Column("reference", "Reference", lambda i: i[1].study.reference, wide=True),
    ),
    command="papers list",
)

STATEMENTS: Definition[Statement] = Definition(
    "statements",
    "Statements",
    (
        Column("statement", "Statement", lambda i: i.id),
        Column("published", "Published", lambda i: i.quote, wide=True),
        Column("source", "Source", lambda i: i.source),
    ),
    command="papers show",
)

VERDICTS: Definition[Verdict] = Definition(
    "verdicts",
    "Published and reproduced",
    (
        Column("statement", "Statement", lambda i: i.statement.id),
        Column("published", "Published", lambda i: i.statement.quote, wide=True),
        Column("source", "Source", lambda i: i.statement.source),
        Column("verdict", "Verdict", lambda i: i.word),
        Column("reproduced", "Reproduced", lambda i: i.reproduced or None, wide=True),
        Column("why", "Why", lambda i: i.why, wide=True),
    ),
    key="statements",
)

LEFT_OUT: Definition[_LeftOut] = Definition(
    "not-measured-of-a-study",
    "Not measured",
    (
        Column("application", "Application", lambda i: i[0].application),
        Column("cluster", "Cluster", lambda i: i[1]),
        Column("mapping", "Mapping", lambda i: i[0].mapping),
        Column("reason", "Reason", lambda i: i[0].reason, wide=True),
    ),
    key="not_measured",
)
DEFINITIONS = (STUDIES, STATEMENTS, VERDICTS, LEFT_OUT, RATIOS)
RESULTS = "papers-{}"
"""Folder of a study's results, in the working directory."""


@click.group()
def command() -> None:
    """Measure published studies again, and judge each of their statements.

    A study is a folder with a campaign, its clusters, and what the paper says. Those that come with wavetank have
    short names; a folder of your own works too.

    Example: wavetank papers run P18 --dry-run
    """


@command.command(name="list")
@prints(lambda: (STUDIES,))
def list_command(output_format: str) -> None:
    """List the studies that come with wavetank.

    Example: wavetank papers list
    """
    from wavetank.papers.study import find_study, shipped_studies

    rows = [(name, find_study(name)) for name in shipped_studies()]
    print_tables([STUDIES.table(rows)], output_format)


@command.command()
@click.argument("study")
@click.option(
    "--results", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of results: judge the statements by what it holds. Nothing is measured.",
)  # fmt: skip
@plot_option
@prints(lambda: (STATEMENTS, VERDICTS, LEFT_OUT, RATIOS))
def show(study: str, results: Path | None, plot: Path | None, output_format: str) -> None:
    """Print what STUDY says and how its clusters differ from the paper's.

    STUDY is a name of 'wavetank papers list', or a folder.

    Example: wavetank papers show P18
    """
    from wavetank.campaign.database import COMPARISON
    from wavetank.compare.comparison import Comparison
    from wavetank.papers.study import find_study

    loaded = find_study(study)
    if results is not None:
        comparison = Comparison.read(results / COMPARISON)
        see_that_it_can_be_drawn(loaded.study, comparison.baseline is not None, plot)
        _judged(loaded, comparison, (), output_format, plot)
        return
    if plot is not None:
        raise UsageError("--plot draws results: name their folder with --results")
    said = STATEMENTS.table(
        loaded.study.statements,
        title=f"{loaded.study.paper}: {loaded.study.title}",
        caption=loaded.study.reference,
    )
    print_tables([said], output_format, _about(loaded))
    if output_format == "table":
        for sentence in loaded.study.scaled:
            say(f"Not as in the paper: {sentence}")
        say(f"Files: {loaded.folder}")


def _of_run() -> Definitions:
    from wavetank.cli.campaign_tables import PLAN, REFUSED
    from wavetank.cli.interfere import PLAN as STUDY_PLAN

    return (VERDICTS, LEFT_OUT, RATIOS, PLAN, REFUSED, STUDY_PLAN)


@command.command()
@click.argument("study")
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; start nothing.")
@click.option(
    "--results", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results.  [default: papers-STUDY]",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Forget the results that the folder holds already.")
@click.option(
    "--clusters", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of cluster files that are called as the study's, to be used in their place.",
)  # fmt: skip
@plot_option
@prints(_of_run)
def run(
    study: str,
    dry_run: bool,
    results: Path | None,
    fresh: bool,
    clusters: Path | None,
    plot: Path | None,
    output_format: str,
) -> None:
    """Measure STUDY, or go on where it ended, and print published against reproduced.

    STUDY is a name of 'wavetank papers list', or a folder. Each statement holds, does not hold, or cannot be told,
    with the reason. Configurations that this machine cannot have are left out, with the reason too. Exit status 1
    when a part of the plan failed; what does not hold is no failure.

    Example: wavetank papers run P18 --results p18
    """
    from wavetank.papers.study import find_study

    loaded = find_study(study)
    folder = (results or Path(_results_of(loaded, clusters))).resolve()
    if loaded.study.campaign is None and (clusters is not None or plot is not None):
        option = "--clusters" if clusters is not None else "--plot"
        raise UsageError(f"study {loaded.study.paper} has no campaign: run it without {option}")
    if loaded.study.campaign is not None:
        _run_campaign(
            loaded, loaded.study.campaign, folder, dry_run, fresh, output_format, clusters, plot
        )
    elif loaded.study.interfere is not None:
        _run_interfere(loaded, loaded.study.interfere, folder, dry_run, fresh, output_format)
    elif dry_run:
        raise UsageError(f"study {loaded.study.paper} measures nothing: run it without --dry-run")
    else:
        _judged(loaded, None, (), output_format)


def _results_of(study: LoadedStudy, clusters: Path | None) -> str:
    name = RESULTS.format(study.study.paper)
    return name if clusters is None else f"{name}-{clusters.resolve().name}"


def _run_campaign(
    study: LoadedStudy,
    file: Path,
    folder: Path,
    dry_run: bool,
    fresh: bool,
    output_format: str,
    clusters: Path | None,
    plot: Path | None,
) -> None:
    from wavetank.cli.campaign_run import print_forecast, run_plan

    loaded, plan = _plan(study.path(file), folder, clusters)
    see_that_it_can_be_drawn(study.study, loaded.spec.baseline is not None, plot)
    if dry_run:
        print_forecast(loaded, plan, folder, fresh, output_format)
        return
    if not plan.runs:
        _nothing_to_measure(study, plan.impossible, output_format)
    run_plan(
        loaded, plan, folder, fresh, output_format,
        show=lambda comparison: _judged(study, comparison, (), output_format, plot),
    )  # fmt: skip


def _plan(path: Path, folder: Path, clusters: Path | None) -> tuple[Loaded, Plan]:
    from wavetank.campaign.clusters import read_cluster
    from wavetank.campaign.load import load_campaign
    from wavetank.campaign.plan import make_plan
    from wavetank.campaign.spec import read_campaign
    from wavetank.papers.replaced_clusters import in_their_place

    spec = read_campaign(path).model_copy(update={"output": folder})
    if clusters is not None:
        others = in_their_place(spec.clusters, clusters.resolve())
        left_out = [
            each.name for each in spec.clusters if each.name not in {other.name for other in others}
        ]
        if left_out:
            click.echo(f"left out, as {clusters} has none: {', '.join(left_out)}", err=True)
        spec = spec.model_copy(update={"clusters": others})
    loaded = load_campaign(spec, path.resolve().parent, read_cluster)
    return loaded, make_plan(spec, loaded.applications, loaded.clusters)


def _run_interfere(
    study: LoadedStudy, file: Path, folder: Path, dry_run: bool, fresh: bool, output_format: str
) -> None:
    from wavetank.campaign.clusters import read_cluster
    from wavetank.cli.interfere import print_study_plan, run_study_plan
    from wavetank.interfere.load import load_study
    from wavetank.interfere.plan import make_plan
    from wavetank.interfere.spec import read_interfere

    spec = read_interfere(study.path(file)).model_copy(update={"output": folder})
    loaded = load_study(spec, read_cluster)
    plan = make_plan(spec, loaded.groups, loaded.clusters)
    if dry_run:
        print_study_plan(loaded, plan, folder, fresh, output_format)
        return
    if not plan.points:
        _nothing_to_measure(study, plan.impossible, output_format)
    run_study_plan(
        loaded, plan, folder, fresh, output_format,
        show=lambda comparison: _judged(study, comparison, (), output_format),
    )  # fmt: skip


def _nothing_to_measure(
    study: LoadedStudy, impossible: Sequence[NotMeasured], output_format: str
) -> None:
    """Judge what follows from models alone, and say why nothing can be measured."""
    _judged(study, None, impossible, output_format)
    raise MeasurementError(
        f"nothing of study {study.study.paper} can be measured on this machine; the table above says why"
    )


def _judged(
    study: LoadedStudy,
    comparison: Comparison | None,
    not_measured: Sequence[NotMeasured],
    output_format: str,
    plot: Path | None = None,
) -> None:
    """Print published against reproduced, and what was left out; draw rates against the baseline where that is asked for."""
    from wavetank.papers.judge import judge
    from wavetank.papers.ratios import order_words, ratios

    verdicts = judge(study, comparison, not_measured)
    missing = not_measured if comparison is None else comparison.not_measured
    title = f"{study.study.paper}: published and reproduced"
    tables = [VERDICTS.table(verdicts, title=title)]
    rows = () if comparison is None else ratios(study.study, comparison)
    if rows:
        tables.append(ratio_table(study.study, rows))
    if missing:
        tables.append(
            LEFT_OUT.table(
                (
                    each,
                    each.cluster if comparison is None else comparison.title_of(each.cluster),
                )
                for each in missing
            )
        )
    counts = {
        word: sum(each.word == word for each in verdicts)
        for word in ("holds", "does not hold", "cannot be told")
    }
    order = order_words(rows)
    print_tables(tables, output_format, {**_about(study), "verdicts": counts, "order": order})
    if output_format == "table":
        for sentence in order:
            say(sentence)
        say(", ".join(f"{n} {word}" for word, n in counts.items()))
        for sentence in study.study.scaled:
            say(f"Not as in the paper: {sentence}")
    if plot is not None:
        draw(study.study, rows, plot)


def _measures(loaded: LoadedStudy) -> str:
    if loaded.study.campaign is not None:
        return "campaign"
    return "interfere" if loaded.study.interfere is not None else "models alone"


def _about(loaded: LoadedStudy) -> dict[str, object]:
    study = loaded.study
    return {
        "paper": study.paper,
        "title": study.title,
        "reference": study.reference,
        "not_as_in_the_paper": list(study.scaled),
        "folder": str(loaded.folder),
    }
