"""What campaigns measured of one kernel: every configuration with the cluster that it was on, and what is to be known before it counts.

Reads folders of results; writes nothing. Only the same kernel counts, by its hash, performed as 'wavetank replay' performs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.campaign.database import COMPARISON, SPEC
from wavetank.campaign.results_folder import open_store
from wavetank.campaign.served import Served, served_by
from wavetank.campaign.spec import CampaignSpec, read_campaign
from wavetank.campaign.store import Store
from wavetank.campaign.stored_campaign import current_comparison
from wavetank.cluster.guests.hypervisors import INCOMPARABLE
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.compare.configuration import Configuration
from wavetank.errors import MeasurementError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.result import Measurement, cache_words
from wavetank.notes import texts


@dataclass(frozen=True)
class Evidence:
    """A configuration of a campaign.

    Attributes:
        folder: of the campaign.
        spec: of the cluster.
        configuration: that was measured.
        last_utc: when its last measurement ended, ISO 8601.
        hosts: machines that measured it, by name.
        versions: of wavetank that measured it.
    """

    folder: Path
    spec: ClusterSpec
    configuration: Configuration
    last_utc: str
    hosts: tuple[str, ...]
    versions: tuple[str, ...]

    @property
    def served(self) -> Served | str:
        """What served its files; or why that cannot be said in a few words."""
        return served_by(self.spec)

    @property
    def reservations(self) -> dict[str, str]:
        """What keeps its times from being taken as they are: a word of ``--accept`` -> a sentence's part."""
        found: dict[str, str] = {}
        of = self.configuration
        if of.origin != "measured":
            found["emulated"] = f"{of.origin}: {_limits(self.spec)}"
        if of.cache != "cold":
            found["caches"] = cache_words(of.cache)
        if not of.comparable:
            found["guests"] = INCOMPARABLE
        if of.notes:
            found["doubts"] = "; ".join(text.rstrip(".") for text in texts(of.notes))
        return found

    @property
    def where(self) -> str:
        """Cluster, mapping and machines, in words."""
        spec, of = self.spec, self.configuration
        servers = {spec.instance_of(name).name for name in spec.server_names()}
        on = f", servers {' and '.join(sorted(servers))}" if servers else ""
        return f"{of.cluster_title}, {of.mapping} on {spec.nodes.compute} {of.instance_type}{on}"

    @property
    def origin(self) -> str:
        """Folder, repetitions, time, machines and versions, in words."""
        n = self.configuration.n_repetitions
        return (
            f"{self.folder}: {n} {'run' if n == 1 else 'runs'} until {self.last_utc[:19]} UTC on {', '.join(self.hosts)}, "
            f"wavetank {', '.join(self.versions)}"
        )


def evidence_of(
    kernel: Kernel, folders: Sequence[Path]
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """All that some campaigns measured of a kernel; and what in them does not count, a sentence each.

    Raises:
        MeasurementError: a folder holds no results, or damaged ones.
        SpecError: a copy of a campaign's files is damaged.
        KernelError: a copy of a kernel is damaged.
    """
    found: list[Evidence] = []
    notes: list[str] = []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        with open_store(folder) as store:
            names, against = _applications(kernel, store)
            notes += [f"{folder}: {text}" for text in against]
            found += _of_store(store, names)
    return tuple(found), tuple(notes)


def _applications(kernel: Kernel, store: Store) -> tuple[set[str], list[str]]:
    """Names that the kernel has in a campaign; and why others do not count."""
    if not (store.folder / SPEC).is_file():
        raise MeasurementError(
            f"{store.folder} says not which kernels it measured ({SPEC} is missing): name the output folder of "
            "'wavetank run'"
        )
    spec = read_campaign(store.folder / SPEC)
    wanted, names, against = kernel_hash(kernel), set(), []
    for entry in spec.applications:
        if entry.kernel is None:
            continue
        read = Kernel.read(entry.kernel)
        name = entry.name or read.application
        if kernel_hash(read) != wanted:
            against.append(f"{name} is another kernel, by its hash")
        elif entry.program != "replay":
            against.append(f"{name} was performed by {entry.program}, not by the exact replay")
        elif other := _otherwise(spec):
            against.append(f"{name} was performed in another way: {other}")
        else:
            names.add(name)
    return names, against


def _otherwise(spec: CampaignSpec) -> str | None:
    """In what a campaign performs kernels otherwise than 'wavetank replay' does by default."""
    told = [] if spec.flush else ["what is written was not flushed"]
    told += [] if spec.pauses == "drop" else [f"pauses: {spec.pauses}"]
    return " and ".join(told) or None


def _of_store(store: Store, names: set[str]) -> Iterator[Evidence]:
    if not names or (store.last_finished_utc() is None and not _has_comparison(store)):
        return
    measured: dict[tuple[str, str, str], list[Measurement]] = {}
    for each in store.measurements():
        measured.setdefault((each.application, each.cluster, each.mapping), []).append(each)
    for one in current_comparison(store).configurations:
        if one.application not in names:
            continue
        its = [m.provenance for m in measured.get((one.application, one.cluster, one.mapping), ())]
        yield Evidence(
            folder=store.folder,
            spec=read_spec(store.cluster_path(one.cluster)),
            configuration=one,
            last_utc=max((each.created_utc for each in its), default="an unknown time"),
            hosts=tuple(sorted({each.host.hostname for each in its})) or ("an unknown machine",),
            versions=tuple(sorted({each.tool_version for each in its})) or ("unknown",),
        )


def _has_comparison(store: Store) -> bool:
    return (store.folder / COMPARISON).is_file()


def _limits(spec: ClusterSpec) -> str:
    scaled = "" if spec.scale == 1 else f", rates divided by {spec.scale:g}"
    return f"nodes of provider {spec.provider} with limits of {spec.instance.name}{scaled}"
