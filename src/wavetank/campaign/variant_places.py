"""On which clusters of a campaign a kernel is measured, and where a variant would be the application as it is."""

from __future__ import annotations

from wavetank.campaign.facts import ClusterFacts
from wavetank.kernel.document.kernel import Kernel
from wavetank.variants.ignored import ignored_hints


def belongs(kernel: Kernel, cluster: ClusterFacts) -> bool:
    """Whether a plan has a kernel on a cluster, be it as what cannot be measured there.

    Variants of the layout are on clusters with that layout, and on those that cannot have it. All other kernels are on
    the clusters as they are.
    """
    variant = kernel.variant
    if variant is None or variant.of != "layout":
        return cluster.turned is None
    if cluster.turned is None:
        return variant.setting in cluster.not_turned
    return cluster.turned.setting == variant.setting


def why_no_layout(kernel: Kernel, cluster: ClusterFacts) -> str | None:
    """Why a variant of the layout cannot be on a cluster; None when it can, and of all other kernels."""
    variant = kernel.variant
    if variant is None or variant.of != "layout":
        return None
    if cluster.turned is None:
        return cluster.not_turned.get(variant.setting)
    if cluster.turned.inputs_only and not any(file.prepare_bytes for file in kernel.files):
        return "only input files are placed so, and the application reads none"
    return None


def why_ignored(kernel: Kernel, cluster: ClusterFacts) -> str | None:
    """Why a variant would be the application as it is on a cluster; None when it is not."""
    if kernel.variant is None or cluster.mpi_io is None:
        return None
    ignored = ignored_hints(kernel.variant.hints, cluster.mpi_io)
    if not kernel.variant.hints or len(ignored) < len(kernel.variant.hints):
        return None
    return (
        f"the cluster's MPI-IO library is {cluster.mpi_io}, which ignores {' and '.join(ignored)}. With 'mpi: "
        "{io_library: romio}' in the cluster's file it would be ROMIO"
    )
