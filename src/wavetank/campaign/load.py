"""Reading everything that a campaign file names, and checking all of it before anything starts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import yaml

from wavetank.application.own import OwnApplication, examine
from wavetank.campaign.candidates import placement_of
from wavetank.campaign.database import SPEC, file_stem
from wavetank.campaign.facts import ClusterFacts, with_titles
from wavetank.campaign.layouts import NO_LAYOUTS, Layouts, ReadCluster, turn_layouts
from wavetank.campaign.plan import Application
from wavetank.campaign.problems import Problems
from wavetank.campaign.spec import ApplicationEntry, CampaignSpec, ClusterSource, Performed
from wavetank.campaign.store import Store
from wavetank.cost.prices import PriceTable, load_prices
from wavetank.document import make_folder, write_whole
from wavetank.errors import SpecError
from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.pauses import NO_PAUSES, holds_pauses
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.benchmarks import TITLES, why_not_with
from wavetank.model.document.model import Model
from wavetank.variants.asked import asked
from wavetank.variants.layouts import certified
from wavetank.variants.make import Variants, make_variants


@dataclass(frozen=True)
class Loaded:
    """A campaign file with what it names."""

    spec: CampaignSpec
    applications: tuple[Application, ...]
    clusters: tuple[ClusterFacts, ...]
    sources: tuple[ClusterSource, ...]  # of the clusters, those with a turned layout too
    prices: PriceTable | None
    other_prices: tuple[PriceTable, ...] = ()
    published: tuple[
        PriceTable, ...
    ] = ()  # the same tables as their files have them, before a rate of exchange

    def missing_everywhere(self) -> list[str]:
        """Why applications can be performed on no cluster, each program once; of one that some cluster has nothing."""
        found = []
        for program in dict.fromkeys(each.program for each in self.applications):
            lacks = [cluster.why_without(program) for cluster in self.clusters]
            if lacks and lacks[0] is not None and None not in lacks:
                found.append(lacks[0])
        return found


def load_campaign(spec: CampaignSpec, base: Path, read_cluster: ReadCluster) -> Loaded:
    """Read every file of a campaign.

    Args:
        spec: with absolute paths.
        base: folder that a price table's relative path starts from.
        read_cluster: reads and checks a cluster file.

    Raises:
        SpecError: everything that is wrong in any of the files, at once.
    """
    problems = Problems()
    attempt = problems.attempt
    sources = spec.cluster_sources()
    clusters = [attempt(partial(read_cluster, *source)) for source in sources]
    # Nodes on this machine see its files.
    here = all(each is None or each.is_here for each in clusters)
    applications = [
        attempt(partial(_application, entry, spec, nodes_are_here=here))
        for entry in spec.applications
    ]
    named = spec.prices
    tables = [
        attempt(partial(load_prices, name, base))
        for name in (*(() if named is None else (named,)), *spec.other_prices)
    ]
    converted = [
        None if table is None else attempt(partial(table.converted, spec.currency))
        for table in tables
    ]
    prices, others = (None, converted) if named is None else (converted[0], converted[1:])
    if spec.currency is not None and named is None:
        problems.note("'currency' converts the prices of 'prices', which names no table")
    if spec.runs_per_month is not None and named is None:
        problems.note("'runs_per_month' is about costs, and no price table is named with 'prices'")
    if spec.other_prices and named is None:
        problems.note("'other_prices' are shown beside those of 'prices', which names no table")
    if prices is not None and spec.keep is not None:
        storage, table = spec.keep.storage, prices
        attempt(lambda: table.storage_price(storage))
    elif spec.keep is not None:
        problems.note("'keep' is about a price, and no price table is named with 'prices'")
    read_clusters = [each for each in clusters if each is not None]
    layouts = NO_LAYOUTS
    if None not in clusters and asked(spec.what_if).layouts:
        largest = max(
            (placement_of(each.kernel).largest_bytes for each in applications if each), default=0
        )
        turn = partial(turn_layouts, spec, sources, read_clusters, read_cluster, largest)
        layouts = attempt(turn) or layouts
    read_applications = [
        each
        for one in applications
        if one is not None
        for each in attempt(partial(with_variants, one, spec, layouts)) or ()
    ]
    problems.note_names_that_stand_twice([each.name for each in read_applications], "application")
    problems.note_names_that_stand_twice([each.name for each in read_clusters], "cluster")
    names = [each.name for each in read_clusters]
    if None not in clusters and spec.baseline not in (None, *names):
        problems.note(
            f"baseline {spec.baseline!r} is no cluster of this campaign: there are {', '.join(names)}"
        )
    problems.note_titles_that_stand_twice({each.name: each.own_title for each in read_clusters})
    problems.stop_if_any(f"campaign {spec.name}")
    return Loaded(
        spec,
        tuple(read_applications),
        with_titles(layouts.clusters or read_clusters),
        (*sources, *layouts.sources),
        prices,
        tuple(each for each in others if each is not None),
        tuple(each for each in tables if each is not None),
    )


def keep_copies(loaded: Loaded, store: Store) -> None:
    """Put copies of all that the campaign was made from into its folder, so that it stands alone.

    The copy of the campaign file names the copies, and can be run again.

    Raises:
        DocumentError: a file cannot be written.
    """
    spec = loaded.spec
    make_folder(store.folder / "applications")
    entries = []
    for application in loaded.applications:
        application.kernel.write(store.kernel_path(application.name))
        if application.variant_of is not None:
            continue  # 'what_if' makes it of the application's kernel again
        entry: dict[str, object] = {
            "name": application.name,
            "kernel": str(store.kernel_path(application.name).relative_to(store.folder)),
        }
        if application.program != "replay":
            entry["program"] = application.program
        if application.own is not None:
            asked = application.own.asked.model_copy(update={"made_of": application.own.sha256})
            entry["own"] = asked.model_dump(mode="json", exclude_defaults=True)
        if application.model is not None:
            application.model.write(store.model_path(application.name))
            entry["model"] = str(store.model_path(application.name).relative_to(store.folder))
        entries.append(entry)
    body = spec.model_dump(mode="json", exclude_defaults=True, exclude={"layouts"}) | {
        "applications": entries,
        "clusters": keep_clusters(loaded.clusters, store),
        "output": ".",
    }
    if loaded.published:
        names = (spec.prices, *spec.other_prices)
        kept = [
            _keep_prices(table, store, named)
            for table, named in zip(loaded.published, names, strict=True)
        ]
        body["prices"] = kept[0]
        if spec.other_prices:
            body["other_prices"] = kept[1:]
    write_whole(
        store.folder / SPEC,
        "# The campaign as it was run, with copies of all that it names.\n"
        + yaml.safe_dump(body, sort_keys=False, allow_unicode=True),
    )


def _keep_prices(prices: PriceTable, store: Store, named: str | None) -> str:
    if named == prices.name:
        return prices.name  # a shipped table
    body = yaml.safe_dump(prices.model_dump(mode="json"), sort_keys=False)
    copy = f"prices-{file_stem(prices.name)}.yaml"
    write_whole(store.folder / copy, body)
    return copy


def _application(
    entry: ApplicationEntry, spec: CampaignSpec, *, nodes_are_here: bool
) -> Application:
    model = None if entry.model is None else Model.read(entry.model)
    if entry.kernel is not None:
        kernel = Kernel.read(entry.kernel)
    elif entry.model is not None and model is not None:
        kernel = make_kernel(model, entry.model)
    else:
        raise SpecError("an application needs a kernel file, a model file, or both")
    if entry.own is not None:
        own_program = examine(entry.own, kernel, nodes_are_here=nodes_are_here)
        return _itself(entry, spec, kernel, model, own_program)
    reason = why_not_with(kernel, entry.program) if entry.program != "own" else None
    if reason is not None:
        raise SpecError(reason)
    name = kernel.application
    if entry.program in ("ior", "fio"):
        if spec.pauses != "drop":
            raise SpecError(
                f"'pauses: {spec.pauses}' is for the exact replay, and {entry.program} makes no pauses: leave one out"
            )
        name = f"{name} by {TITLES[entry.program]}"
    if spec.pauses != "drop" and not holds_pauses(kernel):
        raise SpecError(f"'pauses: {spec.pauses}': {NO_PAUSES}")
    digest = _digest(kernel, entry.program, spec)
    return Application(entry.name or name, kernel, digest, model, entry.program)


def _digest(kernel: Kernel, program: Performed, spec: CampaignSpec) -> str:
    """Hash of a kernel and of how a campaign performs it."""
    ways = [
        kernel.application,  # results are told by it
        *([program, *_lines(kernel, program)] if program != "replay" else []),
        *(["flushed"] if spec.flush else []),
        *(["verified"] if spec.verify else []),
        *({"drop": [], "keep": ["paused"]}[spec.pauses]),
    ]
    return hashlib.sha256(f"{' '.join(ways)} {kernel_hash(kernel)}".encode()).hexdigest()


def _lines(kernel: Kernel, program: Performed) -> list[str]:
    """What a benchmark performs of a kernel: it follows from the phases, which are no part of the kernel's name."""
    if program == "fio":
        return [fio_plan(kernel).text()]
    return [text for line in kernel.ior for text in (line.command, line.before or "")]


def with_variants(
    application: Application, spec: CampaignSpec, layouts: Layouts = NO_LAYOUTS
) -> tuple[Application, ...]:
    """The application, and its kernel with one knob turned each, where the campaign asks for that.

    Args:
        application: as it is.
        spec: of the campaign.
        layouts: of files, that clusters have for it.

    Raises:
        UsageError: a knob does not take a value that the campaign names.
        KernelError: the kernel is a variant itself.
    """
    wanted = asked(spec.what_if).application
    if not spec.what_if or application.program != "replay":
        return (application,)
    found = make_variants(application.kernel, wanted) if wanted else Variants((), ())
    unchanged = [certified(application.kernel, setting) for setting in layouts.settings]
    return (
        replace(application, refused=(*found.refused, *layouts.refused)),
        *(
            Application(
                f"{application.name} [{kernel.variant.setting}]",
                kernel,
                _digest(kernel, application.program, spec),
                None,
                variant_of=application.name,
            )
            for kernel in (*found.kernels, *unchanged)
            if kernel.variant is not None
        ),
    )


def _itself(
    entry: ApplicationEntry,
    spec: CampaignSpec,
    kernel: Kernel,
    model: Model | None,
    own: OwnApplication,
) -> Application:
    """The application itself, beside its kernel."""
    if spec.executor == "slurm":
        raise SpecError(
            "'program: own' runs the application on clusters that the campaign brings up, and executor slurm brings "
            "none up: leave one out"
        )
    ways = "own flushed" if spec.flush else "own"
    digest = hashlib.sha256(f"{ways} {own.sha256} {kernel_hash(kernel)}".encode()).hexdigest()
    name = entry.name or f"{kernel.application} itself"
    return Application(name, kernel, digest, model, program="own", own=own)


def keep_clusters(clusters: Iterable[ClusterFacts], store: Store) -> list[str]:
    """Copy cluster files into the folder of the results; says where those are that no ``what_if`` makes again.

    Raises:
        DocumentError: a file cannot be written.
    """
    make_folder(store.folder / "clusters")
    copies = []
    for facts in clusters:
        copy = store.cluster_path(facts.name)
        write_whole(copy, facts.text)
        if facts.turned is None:
            copies.append(str(copy.relative_to(store.folder)))
    return copies
