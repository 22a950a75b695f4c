"""``wavetank try``: clusters and a campaign with sensible defaults for one application.

Leaves a folder with cluster files and a campaign file that a person can read, change and run again.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from wavetank.cluster.spec import ClusterSpec
from wavetank.document import read_text, write_whole
from wavetank.errors import DocumentError, SpecError
from wavetank.kernel.plan import Kernel
from wavetank.measure.mapping import io_ranks
from wavetank.units import format_size

MIB = 2**20
MOST_COMPUTE_NODES = 4
"""Nodes of this machine share its cores; more would measure the machine."""
MOST_SERVERS = 3
SMALLEST_STORAGE_BYTES = 512 * MIB
HEADROOM = 1.5
"""Space for the file systems' own data, and for files that grow."""
PRICES = "aws-us-east-1-2026-07"

# c3.2xlarge of the papers (8 vCPUs, 15 GiB, 1 Gbit/s baseline), with a disk of 100 MB/s; memory as a
# small machine can hold several times.
INSTANCE = {
    "name": "c3.2xlarge",
    "vcpus": 8,
    "memory": "1 GiB",
    "network": "1 Gbit/s",
    "disk_read": "100 MB/s",
    "disk_write": "100 MB/s",
}


def mappings_for(kernel: Kernel) -> list[str]:
    """One I/O process per compute node, and all on as few nodes as the machine can hold.

    With more I/O processes than compute nodes they are spread evenly.
    """
    n_io = max(len(io_ranks(kernel)), 1)
    spread = -(-n_io // MOST_COMPUTE_NODES)
    together = min(2 * spread, n_io)
    return [f"{k}PxCN" for k in dict.fromkeys((spread, together))]


def clusters_for(kernel: Kernel, capacity_bytes: int) -> list[ClusterSpec]:
    """NFS, and GlusterFS on one, two and three data servers, large enough for an application.

    Args:
        kernel: of the application.
        capacity_bytes: that it needs.
    """
    n_io = max(len(io_ranks(kernel)), 1)
    compute = min(max(n_io, 2), MOST_COMPUTE_NODES)
    bodies = [("nfs", "nfs", 1, "striped")]
    bodies += [(f"glusterfs-{n}", "glusterfs", n, "striped") for n in range(1, MOST_SERVERS + 1)]
    n_inputs = sum(file.prepare_bytes > 0 for file in kernel.files)
    if 1 < n_inputs <= MOST_SERVERS:
        bodies.append(("glusterfs-1dfx1f", "glusterfs", n_inputs, "one-server-per-file"))
    size = max(SMALLEST_STORAGE_BYTES, round(capacity_bytes * HEADROOM))
    return [
        ClusterSpec.model_validate(
            {
                "name": f"try-{name}",
                "instance": INSTANCE,
                "nodes": {"compute": compute, "io": servers},
                "file_system": {"kind": kind},
                "storage": {"size": size},
                "layout": layout,
            }
        )
        for name, kind, servers, layout in bodies
    ]


def write_attempt(
    kernel: Kernel,
    model: Path | None,
    folder: Path,
    *,
    repetitions: int | None,
    free_bytes: int,
    flush: bool = True,
) -> Path:
    """Write cluster files and a campaign for one application; returns the campaign's path.

    Args:
        kernel: of the application.
        model: its model file, for the report; copied into the folder when it is elsewhere.
        folder: existing; the campaign and its results go there.
        repetitions: of each combination; None: as a campaign chooses.
        free_bytes: that this machine has for the clusters' storage.
        flush: have what is written on storage within the I/O time.

    Raises:
        SpecError: the machine cannot hold the application's files.
        DocumentError: the folder cannot be written.
    """
    clusters = clusters_for(kernel, kernel.capacity_bytes)
    needed = max(cluster.storage.size for cluster in clusters)
    if needed > free_bytes:
        raise SpecError(
            f"{kernel.application} works on {format_size(kernel.capacity_bytes)} of files, and this "
            f"machine has {format_size(free_bytes)} free for them. Free some space, or measure on "
            "clusters of your own with 'wavetank campaign run'"
        )
    (folder / "clusters").mkdir(exist_ok=True)
    kernel.write(folder / "kernel.json")
    for cluster in clusters:
        body = cluster.model_dump(mode="json", exclude_unset=True)
        write_whole(
            folder / "clusters" / f"{cluster.name}.yaml", yaml.safe_dump(body, sort_keys=False)
        )
    application = {"kernel": "kernel.json"}
    if model is not None:
        application["model"] = _kept(model, folder)
    campaign = {
        "name": "try",
        "applications": [application],
        "clusters": [f"clusters/{cluster.name}.yaml" for cluster in clusters],
        "mappings": mappings_for(kernel),
        **({} if repetitions is None else {"repetitions": repetitions}),
        **({} if flush else {"flush": False}),
        "baseline": next(each.name for each in clusters if each.file_system.kind == "nfs"),
        "characterise": True,
        "prices": PRICES,
        "oversubscribe": True,  # a kernel waits for storage, it does not compute
        "output": "results",
    }
    path = folder / "campaign.yaml"
    write_whole(
        path,
        "# Made by 'wavetank try'. Change it and run it: wavetank campaign run campaign.yaml\n"
        + yaml.safe_dump(campaign, sort_keys=False),
    )
    return path


def _kept(model: Path, folder: Path) -> str:
    """The model's path as the campaign file names it: below the folder, which can be moved then.

    Raises:
        DocumentError: it cannot be copied.
    """
    if model.resolve().parent == folder.resolve():
        return model.name
    write_whole(folder / "model.json", read_text(model, "model file", DocumentError))
    return "model.json"
