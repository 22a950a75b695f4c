"""In which order the clusters of a campaign come up, each for a block of measurements.

A block is one deployment of one cluster. By default it holds one repetition, so that each repetition draws anew whatever a
deployment draws: where files lie, which devices and processors a node gets, how a file system spreads its data.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from wavetank.campaign.plan import Plan, Run


def blocks(plan: Plan, seed: int) -> Iterator[tuple[Run, ...]]:
    """Runs of one cluster each, in the order in which the clusters come up.

    In each turn every cluster comes up once, in a random order of that turn: what drifts on the machine meets all of
    them alike.
    """
    for turn, repetitions in enumerate(plan.schedule.deployments(redeploy=plan.redeploy)):
        order = [cluster.name for cluster in plan.clusters]
        random.Random(f"{seed} block {turn}").shuffle(order)  # noqa: S311 - an order, not a secret
        for name in order:
            block = tuple(run for run in plan.runs_on(name) if run.repetition in repetitions)
            if block:
                yield block
