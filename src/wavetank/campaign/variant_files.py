"""Files of variants on a cluster: those of the application are used again, so that variants take no more room than it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.run import Bench, remove_written

if TYPE_CHECKING:
    from wavetank.campaign.plan import Application, Plan


def space_needed(kernel: Kernel) -> int:
    """Bytes that a kernel's files take on a cluster; of a variant with other input files, those of the application too."""
    variant = kernel.variant
    if variant is None or all(file.new_names == (file.name,) for file in variant.files):
        return kernel.capacity_bytes
    return kernel.capacity_bytes + sum(file.prepare_bytes for file in kernel.files)


def bench_with_same_files(
    benches: Mapping[str, Bench], application: Application, plan: Plan
) -> Bench | None:
    """The application's kernel at the input files of another one of its variants, or of itself; None without such files.

    Args:
        benches: that are on the cluster, by application.
        application: of the plan, with or without a knob turned.
        plan: of the campaign.
    """
    for name, bench in benches.items():
        other = plan.application(name)
        if _are_one(application, other) and other.kernel.files == application.kernel.files:
            return replace(
                bench, kernel=application.kernel, kernel_sha256=kernel_hash(application.kernel)
            )
    return None


def make_room(benches: Mapping[str, Bench], name: str, plan: Plan) -> None:
    """Remove what variants of an application, or itself, wrote into other folders than its own.

    Raises:
        ClusterError: a node failed.
    """
    own = plan.application(name)
    for other, bench in benches.items():
        if bench.folder != benches[name].folder and _are_one(own, plan.application(other)):
            remove_written(bench)


def _are_one(first: Application, second: Application) -> bool:
    """Whether two are the same application, one of them at least a variant."""
    if first.variant_of is None and second.variant_of is None:
        return False
    return (first.variant_of or first.name) == (second.variant_of or second.name)
