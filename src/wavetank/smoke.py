"""A small cluster in a cloud's account, brought up, measured on, and removed: whether all of it works, for less than 0.20 USD.

Nothing is made before somebody agreed to the price. Leaves the bill of the cluster, and what the account says is left: nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from wavetank.cluster import deploy, registry
from wavetank.cluster.clouds.bill import ClusterBill, Holding, holdings, kept_bills
from wavetank.cluster.clouds.price import estimate, price_table
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.bills import Bill
from wavetank.errors import ClusterError, ProviderError, SpecError, WavetankError
from wavetank.kernel.construction.objects import object_kernel
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.run import measure, set_up
from wavetank.units import MIB, format_rate

BUDGET = Decimal("0.20")
"""USD, of the whole ttl and the margin: what may cost more is refused by the provider."""
TTL = timedelta(minutes=20)
"""Boot, packages, one small measurement, and the end; three instances for longer cost more than the budget."""
OBJECT_BYTES, FILE_BYTES = MIB, 16 * MIB


@dataclass(frozen=True)
class Passed:
    """What came of it.

    Attributes:
        measured: a sentence on what was measured.
        bill: of the cluster; None where no instance ran.
        left: what the account has of the cluster afterwards.
    """

    measured: str
    bill: ClusterBill | None
    left: tuple[Holding, ...]


def smoke_spec(provider: str, region: str, prices: str | None = None) -> ClusterSpec:
    """The cluster: NFS on one instance, two that use it; under a name that no other has.

    Args:
        provider: a cloud.
        region: of it.
        prices: a table of the region's prices where none is shipped: a name or an absolute path.
    """
    cloud = {
        "region": region, "ttl": f"{TTL.seconds // 60} min", "budget": f"{BUDGET} USD",
        **({} if prices is None else {"prices": prices}),
    }  # fmt: skip
    return ClusterSpec.model_validate(
        {
            "name": f"smoke-{secrets.token_hex(2)}",
            "provider": provider,
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 2, "io": 1},
            "file_system": {"kind": "nfs"},
            "storage": {"on": "ebs", "size": "8 GiB"},
            "cloud": cloud,
        }
    )


def price_of(spec: ClusterSpec) -> Bill:
    """What it may cost at most, after everything was asked that can be asked without making anything.

    Raises:
        SpecError: it cannot come up in this account, or may cost more than the budget.
    """
    findings = deploy.check(spec)
    if findings or spec.cloud is None:
        raise SpecError("nothing was made; this account cannot do it:\n  " + "\n  ".join(findings))
    return estimate(spec, price_table(spec.cloud))


def run(
    spec: ClusterSpec,
    tell: Callable[[str], None],
    use: Callable[[DeployedCluster], str] | None = None,
) -> Passed:
    """Bring the cluster up, use it, remove it, and look at what is left in the account.

    Args:
        spec: of the cluster; somebody agreed to its price.
        tell: is given a sentence on each step.
        use: what is done on the cluster; says what came of it. By default a small kernel is measured.

    Raises:
        ClusterError: something of it failed, or the account has something left; with what, and what removes it.
    """
    if spec.cloud is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud")
    measured, failure = "", None
    try:
        tell(f"bringing up {spec.name} in {spec.cloud.region}")
        with deploy.deployed(spec) as cluster:
            findings = cluster.health()
            if findings:
                raise ClusterError(f"{spec.name} is up and not well: {'; '.join(findings)}")
            tell(f"{spec.name} is up; measuring")
            measured = (use or measure_something)(cluster)
            tell(f"{measured}; removing everything")
    except WavetankError as error:
        failure = error
    cloud = registry.cloud(spec.provider, spec.cloud.region)
    left = tuple(each for each in holdings(cloud) if each.key.cluster == spec.name)
    bills = kept_bills(spec.name)
    if left:
        tokens = ", ".join(each.key.token for each in left)
        raise ClusterError(
            f"the account has {sum(each.n_things for each in left)} things of {spec.name} left (token {tokens}): "
            f"'wavetank cluster down {spec.name}', or 'wavetank cluster prune --provider {spec.provider} --region "
            f"{spec.cloud.region} --token {left[0].key.token}'"
            + (f". {failure}" if failure else "")
        ) from failure
    if failure is not None:
        cost = f"computed cost {bills[-1].computed.at_most} USD" if bills else "no instance ran"
        raise ClusterError(
            f"it failed, and the account has nothing of {spec.name} left ({cost}): {failure}"
        ) from failure
    return Passed(measured, bills[-1] if bills else None, left)


def measure_something(cluster: DeployedCluster) -> str:
    """Two ranks on two instances write a file each."""
    kernel = object_kernel("smoke", "write", OBJECT_BYTES, len(cluster.compute_hosts), FILE_BYTES)
    found = measure(set_up(kernel, cluster), "1PxCN", ReplayPerformer(), repetition=0, order=0)
    moved = sum(phase.bytes for phase in found.result.phases)
    rate = format_rate(moved / found.result.elapsed_s)
    return f"{kernel.n_ranks} ranks wrote {moved // MIB} MiB in {found.result.elapsed_s:.2f} s ({rate})"
