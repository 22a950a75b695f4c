"""Where the files of several kernels lie that use one cluster at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wavetank.cluster.deployed import DeployedCluster
from wavetank.measure.run import (
    Bench,
    input_sizes,
    make_names,
    overwritten_sizes,
    remove_written,
)


def set_up_together(
    benches: Sequence[Bench], cluster: DeployedCluster, *, apart: bool
) -> list[Bench]:
    """Put the input files of several kernels on a cluster.

    Args:
        benches: laid out, each in a folder of its own.
        cluster: whose layout decides where files lie.
        apart: the layout puts each file on a server of its own; then each kernel gets servers of its
            own, also for the files that it makes.

    Raises:
        ClusterError: a node or the file system failed.
    """
    sizes = [input_sizes(bench) | (_outputs(bench) if apart else {}) for bench in benches]
    placed = _place(sizes, cluster, apart)
    for bench in benches:
        make_names(bench)
    return [
        replace(
            bench,
            file_placement={path: where for path, where in placed.items() if path in mine},
        )
        for bench, mine in zip(benches, sizes, strict=True)
    ]


def renew_together(benches: Sequence[Bench], cluster: DeployedCluster, *, apart: bool) -> None:
    """Remove what an earlier run wrote, and make files again that are to be there."""
    for bench in benches:
        remove_written(bench)
    sizes = [overwritten_sizes(bench) | (_outputs(bench) if apart else {}) for bench in benches]
    if any(sizes):
        _place(sizes, cluster, apart)
    for bench in benches:
        make_names(bench)


def _outputs(bench: Bench) -> dict[str, int]:
    """Files that the kernel makes, as a byte each: one that is there keeps its server."""
    return {
        f"{bench.folder}/{name}": 1
        for file in bench.kernel.files
        if file.role == "output" and not file.directory
        for name, _ in file.stored()
    }


def _place(
    sizes: Sequence[dict[str, int]], cluster: DeployedCluster, apart: bool
) -> dict[str, str]:
    if not apart:
        return cluster.place_files({path: n for each in sizes for path, n in each.items()})
    placed: dict[str, str] = {}
    for round_ in rounds_apart(sizes, len(cluster.io_hosts)):
        placed |= cluster.place_files(round_)
    return placed


def rounds_apart(sizes: Sequence[dict[str, int]], n_servers: int) -> list[dict[str, int]]:
    """Files in rounds of one per server, so that server s holds files of kernel s mod n only.

    A server whose kernel has no file left in a round gets an empty one instead: the layout counts files.
    """
    waiting = [list(each.items()) for each in sizes]
    rounds = []
    while any(waiting):
        round_: dict[str, int] = {}
        for server in range(n_servers):
            mine = waiting[server % len(waiting)]
            path, size = mine.pop(0) if mine else (f".wavetank-place-{server}", 0)
            round_[path] = size
        rounds.append(round_)
    return rounds
