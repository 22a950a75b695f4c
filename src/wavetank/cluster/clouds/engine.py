"""Makes everything of a cluster in a cloud, or nothing; removes everything, whatever was made.

Each intent is in the cluster's journal before its call. What is removed is what the account has by tags and names, and it is
looked for until nothing is found any more: a call that had no answer may have succeeded, and clouds show new things late.

Why tags decide what is removed, and not the journal: a process can be killed between a call and its answer, and a cluster's
folder can be lost with its machine. What was made costs money until it is gone. Every call that makes something carries the tags,
so that the account itself says what is ours.

Why there is a journal all the same: the lease is in it before the first call, with the token that the tags have. The time of the
last intent says how long to look, and keys that the cloud answered with name what has lost its tags.

Why several looks in a row must find nothing, and none before ``SETTLES_AFTER``: a new thing is in the answers of a cloud after
seconds, at times after a minute. One empty look may be too early.

Why all instances of a cluster are in one zone, or none are made: half a cluster measures nothing, and is paid for. What was
started in a zone without room for all is removed before the next zone is tried.

Why no Terraform or CloudFormation: they leave things behind where a state of their own and the account differ, and cannot be
tested offline.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from wavetank.cluster.clouds.cloud import (
    SERVED,
    CapacityError,
    Cloud,
    Key,
    Lease,
    Made,
    RefusedError,
    Removal,
    Wanted,
)
from wavetank.cluster.state import ClusterDirectory
from wavetank.errors import ProviderError
from wavetank.steps import Reminder, steps

log = logging.getLogger(__name__)

# A new thing is in the answers of EC2 after seconds, in rare cases after a minute (EC2 developer guide, "eventual consistency").
SETTLES_AFTER = timedelta(seconds=60)
LOOKS_AT_NOTHING = 3  # in a row, before nothing is believed
LOOK_EVERY_S = 5.0
RUNNING_WITHIN = timedelta(minutes=15)
GONE_WITHIN = timedelta(minutes=30)
# FSx for Lustre takes 5 to 12 minutes; users report time-outs at 10 (aws-fsx-csi-driver#382, #433).
SERVED_WITHIN = timedelta(minutes=40)
# No longer paid for (EC2 user guide, "instance lifecycle").
ENDING = ("shutting-down", "terminated", "stopping", "stopped", "error")
# Of file systems and mount targets (FSx: FileSystemLifecycle, EFS: LifeCycleState, Manila: status).
SERVES = "available"
BROKEN = ("failed", "misconfigured", "error", "error_deleting", "deleting", "deleted")


class Clock(Protocol):
    """Time, for tests without it."""

    def now(self) -> datetime:
        """UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class WallClock:
    """Time as it passes."""

    def now(self) -> datetime:
        """UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def make_all(
    cloud: Cloud,
    lease: Lease,
    wanted: Sequence[Wanted],
    zones: Sequence[str],
    directory: ClusterDirectory,
    clock: Clock,
) -> dict[str, Made]:
    """Make everything that is wanted, all instances in the first zone with room; returns the running instance of each node.

    What was made stays when this raises: ``remove_all`` removes it.

    Raises:
        ProviderError: no zone has room; an instance ended; the account refuses.
    """
    later = ("schedule", *SERVED)
    for each in wanted:
        if each.kind not in ("instances", *later) and not _is_of_instances(each):
            _make(cloud, each, lease, directory, clock)
    groups = [each for each in wanted if each.kind == "instances"]
    zone, by_node = _make_in_a_zone(cloud, lease, groups, zones, directory, clock)
    # in the order of the plan: the schedule that deletes a file system is made at once after it
    for each in wanted:
        if each.kind == "mount-target":  # of a file system that serves
            wait_served(cloud, lease, directory, clock)
        if each.kind in later and not _is_of_instances(each):
            _make(cloud, each.in_zone(zone), lease, directory, clock)
    running = wait_running(cloud, lease, by_node, clock)
    for each in wanted:
        if each.kind == "share-access":  # of a share that serves
            wait_served(cloud, lease, directory, clock)
        if _is_of_instances(each):
            _make(cloud, each, lease, directory, clock)
    if any(each.kind == "address" for each in wanted):
        running = wait_running(cloud, lease, by_node, clock)
    steps.info("%s: %d instances run in %s", lease.cluster, len(running), zone)
    return running


def _is_of_instances(wanted: Wanted) -> bool:
    """Whether it is made when instances run."""
    return wanted.detail.get("of") == "instances"


def _make(
    cloud: Cloud, wanted: Wanted, lease: Lease, directory: ClusterDirectory, clock: Clock
) -> tuple[str, ...]:
    directory.note(
        do="cloud-make", kind=wanted.kind, name=wanted.name, nodes=" ".join(wanted.nodes), at=clock.now().isoformat()
    )  # fmt: skip
    where = f" in {wanted.zone}" if wanted.kind == "instances" else ""
    what = ", ".join(wanted.nodes) or wanted.name
    steps.info("%s: making %s %s%s", lease.cluster, wanted.kind, what, where)
    keys = cloud.make(wanted, lease)
    kind = "instance" if wanted.kind == "instances" else wanted.kind
    for key in keys:
        directory.note(do="cloud-made", kind=kind, key=key)
    return keys


def _make_in_a_zone(
    cloud: Cloud,
    lease: Lease,
    groups: Sequence[Wanted],
    zones: Sequence[str],
    directory: ClusterDirectory,
    clock: Clock,
) -> tuple[str, dict[str, str]]:
    """The first zone with room for all, and the instance of each node."""
    said = []
    for zone in zones:
        by_node: dict[str, str] = {}
        try:
            for group in groups:
                keys = _make(cloud, group.in_zone(zone), lease, directory, clock)
                by_node.update(zip(group.nodes, keys, strict=True))
        except CapacityError as error:
            log.warning("%s: no room in %s (%s)", lease.cluster, zone, error)
            said.append(f"{zone}: {error}")
            if by_node:  # a placement group is in one zone as long as it has instances
                key = Key(lease.cluster, lease.token)
                remove_all(cloud, key, clock, kinds=("instance",), since=clock.now())
        else:
            return zone, by_node
    raise ProviderError(
        f"no zone of {lease.region} has room for all instances now; nothing is left of them:\n  "
        + "\n  ".join(said)
        + "\n  Try later, another instance type or region, or fewer nodes"
    )


def wait_running(
    cloud: Cloud, lease: Lease, by_node: Mapping[str, str], clock: Clock
) -> dict[str, Made]:
    """Wait till the instance of each node runs and has an address.

    Args:
        cloud: the account.
        lease: of the cluster.
        by_node: key of each node's instance.
        clock: time.

    Raises:
        ProviderError: one ended, or they do not run in time.
    """
    key, deadline = Key(lease.cluster, lease.token), clock.now() + RUNNING_WITHIN
    reminder = Reminder(clock.now())
    while True:
        by_key = {made.key: made for made in cloud.instances(key)}
        found = {node: by_key[each] for node, each in by_node.items() if each in by_key}
        for node, made in found.items():
            if made.state in ENDING:
                raise ProviderError(
                    f"{node} ({made.key}) is {made.state}: {made.reason or 'no reason is given'}"
                )
        waiting = [
            node
            for node in by_node
            if node not in found
            or found[node].state != "running"
            or found[node].private_address is None
        ]
        if not waiting:
            return found
        if clock.now() > deadline:
            raise ProviderError(
                f"instances of {', '.join(waiting)} do not run after {RUNNING_WITHIN.seconds // 60} min"
            )
        if reminder.is_due(now := clock.now()):
            steps.info(
                "%s: instances of %s do not run yet, after %s (%d min at most)",
                lease.cluster, ", ".join(waiting), reminder.waited(now), RUNNING_WITHIN.seconds // 60,
            )  # fmt: skip
        clock.sleep(LOOK_EVERY_S)


def wait_served(
    cloud: Cloud, lease: Lease, directory: ClusterDirectory, clock: Clock
) -> tuple[Made, ...]:
    """Wait till every file system and mount target that was made so far serves; returns them, in the order of their making.

    Raises:
        ProviderError: one failed, with what the cloud says of it, or they do not serve in time.
    """
    key, deadline = Key(lease.cluster, lease.token), clock.now() + SERVED_WITHIN
    wanted = [made for made in noted_things(directory) if made.kind in SERVED]
    said, reminder = False, Reminder(clock.now())
    while wanted:
        by_key = {made.key: made for made in cloud.served(key)}
        found = [by_key[each.key] for each in wanted if each.key in by_key]
        for made in found:
            if made.state in BROKEN:
                raise ProviderError(
                    f"{made.kind} {made.key} is {made.state}: {made.reason or 'no reason is given'}"
                )
        if len(found) == len(wanted) and all(made.state == SERVES for made in found):
            return tuple(found)
        waiting = [each.key for each in wanted if by_key.get(each.key, each).state != SERVES]
        if clock.now() > deadline:
            raise ProviderError(
                f"{', '.join(waiting)} does not serve after {SERVED_WITHIN.seconds // 60} min"
            )
        if not said:
            steps.info("%s: waiting for %s, which takes minutes", lease.cluster, ", ".join(waiting))
            said = True
        if reminder.is_due(now := clock.now()):
            states = ", ".join(
                f"{each} is {(by_key[each].state if each in by_key else '') or 'not shown yet'}"
                for each in waiting
            )
            steps.info(
                "%s: %s, after %s (%d min at most)",
                lease.cluster, states, reminder.waited(now), SERVED_WITHIN.seconds // 60,
            )  # fmt: skip
        clock.sleep(LOOK_EVERY_S)
    return ()


def remove_all(
    cloud: Cloud,
    key: Key,
    clock: Clock,
    *,
    kinds: Sequence[str] | None = None,
    since: datetime | None = None,
    noted: Sequence[Made] = (),
) -> int:
    """Remove everything of a cluster; returns how many things there were.

    Args:
        cloud: the account.
        key: of the cluster.
        clock: time.
        kinds: only these kinds of things.
        since: when something was last made, or may have been: from then on it takes a while until all is shown.
        noted: what the journal says was made: removed too where it lost its tags.

    Raises:
        RefusedError: the account refuses; nothing is known of what is left.
        ProviderError: something cannot be removed; calling again goes on.
    """
    deadline = clock.now() + GONE_WITHIN
    settled = (since or clock.now() - SETTLES_AFTER) + SETTLES_AFTER
    seen: set[tuple[str, str]] = set()
    nothing, trouble, without_tags = 0, "", list(noted)
    reminder = Reminder(clock.now())
    while True:
        try:
            there = [made for made in cloud.found(key) if kinds is None or made.kind in kinds]
        except RefusedError:
            raise
        except ProviderError as error:  # throttled, or the network is down for a while
            there, trouble, nothing = [], str(error), 0
        else:
            nothing = 0 if there else nothing + 1
            if nothing >= LOOKS_AT_NOTHING and clock.now() >= settled:
                return len(seen)
        seen.update((made.kind, made.key) for made in there)
        if nothing == 1 and without_tags:
            there = [made for made in without_tags if (made.kind, made.key) not in seen]
            without_tags = []
        trouble = _remove_once(cloud, there) or trouble
        if there and reminder.is_due(now := clock.now()):
            names = ", ".join(f"{made.kind} {made.key} {made.state}".strip() for made in there)
            steps.info("%s: left after %s: %s", key.cluster, reminder.waited(now), names)
        if clock.now() > deadline:
            left = (
                ", ".join(f"{made.kind} {made.key} {made.state}".strip() for made in there)
                or "unknown"
            )
            raise ProviderError(
                f"not all of {key.label} in {cloud.region} could be removed; left: {left}. {trouble}\n"
                f"  Call 'wavetank cluster down {key.cluster}' again, or 'wavetank cluster prune --provider {cloud.name} "
                f"--region {cloud.region} --token {key.token}'"
            )
        clock.sleep(LOOK_EVERY_S if there or clock.now() < settled else LOOK_EVERY_S / 5)


def _remove_once(cloud: Cloud, there: Sequence[Made]) -> str:
    """Try to remove each; what went wrong last. Instances go first, then what serves them, then all that those used.

    So schedules, which end instances and delete file systems at the ttl, are there as long as these.
    """
    trouble = ""
    kinds = {made.kind for made in there}
    first = next((kind for kind in ("instance", *reversed(SERVED)) if kind in kinds), None)
    for made in there:
        if first not in (None, made.kind):
            continue
        try:
            if cloud.remove(made) is Removal.AGAIN and made.kind not in ("instance", *SERVED):
                log.info("%s %s is in use still", made.kind, made.key)
        except RefusedError:
            raise
        except ProviderError as error:
            trouble = str(error)
            log.warning("cannot remove %s %s yet: %s", made.kind, made.key, error)
    return trouble


# What the cluster's journal says of the cloud.


def note_lease(directory: ClusterDirectory, provider: str, lease: Lease) -> None:
    """Note whose everything will be, before the first call that makes something."""
    directory.note(
        do="lease", provider=provider, region=lease.region, token=lease.token, owner=lease.owner,
        expires=lease.expires.isoformat(), budget=str(lease.budget), spec=lease.spec_sha256,
    )  # fmt: skip


def noted_lease(directory: ClusterDirectory) -> tuple[str, Key] | None:
    """Region, and what tells the cluster's things from others; None where nothing was made."""
    for entry in directory.journal():
        if entry["do"] == "lease":
            return str(entry["region"]), Key(directory.name, str(entry["token"]))
    return None


def noted_end(directory: ClusterDirectory) -> datetime | None:
    """When instances end themselves; None where nothing was made."""
    for entry in directory.journal():
        if entry["do"] == "lease":
            return datetime.fromisoformat(str(entry["expires"]))
    return None


def noted_things(directory: ClusterDirectory) -> list[Made]:
    """What was made, and is known to have been."""
    found = noted_lease(directory)
    if found is None:
        return []
    key = found[1]
    return [
        Made(str(entry["kind"]), str(entry["key"]), key.cluster, key.token)
        for entry in directory.journal()
        if entry["do"] == "cloud-made"
    ]


def last_intent(directory: ClusterDirectory) -> datetime | None:
    """When the last thing was made, or was about to be; None where none was."""
    times = [str(entry["at"]) for entry in directory.journal() if entry["do"] == "cloud-make"]
    return datetime.fromisoformat(times[-1]) if times else None
