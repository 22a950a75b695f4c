"""A kernel like ABySS's, and a cluster that only remembers what was asked of it."""

from __future__ import annotations

from wavetank.cluster.host import Finished, Host
from wavetank.document import HostFacts, Provenance
from wavetank.errors import RemoteCommandError
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.results.io_time import phases_time_s
from wavetank.kernel.results.result import (
    IoTime,
    LatencySummary,
    PhaseResult,
    RankPhaseResult,
    ReplayResult,
)
from wavetank.measure.disturbance import MachineLoad
from wavetank.model.document.phase import LinearOffsets, PatternMember, Phase

MB = 10**6
LATENCY = LatencySummary(p50_s=1e-4, p95_s=2e-4, p99_s=3e-4, max_s=1e-3)
PROVENANCE = Provenance(
    tool_version="0",
    tool_commit=None,
    command="test",
    created_utc="2026-01-01T00:00:00+00:00",
    host=HostFacts(
        hostname="h", kernel="6", machine="x86_64", cpu_model=None, n_cpus=2, memory_bytes=1
    ),
)


def phase(ph_id, file_id, ranks, weight, *, iop_type="read", rs=8191):
    return Phase(
        ph_id=ph_id,
        file_id=file_id,
        level="posix",
        ph_processid=tuple(ranks),
        ph_np=len(ranks),
        ph_weight=weight,
        ph_nrep=max(weight // rs // len(ranks), 1),
        ph_niop=max(weight // rs // len(ranks), 1),
        pattern=(
            PatternMember(iop_type=iop_type, rs=rs, disp=rs, dist=(0, 1)),
        ),
        offset=(LinearOffsets(a=0, b=rs, c=0),),
        exact=True,
        tick_first=0,
        tick_last=0,
        start_s=None,
        end_s=None,
        io_time_s=None,
    )  # fmt: skip


def abyss_kernel(n_ranks=4, weight=27 * MB, application="ABYSS-P"):
    """Ranks 0 and 1 read a file each; every rank writes a little at the end."""
    outputs = [
        KernelFile(file_id=3 + rank, name=f"contigs-{rank}.fa", role="output", prepare_bytes=0)
        for rank in range(n_ranks)
    ]
    return Kernel(
        provenance=PROVENANCE,
        application=application,
        model_sha256="0" * 64,
        n_ranks=n_ranks,
        files=(
            KernelFile(file_id=1, name="reads1.fastq", role="input", prepare_bytes=weight),
            KernelFile(file_id=2, name="reads2.fastq", role="input", prepare_bytes=weight),
            *outputs,
        ),
        phases=(
            phase(1, 1, [0], weight),
            phase(2, 2, [min(1, n_ranks - 1)], weight),
            *(
                phase(3 + rank, 3 + rank, [rank], 20_000, iop_type="write", rs=4096)
                for rank in range(n_ranks)
            ),
        ),
        programs=(),
        capacity_bytes=2 * weight + n_ranks * 20_000,
    )


def phase_result(ph_id, size, start_s, end_s, *, rank=0, host="c1", operations=1000):
    time_s = end_s - start_s
    return PhaseResult(
        ph_id=ph_id,
        bytes=size,
        operations=operations,
        time_s=time_s,
        rate_bytes_per_s=size / time_s,
        iops=operations / time_s,
        latency=LATENCY,
        ranks=(
            RankPhaseResult(
                rank=rank,
                host=host,
                bytes=size,
                operations=operations,
                io_time_s=time_s,
                start_s=start_s,
                end_s=end_s,
                latency=LATENCY,
            ),
        ),
    )


def replay_result(*phases, metadata_s=0.0, flush_s=0.0, not_on_disk_bytes=0):
    data_s = phases_time_s(phases)
    return ReplayResult(
        io=IoTime(
            total_s=data_s + metadata_s + flush_s,
            data_s=data_s,
            metadata_s=metadata_s,
            flush_s=flush_s,
            not_on_disk_bytes=not_on_disk_bytes,
        ),
        status="ok",
        elapsed_s=max((rank.end_s for each in phases for rank in each.ranks), default=0.0),
        metadata_time_s=0.0,
        phases=tuple(phases),
        settings={"pauses": "dropped"},
    )


def abyss_result(kernel, read_s=1.0, hosts=("c1", "c2", "c1", "c2")):
    """Both readers at once for ``read_s``, then all writers at once for 0.1 s."""
    phases = []
    for each in kernel.phases:
        rank = each.ph_processid[0]
        reads = each.pattern[0].iop_type == "read"
        start, end = (0.0, read_s) if reads else (read_s, read_s + 0.1)
        phases.append(
            phase_result(
                each.ph_id, each.ph_weight, start, end, rank=rank, host=hosts[rank],
                operations=each.ph_niop,
            )
        )  # fmt: skip
    return replay_result(*phases)


class FakeHost(Host):
    def __init__(self, name, log):
        self.name = name
        self.address = "10.0.0.1"
        self.log = log
        self.fails_on = None

    def run(self, argv, *, timeout_s=60.0, env=None, stdin=""):
        del timeout_s, env, stdin
        if self.fails_on is not None and argv[0] == self.fails_on:
            raise RemoteCommandError(self.name, argv, 1, "no")
        self.log.append((self.name, *argv))
        return Finished("", "", 0.0)


class FakeCluster:
    """Remembers the order of what happens in ``log``."""

    is_global = on_this_machine = False

    def __init__(self, name="nfs", n_compute=2, n_io=1, limits=None, health=()):
        self.log = []
        self.name = name
        self.spec_sha256 = "c" * 64
        self.instance_type = "c3.2xlarge"
        self.n_instances = n_compute + n_io
        self.compute_hosts = tuple(FakeHost(f"c{i + 1}", self.log) for i in range(n_compute))
        self.io_hosts = tuple(FakeHost(f"io{i + 1}", self.log) for i in range(n_io))
        self.mount_path = "/wavetank"
        self.remote_shell = ("rsh",)
        self.launcher_prefix = ()
        self.network = "10.0.0.0/24"
        self._limits = {"disk": "100 MB/s each way"} if limits is None else limits
        self._health = list(health)
        self.storage_hosts, self.storage_path, self.storage_paths = (), "/storage", ("/storage",)
        self.scratch_path = self.launcher_address = self.n_beside = None
        self.environment = {}
        self.placed = []

    def settings(self):
        return {"file system": "fake"}

    def limits(self):
        return self._limits

    def drop_caches(self):
        self.log.append(("drop_caches",))
        return "by pretending"

    def place_files(self, sizes):
        if sizes:
            self.log.append(("place", *sizes))
        self.placed.append(dict(sizes))
        return dict.fromkeys(sizes, "io1")

    def health(self):
        return self._health

    def lost(self):
        return []

    def record_counters(self, every_s):
        return None


class FakePerformer:
    """Gives the results of a list in turn, the last one again and again."""

    def __init__(self, *results, log=None):
        self.results = list(results)
        self.calls = []
        self.log = log

    def perform(self, kernel, root, placement):
        self.calls.append((kernel, root, placement))
        if self.log is not None:
            self.log.append(("perform",))
        result = self.results[0] if len(self.results) == 1 else self.results.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result(kernel) if callable(result) else result

    def versions(self):
        return {"openmpi": "fake"}


class Watch:
    """A machine that is busy around some measurements, by their number."""

    def __init__(self, *busy):
        self.busy = busy
        self.n = -1

    def before(self, elsewhere=(), nodes_cpu_s=None):
        self.n += 1
        return self.n

    def after(self, n):
        disturbed = ("60 % of the processors were busy just before",) if n in self.busy else ()
        return MachineLoad(
            processors=2, load_average=1.0, busy_before=0.6 if disturbed else 0.0, busy_after=0.0,
            busy_over=0.5, stolen_over=0.0, pressure_before=None, pressure_over=None,
            disturbed=disturbed,
        )  # fmt: skip
