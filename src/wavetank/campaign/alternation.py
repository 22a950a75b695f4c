"""How the clusters of a campaign take turns, so that what drifts on the machine touches all of them alike.

Side by side where the machine has room: all are up, and each round measures everything once. Else in blocks: clusters
come up several times in random order, each time for some repetitions.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import Plan, Run, expected_s
from wavetank.campaign.spec import SideBySide
from wavetank.units import format_size

ROOM_SHARE = 0.9
"""Of what is free: a machine without any memory or space left is another one."""


@dataclass(frozen=True)
class Room:
    """What this machine has free for clusters, bytes."""

    memory_bytes: int
    storage_bytes: int


def room_of_this_machine(folder: Path) -> Room:
    """Memory that is available, and space where clusters keep their disks.

    Args:
        folder: where clusters are kept; it need not exist yet.
    """
    there = next(each for each in (folder, *folder.parents) if each.is_dir())
    return Room(_available_memory(), shutil.disk_usage(there).free)


def _available_memory() -> int:
    # MemAvailable:   23124096 kB
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def why_not_side_by_side(
    asked: SideBySide, clusters: Sequence[ClusterFacts], room: Room
) -> str | None:
    """Why clusters are not up at the same time; None when they are.

    Args:
        asked: by the campaign file.
        clusters: that have something left to measure.
        room: of this machine.
    """
    if asked is not True and asked is not False:
        return _why_no_room(clusters, room)
    return None if asked else "the campaign file says so"


def _why_no_room(clusters: Sequence[ClusterFacts], room: Room) -> str | None:
    """Why clusters do not fit side by side; cores are shared anyway, as nobody computes on idle ones."""
    for cluster in clusters:
        if cluster.memory_bytes is None or cluster.storage_bytes is None:
            return f"{cluster.name} is not on this machine alone"
    memory = sum(cluster.memory_bytes or 0 for cluster in clusters)
    storage = sum(cluster.storage_bytes or 0 for cluster in clusters)
    for what, needed, free in (
        ("memory", memory, room.memory_bytes),
        ("storage", storage, room.storage_bytes),
    ):
        if needed > ROOM_SHARE * free:
            return (
                f"together their nodes have {format_size(needed)} of {what}, and "
                f"{format_size(free)} are free"
            )
    return None


def blocks(plan: Plan, seed: int) -> list[tuple[Run, ...]]:
    """Runs of one cluster each, in the order in which the clusters come up.

    A block holds so many repetitions that measuring takes as long as bringing clusters up, and half of them at most. In
    each turn every cluster comes up once, in an order of its own. In a search no block reaches over the end of a round,
    as what follows depends on all clusters.
    """
    size = _block_size(plan)
    found = []
    for turn, repetitions in enumerate(
        part[start : start + size]
        for part in plan.schedule.parts()
        for start in range(0, len(part), size)
    ):
        order = [cluster.name for cluster in plan.clusters]
        random.Random(f"{seed} block {turn}").shuffle(order)  # noqa: S311 - an order, not a secret
        for name in order:
            block = tuple(run for run in plan.runs_on(name) if run.repetition in repetitions)
            found += [block] if block else []
    return found


def _block_size(plan: Plan) -> int:
    if len({run.cluster for run in plan.runs}) < 2:  # nobody to take turns with
        return max(plan.schedule.repetitions, 1)
    most = max(-(-plan.schedule.final // 2), 1)
    up_s = sum(cluster.expected_up_s for cluster in plan.clusters)
    round_s = sum(
        expected_s(plan.application(run.application), ())
        for run in plan.runs
        if run.repetition == 0
    )
    return next((size for size in range(1, most) if size * round_s >= up_s), most)
