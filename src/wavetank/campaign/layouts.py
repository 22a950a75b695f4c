"""Every cluster of a campaign with every layout of files that ``what_if`` asks for, and the reasons of those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.spec import CampaignSpec, ClusterSource, Layout
from wavetank.units import format_size
from wavetank.variants.asked import asked
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.layouts import stripe_of


class ReadCluster(Protocol):
    """Reads and checks a cluster file."""

    def __call__(
        self, path: Path, layout: Layout | None = None, setting: str | None = None, /
    ) -> ClusterFacts:
        """The cluster in a layout of input files, with a knob of the layout turned where one is named."""


@dataclass(frozen=True)
class Layouts:
    """What became of the layouts that a campaign asks for.

    Attributes:
        clusters: all of the campaign, those with a turned layout behind the others; empty where none was asked for.
        sources: of those with a turned layout.
        settings: that some cluster has.
        refused: (setting, reason) of those that no cluster can have.
    """

    clusters: tuple[ClusterFacts, ...] = ()
    sources: tuple[ClusterSource, ...] = ()
    settings: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


NO_LAYOUTS = Layouts()


def turn_layouts(
    spec: CampaignSpec,
    sources: Sequence[ClusterSource],
    clusters: Sequence[ClusterFacts],
    read_cluster: ReadCluster,
    largest_file_bytes: int,
) -> Layouts:
    """Turn each knob of the layout that ``what_if`` asks for on each cluster.

    Args:
        spec: of the campaign.
        sources: of the clusters as they are.
        clusters: as they are, in the same order.
        read_cluster: reads and checks a cluster file.
        largest_file_bytes: of the files that carry the applications' bytes.

    Raises:
        SpecError: a cluster file is wrong.
        UsageError: it is no value of a knob.
    """
    wanted = asked(spec.what_if).layouts
    own = {each.name: each for each in clusters}
    made: dict[str, tuple[ClusterFacts, ClusterSource]] = {}
    against: dict[str, dict[str, str]] = {name: {} for name in own}
    for setting, _ in wanted:
        for source, cluster in zip(sources, clusters, strict=True):
            try:
                _check_stripe(setting, largest_file_bytes)
                facts = read_cluster(source.path, source.layout, setting)
                if facts.name in own or facts.name in made:
                    raise DoesNotApplyError(
                        f"the campaign has a cluster {facts.name} already, which is compared with this one"
                    )
            except DoesNotApplyError as error:
                against[cluster.name][setting] = str(error)
            else:
                made[facts.name] = facts, source._replace(setting=setting)
    settings = {facts.turned.setting for facts, _ in made.values() if facts.turned is not None}
    return Layouts(
        clusters=(
            *(replace(each, not_turned=against[each.name]) for each in clusters),
            *(facts for facts, _ in made.values()),
        ),
        sources=tuple(source for _, source in made.values()),
        settings=tuple(setting for setting, _ in wanted if setting in settings),
        refused=tuple(
            dict.fromkeys(
                (shown, _reasons(setting, against))
                for setting, shown in wanted
                if setting not in settings
            )
        ),
    )


def _check_stripe(setting: str, largest_file_bytes: int) -> None:
    """A stripe that holds every file does what a stripe count of 1 does."""
    size = stripe_of(setting)
    if size is not None and size >= largest_file_bytes > 0:
        raise DoesNotApplyError(
            f"the largest file has {format_size(largest_file_bytes)}, and one such stripe holds all of it"
        )


def _reasons(setting: str, against: dict[str, dict[str, str]]) -> str:
    """Why no cluster has a layout, each reason once."""
    reasons: dict[str, list[str]] = {}
    for cluster, found in against.items():
        reasons.setdefault(found[setting], []).append(cluster)
    return "; ".join(f"{' and '.join(names)}: {reason}" for reason, names in reasons.items())
