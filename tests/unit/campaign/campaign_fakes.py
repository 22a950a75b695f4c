"""Specifications, plans and deployers that need no machine."""

from pathlib import Path

from measure_fakes import FakeCluster, abyss_kernel

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import Application
from wavetank.campaign.spec import ApplicationEntry, CampaignSpec
from wavetank.compare.knobs import Knobs
from wavetank.errors import ClusterError
from wavetank.kernel.lowering.kernel_hash import kernel_hash


def app(kernel, name="ABYSS-P"):
    return Application(name, kernel, kernel_hash(kernel), None)


APPLICATION = app(abyss_kernel())


def spec(**more):
    fields = {
        "name": "test",
        "applications": (ApplicationEntry(kernel=Path("k.json")),),
        "clusters": (Path("a.yaml"),),
        "mappings": ("1PxCN", "2PxCN"),
        "repetitions": 3,
        "seed": 7,
    }
    return CampaignSpec(**(fields | more))


def facts(name, *, n_compute=2, instance_type="c3.2xlarge", **more):
    fields = {
        "title": name,
        "key": f"key-{name}",
        "compute_nodes": tuple(f"c{i + 1}" for i in range(n_compute)),
        "cores_per_node": 8,
        "capacity_bytes": 2**31,
        "is_global": True,
        "expected_up_s": 10.0,
        "knobs": Knobs({"name": name}),
        "instances": {instance_type: n_compute + 1},
    }
    return ClusterFacts(
        name=name,
        instance_type=instance_type,
        **(fields | more),
    )


class FakeDeployer:
    """Remembers what is up; a name in ``broken`` does not come up; limits by name; one in ``stuck`` stays, once it is begun."""

    def __init__(self, broken=(), limits=None, stuck=()):
        self.broken = broken
        self.stuck = stuck
        self.limits = limits or {}
        self.up_now = []
        self.log = []

    def up(self, cluster):
        self.log.append(("up", cluster))
        if cluster in self.broken:
            if cluster in self.stuck:
                self.up_now.append(cluster)
            raise ClusterError("io1: glusterd died")
        self.up_now.append(cluster)
        return FakeCluster(cluster, limits=self.limits.get(cluster))

    def down(self, cluster):
        self.log.append(("down", cluster))
        if cluster in self.stuck:
            raise ClusterError("the account does not accept the credentials")
        self.up_now.remove(cluster)

    def is_there(self, cluster):
        return cluster in self.up_now


class FakeObserver:
    def __init__(self):
        self.said = []
        self.seen = []

    def says(self, text):
        self.said.append(text)

    def at(self, n_done, n_runs, remaining_s):
        self.seen.append((n_done, n_runs, remaining_s))
