"""A study that needs no machine: groups that share one limit evenly, in a fake performer."""

from pathlib import Path

from campaign_fakes import FakeDeployer, FakeObserver, facts
from measure_fakes import FakeCluster

from wavetank.campaign.results_folder import write_store
from wavetank.interfere.comparison import compare_study
from wavetank.interfere.plan import make_group, make_plan
from wavetank.interfere.run import run_study
from wavetank.interfere.spec import InterfereSpec
from wavetank.kernel.execution.session import RankProgress, SessionRun
from wavetank.kernel.results.result import NO_IO, LatencySummary, PhaseResult, ReplayResult

MB = 10**6
LIMIT = 40 * MB  # bytes/s, of the one server that all share
BIN_S = 0.01
LATENCY = LatencySummary(p50_s=0.01, p95_s=0.02, p99_s=0.03, max_s=0.04)


def spec(**more):
    fields = {
        "name": "study",
        "groups": [
            {"name": "fg", "clients": 2, "objects": {"size": 10**6, "file_size": 10**7}},
            {"name": "bg", "clients": 2, "objects": {"size": 10**6, "file_size": 10**7}},
        ],
        "clusters": ["a.yaml"],
        "duration": 4,
        "settle": 0.5,
    }
    return InterfereSpec.model_validate(fields | more)


def plan_of(said, *clusters, kernels=None):
    groups = [
        make_group(entry, said.object_sizes, (kernels or {}).get(entry.name))
        for entry in said.groups
    ]
    return make_plan(said, groups, clusters or (facts("a", n_compute=4),))


class FairPerformer:
    """Parties that transfer at the same time share LIMIT by their number; a pause frees the others.

    A party that waits ``interval`` after each object of 1 MB is under way for the share d/(d + interval) of the
    time, d being the time of its object; the others have the rest of the limit.
    """

    def __init__(self, late_s=(), broken=()):
        self.late_s = list(late_s)  # of the next runs
        self.broken = broken  # groups that fail
        self.calls = []
        self.closed = 0

    def perform(self, parties, duration_s):
        self.calls.append((tuple(party.group for party in parties), duration_s))
        for party in parties:
            if party.group in self.broken:
                from wavetank.errors import KernelError

                raise KernelError(f"{party.group} failed: rank 0: no space left")
        late_s = self.late_s.pop(0) if self.late_s else 0.0
        if duration_s is None:
            return self._to_completion(parties, late_s)
        return [
            _run(party, self.rate(party, parties), duration_s, late_s, self.busy(party, parties))
            for party in parties
        ]

    def busy(self, party, parties):
        """Share of the time in which a party transfers."""
        own = LIMIT / len(parties)
        object_s = party.bench.kernel.n_ranks * MB / own
        return object_s / (object_s + (party.interval_s or 0.0))

    def rate(self, party, parties):
        taken = sum(
            LIMIT / len(parties) * self.busy(other, parties)
            for other in parties
            if other is not party and other.interval_s
        )
        waiting = [other for other in parties if other.interval_s]
        if party in waiting:
            return LIMIT / len(parties) * self.busy(party, parties)
        return (LIMIT - taken) / (len(parties) - len(waiting))

    def _to_completion(self, parties, late_s):
        """Each moves its kernel's bytes once; two share the limit while both are under way."""
        left = {
            id(party): float(sum(phase.ph_weight for phase in party.bench.kernel.phases))
            for party in parties
        }
        weight = dict(left)
        end, now = {}, 0.0
        while left:
            active = [p for p in parties if id(p) in left and p.start_s <= now]
            starts = [p.start_s for p in parties if id(p) in left and p.start_s > now]
            if not active:
                now = min(starts)
                continue
            share = LIMIT / len(active)
            step = min([left[id(p)] / share for p in active] + [s - now for s in starts])
            now += step
            for party in active:
                left[id(party)] -= share * step
                if left[id(party)] <= 1e-6:
                    end[id(party)] = now
                    del left[id(party)]
        return [
            _run(p, weight[id(p)] / (end[id(p)] - p.start_s), end[id(p)] - p.start_s, late_s, 1.0)
            for p in parties
        ]

    def clock_error_s(self):
        return 0.0

    def versions(self):
        return {"openmpi": "fake"}

    def close(self):
        self.closed += 1


def _run(party, rate, duration_s, late_s, busy):
    n_ranks = party.bench.kernel.n_ranks
    n_bins = round(duration_s / BIN_S)
    per_bin = (round(rate * BIN_S / n_ranks), BIN_S * busy)
    loop_s = sum(phase.ph_weight for phase in party.bench.kernel.phases) / rate
    loops = tuple((n * loop_s, (n + 1) * loop_s) for n in range(int(round(duration_s / loop_s, 6))))
    ranks = tuple(
        RankProgress(
            begun_s=late_s if rank == 0 else 0.0,
            ended_s=duration_s,
            bin_s=BIN_S,
            bins=(per_bin,) * n_bins,
            loops=loops,
        )
        for rank in range(n_ranks)
    )
    moved = round(rate * duration_s)
    phase = PhaseResult(
        ph_id=1, bytes=moved, operations=max(moved // MB, 1), time_s=duration_s,
        rate_bytes_per_s=rate, iops=1.0, latency=LATENCY, ranks=(),
    )  # fmt: skip
    io = NO_IO.model_copy(update={"total_s": duration_s, "data_s": duration_s})
    result = ReplayResult(
        status="ok", elapsed_s=duration_s, metadata_time_s=0.0, io=io, phases=(phase,), settings={}
    )
    return SessionRun(result=result, ranks=ranks, latency=LATENCY)


class StudyDeployer(FakeDeployer):
    def up(self, cluster):
        super().up(cluster)
        return FakeCluster(cluster, n_compute=8, n_io=2)


def run(said, plan, folder, performer=None, deployer=None, watch=None):
    """Run a study on fakes; gives its outcome, comparison, performer, deployer and observer."""
    performer, deployer = performer or FairPerformer(), deployer or StudyDeployer()
    observer = FakeObserver()
    with write_store(Path(folder)) as store:
        outcome = run_study(
            said,
            plan,
            store,
            deployer=deployer,
            performer=performer,
            observer=observer,
            watch=watch,
        )
        comparison = compare_study(said, plan, store)
    return outcome, comparison, performer, deployer, observer
