"""File systems of a cluster that the cloud runs, on its bill: what the account said of them, in the journal, and their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from wavetank.cluster.clouds.cloud import SERVED, Cloud, Key
from wavetank.cluster.clouds.engine import noted_things
from wavetank.cluster.managed import Stored
from wavetank.cluster.state import ClusterDirectory
from wavetank.cost.bills import StorageTime
from wavetank.cost.storage import StorageUse

MOVED = "what was read from and written to {} is not known, so it is not in this bill"


def see_served(directory: ClusterDirectory, cloud: Cloud, key: Key, now: datetime) -> None:
    """Note what the account says of a cluster's file systems, where any was made.

    Raises:
        ProviderError: it cannot be asked.
    """
    if not any(made.kind in SERVED for made in noted_things(directory)):
        return
    for made in cloud.served(key):
        if made.stored is None or made.since is None:
            continue
        directory.note(
            do="served", key=made.key, name=made.stored.name, size=made.stored.size_bytes,
            rate=made.stored.throughput_bytes_per_s or 0, moved=int(made.stored.is_paid_by_moved),
            since=made.since.isoformat(), at=now.isoformat(),
        )  # fmt: skip


def served_times(
    journal: Iterable[Mapping[str, str | int]], end: datetime, assumed: list[str]
) -> Iterator[StorageTime]:
    """What was used of each file system until an end, with the most that it was seen to hold.

    Args:
        journal: of the cluster.
        end: when all was gone, or now.
        assumed: what is not known is added to it.
    """
    by_key: dict[str, list[Mapping[str, str | int]]] = {}
    for entry in journal:
        if entry["do"] == "served":
            by_key.setdefault(str(entry["key"]), []).append(entry)
    for key, entries in by_key.items():
        name, rate = str(entries[0]["name"]), int(entries[0]["rate"]) or None
        size = max(int(entry["size"]) for entry in entries)
        since = min(datetime.fromisoformat(str(entry["since"])) for entry in entries)
        if entries[0].get("moved"):
            assumed.append(MOVED.format(key))
        yield stored_time(Stored(name, size, rate), max(1.0, (end - since).total_seconds()))


def stored_time(stored: Stored, seconds: float) -> StorageTime:
    """What a file system uses in a time."""
    use = StorageUse(stored.name, 1, stored.size_bytes, None, stored.throughput_bytes_per_s)
    return StorageTime(use, seconds)
