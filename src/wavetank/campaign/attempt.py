"""``wavetank try``: clusters and a campaign with sensible defaults for one application.

Leaves a folder with cluster files and a campaign file that a person can read, change and run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from wavetank.campaign.attempt_notes import instance_with, memory_for, notes_for
from wavetank.campaign.candidates import Choice, clusters_for, mappings_for, placement_of
from wavetank.campaign.user_candidates import clusters_of_a_user, mapping_of_a_user
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import read_text, write_whole
from wavetank.errors import DocumentError, SpecError
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import format_size

PRICES = "aws-us-east-1-2026-07"


@dataclass(frozen=True)
class Machine:
    """What an attempt must know of this machine.

    Attributes:
        free_bytes: of the disk, for the clusters' storage.
        free_memory_bytes: None where it is not known.
        problems: why a cluster cannot come up.
        directories: of file systems that are mounted, for a user who is not root or who names them; None: clusters are made.
        named: the user named them.
    """

    free_bytes: int
    free_memory_bytes: int | None = None
    problems: Callable[[ClusterSpec], Sequence[str]] = lambda spec: ()
    directories: dict[str, Path] | None = None
    named: bool = False


@dataclass(frozen=True)
class Wishes:
    """What a user asked for; None: chosen here."""

    repetitions: int | None = None
    mappings: tuple[str, ...] = ()
    memory_bytes: int | None = None
    flush: bool = True
    what_if: bool = False  # knobs of the application
    layouts: bool = False  # knobs of the layout of its files
    settings: tuple[str, ...] = ()  # these knobs alone, on one cluster
    runs_per_month: int | None = None
    smallest_saving: float | None = None


def write_attempt(
    kernel: Kernel, model: Path | None, folder: Path, wishes: Wishes, machine: Machine
) -> Path:
    """Write cluster files and a campaign for one application; returns the campaign's path.

    Args:
        kernel: of the application.
        model: its model file, for the report; copied into the folder when it is elsewhere.
        folder: existing; the campaign and its results go there.
        wishes: of the user.
        machine: this one.

    Raises:
        SpecError: the machine cannot hold the application's files, or less memory is asked for than servers need.
        DocumentError: the folder cannot be written.
    """
    memory = memory_for(kernel, machine.free_memory_bytes, wishes.memory_bytes)
    choice = _choice(kernel, memory, machine, f"try-{_mark_of(folder)}")
    if wishes.settings:
        choice = Choice(choice.clusters[:1], choice.left_out)
    needed = max(cluster.storage.size for cluster in choice.clusters)
    if needed > machine.free_bytes:
        raise SpecError(
            f"{kernel.application} works on {format_size(kernel.capacity_bytes)} of files, and this "
            f"machine has {format_size(machine.free_bytes)} free for them. Free some space, or measure on "
            "clusters of your own with 'wavetank run'"
        )
    (folder / "clusters").mkdir(exist_ok=True)
    kernel.write(folder / "kernel.json")
    for cluster in choice.clusters:
        body = cluster.model_dump(mode="json", exclude_unset=True)
        write_whole(
            folder / "clusters" / f"{cluster.name}.yaml", yaml.safe_dump(body, sort_keys=False)
        )
    application = {"kernel": "kernel.json"}
    if model is not None:
        application["model"] = _kept(model, folder)
    made = machine.directories is None
    notes = (
        *(notes_for(kernel, memory, flush=wishes.flush) if made else ()),
        *([placement_of(kernel).sentence] if made else ()),
        *choice.left_out,
    )
    campaign = {
        "name": "try",
        "applications": [application],
        "clusters": [f"clusters/{cluster.name}.yaml" for cluster in choice.clusters],
        "mappings": list(
            wishes.mappings or (mappings_for(kernel) if made else (mapping_of_a_user(kernel),))
        ),
        **({} if wishes.repetitions is None else {"repetitions": wishes.repetitions}),
        **({} if wishes.flush else {"flush": False}),
        **_what_if(wishes),
        "baseline": choice.clusters[0].name,  # NFS; of a user the folder's file system
        "characterise": made,
        **({"verify": True} if machine.named else {}),
        **({} if wishes.runs_per_month is None else {"runs_per_month": wishes.runs_per_month}),
        **({} if wishes.smallest_saving is None else {"smallest_saving": wishes.smallest_saving}),
        **({"prices": PRICES} if made else {}),
        "oversubscribe": True,  # a kernel waits for storage, it does not compute
        "notes": list(notes),
        "output": "results",
    }
    path = folder / "campaign.yaml"
    write_whole(
        path,
        "# Made by 'wavetank try'. Change it and run it: wavetank run campaign.yaml\n"
        + yaml.safe_dump(campaign, sort_keys=False, width=120),
    )
    return path


def _what_if(wishes: Wishes) -> dict[str, object]:
    if wishes.settings:
        return {"what_if": list(wishes.settings)}
    if not wishes.layouts:
        return {"what_if": True} if wishes.what_if else {}
    return {"what_if": ["application", "layouts"] if wishes.what_if else ["layouts"]}


def _choice(kernel: Kernel, memory_bytes: int, machine: Machine, prefix: str) -> Choice:
    if machine.directories is not None:
        return clusters_of_a_user(
            kernel,
            machine.directories,
            problems=machine.problems,
            free_memory_bytes=machine.free_memory_bytes,
            prefix=prefix,
            alone=machine.named,
        )
    return clusters_for(
        kernel,
        instance_with(memory_bytes),
        problems=machine.problems,
        free_memory_bytes=machine.free_memory_bytes,
        prefix=prefix,
    )


def _mark_of(folder: Path) -> str:
    """Of the names of a folder's clusters, so that attempts of two folders can run at once."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:4]


def _kept(model: Path, folder: Path) -> str:
    """The model's path as the campaign file names it: below the folder, which can be moved then.

    Raises:
        DocumentError: it cannot be copied.
    """
    if model.resolve().parent == folder.resolve():
        return model.name
    write_whole(folder / "model.json", read_text(model, "model file", DocumentError))
    return "model.json"
