"""A kernel's phases as a fio job file: one job for each rank of a phase (fio 3).

fio's psync, sync, pvsync and vsync engines make the calls that the phase makes; "rw=read:SKIP" leaves a
gap after each block, which gives a constant displacement; "rw=randread" takes blocks of a region at random.
Phases of different ranks that overlap in time run together; otherwise a phase waits for the one before (stonewall).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from wavetank.kernel.benchmarks.groups import Group, differences, is_short, overlap
from wavetank.kernel.benchmarks.means import IN_ORDER, MeanOperations, Notes, mean_operations
from wavetank.kernel.benchmarks.open_flags import SECTOR, OpenFlags, OpenMode
from wavetank.kernel.benchmarks.syncs import SyncedWrites, Syncs
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel, Refused
from wavetank.kernel.document.operations import totals
from wavetank.model.document.phase import Phase, Run
from wavetank.notes import Note, note, notes_of

ENGINES = {
    "read": "sync", "write": "sync", "readv": "vsync", "writev": "vsync",
    "pread": "psync", "pwrite": "psync", "preadv": "pvsync", "pwritev": "pvsync",
}  # fmt: skip


_LARGEST_SEED = 2**62
_RANDOM = "random, within the same bytes as the application's, in an order of fio's own."
_ALWAYS = note("replaced", "order", "Ranks meet only where a job waits for all before it; pauses are left out.")  # fmt: skip


@dataclass(frozen=True)
class FioJob:
    """One rank of one phase. Sizes in bytes."""

    ph_id: int
    rank: int
    file: str
    engine: str
    write: bool
    block: int
    offset: int
    skip: int  # from the end of a block to the next one
    count: int
    waits: bool  # for all jobs before it
    half: bool = False  # another job of the same rank does the phase's other direction
    flush: bool = False  # have what it wrote on storage at its end, inside of its time
    sync_every: int = 0  # writes after each of which the file is put on storage; 0: none
    sync_call: str = "fsync"  # or "fdatasync"
    direct: bool = False  # by O_DIRECT
    sync: str = ""  # "sync", "dsync": by O_SYNC, O_DSYNC
    region: int | None = (
        None  # bytes from the offset on in which blocks lie at random; None: they are in order
    )

    @property
    def name(self) -> str:
        """The job's section: phase and rank."""
        verb = ("-write" if self.write else "-read") if self.half else ""
        return f"phase-{self.ph_id}-rank-{self.rank}{verb}"

    def section(self, seed: int = 1) -> str:
        """The job file's section; ``seed`` is that of random places."""
        span = (self.count - 1) * (self.block + self.skip) + self.block
        verb = "write" if self.write else "read"
        lines = [
            f"[{self.name}]",
            *(["stonewall"] if self.waits else []),
            f"filename={escaped(self.file)}",
            f"ioengine={self.engine}",
            f"rw={verb}" + (f":{self.skip}" if self.skip else "")
            if self.region is None
            else f"rw=rand{verb}",
            f"bs={self.block}",
            f"offset={self.offset}",
            f"size={span if self.region is None else self.region}",
            f"io_size={self.count * self.block}",
            f"number_ios={self.count}",
            *([] if self.region is None else self._order(self.region, seed)),
            *([f"{self.sync_call}={self.sync_every}"] if self.sync_every else []),
            *(["end_fsync=1"] if self.flush else []),
            *(["direct=1"] if self.direct else []),
            *([f"sync={self.sync}"] if self.sync else []),
        ]
        return "\n".join(lines)

    def _order(self, region: int, seed: int) -> list[str]:
        """Options of random places: each block at most once, unless there are more operations than blocks."""
        repeats = self.count * self.block > region
        again = ["norandommap=1", "random_generator=tausworthe"] if repeats else []
        return ["randrepeat=0", f"randseed={seed}", *again]  # else fio 3.33 does not heed the seed

    @property
    def n_syncs(self) -> int:
        """Calls that put the file on storage. fio 3 makes none of ``sync_every`` after the last write."""
        return ((self.count - 1) // self.sync_every if self.sync_every else 0) + self.flush

    @property
    def not_on_disk_bytes(self) -> int:
        """What it writes behind its last such call."""
        if not self.write or self.flush:
            return 0
        blocks = (
            self.count - (self.count - 1) // self.sync_every * self.sync_every
            if self.sync_every
            else self.count
        )
        return blocks * self.block

    def operations(self) -> list[Run]:
        """What the job does, in order; at random: as many blocks from the offset on."""
        return [
            Run(
                count=self.count,
                rs=self.block,
                offset=self.offset,
                disp=self.block + self.skip if self.count > 1 else 0,
                moved=self.count * self.block,
            )
        ]


@dataclass(frozen=True)
class FioPlan:
    """A kernel as fio jobs.

    Attributes:
        jobs: in the order of the job file.
        not_reproduced: by phase.
        refused: phases that fio cannot express.
    """

    jobs: tuple[FioJob, ...]
    not_reproduced: dict[int, Notes]
    refused: tuple[Refused, ...]

    def flushed(self) -> FioPlan:
        """The same with an fsync at the end of each rank's last job that writes a file."""
        last = {(job.rank, job.file): job for job in self.jobs if job.write}
        jobs = (
            replace(job, flush=job.flush or last.get((job.rank, job.file)) is job)
            for job in self.jobs
        )
        return replace(self, jobs=tuple(jobs))

    def text(self) -> str:
        """The job file; run it in the directory of the kernel's files."""
        # fio would drop the cache, lay files out beforehand and give hints; the application does not.
        common = [
            "[global]", "thread=0", "invalidate=0", "fadvise_hint=0", "fallocate=none", "create_on_open=1",
            "overwrite=0", "fsync_on_close=0", "allow_file_create=1", "random_generator=lfsr",
        ]  # fmt: skip
        sections = (job.section(seed) for job, seed in zip(self.jobs, self._seeds(), strict=True))
        return "\n\n".join(["\n".join(common), *sections]) + "\n"

    def _seeds(self) -> list[int]:
        """Seeds by which a rank's jobs on one file take random places in the same order.

        fio 3 multiplies a job's seed by the job's number, from 1 on (init.c, setup_random_seeds).
        """
        numbers: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for number, job in enumerate(self.jobs, start=1):
            if job.region is not None:
                numbers[job.rank, job.file].append(number)
        product = {of: lcm(*found) for of, found in numbers.items()}
        of_jobs = [product.get((job.rank, job.file), _LARGEST_SEED) for job in self.jobs]
        return [
            found // number if found < _LARGEST_SEED else 1
            for number, found in enumerate(of_jobs, start=1)
        ]


def escaped(path: str) -> str:
    """A path in a job file: a colon would separate two of them."""
    return path.replace(":", "\\:")


def fio_plan(kernel: Kernel) -> FioPlan:
    """The nearest fio jobs of a kernel."""
    names = {file.file_id: file.name for file in kernel.files}
    files = {file.file_id: file for file in kernel.files}
    jobs: list[FioJob] = []
    notes: dict[int, Notes] = {}
    refused: list[Refused] = []
    before: list[Group] = []
    synced, opened = SyncedWrites(kernel), OpenFlags(kernel)
    for phase in kernel.phases:
        group = Group((phase,), (files[phase.file_id],))
        reason = _refusal(group)
        if reason is not None and not (kernel.approximate and mean_operations(group)):
            refused.append(Refused(ph_ids=(phase.ph_id,), reason=reason))
            continue
        together = bool(before) and all(
            overlap(group, other) and not set(group.ranks()) & set(other.ranks())
            for other in before
        )
        waits = bool(before) and not together
        before = [*before, group] if together else [group]
        if reason is not None:
            approximated, about = _approximated(phase, group, names[phase.file_id], reason, waits)
            approximated, more = _synced(approximated, synced.of(group))
            approximated, of_opens = _opened(approximated, opened.of(group.phases))
            jobs.extend(approximated)
            notes[phase.ph_id] = (*about, *more, *of_opens)
            continue
        made = [
            _job(phase, rank, names[phase.file_id], group.runs(rank) or [], waits and first)
            for first, rank in zip([True, *[False] * phase.ph_np], phase.ph_processid, strict=False)
        ]
        made, more = _synced(made, synced.of(group))
        made, of_opens = _opened(made, opened.of(group.phases))
        jobs.extend(made)
        notes[phase.ph_id] = (*_notes(group, made), *more, *of_opens)
    return FioPlan(tuple(jobs), notes, tuple(refused))


def _synced(jobs: Sequence[FioJob], syncs: Syncs) -> tuple[list[FioJob], Notes]:
    """Jobs that put what they write on storage where the application does, and what of that they do not do."""
    if not syncs.n:
        return list(jobs), ()
    call = "fdatasync" if syncs.names == {"fdatasync"} else "fsync"
    made = [
        replace(
            job, flush=syncs.at_end, sync_call=call,
            sync_every=syncs.every if syncs.every is not None and syncs.every < job.count else 0,
        )
        if job.write else job
        for job in jobs
    ]  # fmt: skip
    notes = []
    n = sum(job.n_syncs for job in made)
    if n != syncs.n:
        notes.append(f"The application syncs {syncs.n} times, fio {n} times.")
    if "fdatasync" in syncs.names and any(job.flush for job in made):
        notes.append("The fdatasync after the last write becomes fsync (end_fsync=1).")
    return made, notes_of("replaced", "syncs", notes)


def _opened(jobs: Sequence[FioJob], mode: OpenMode) -> tuple[list[FioJob], Notes]:
    """Jobs that have their files open as the application does, and what of that they do not do."""
    found = list(mode.unlike())
    direct = mode.direct
    if odd := [job for job in jobs if (job.block | job.offset | job.skip) % SECTOR and direct]:
        direct = False
        found.append(
            f"O_DIRECT is left out: blocks of {odd[0].block} bytes do not lie at multiples of {SECTOR}."
        )
    made = [replace(job, direct=direct, sync=mode.sync) for job in jobs]
    return made, notes_of("replaced", "opens", found)


def _approximated(
    phase: Phase, group: Group, name: str, reason: str, waits: bool
) -> tuple[list[FioJob], list[Note]]:
    """Jobs of equal operations for each direction of a phase that fio cannot express; and what is approximate."""
    means = mean_operations(group)
    jobs: list[FioJob] = []
    notes: list[Note] = []
    for number, mean in enumerate(means):
        engine = ENGINES.get(phase.pattern[0].iop_type, "psync")
        made = [
            FioJob(
                ph_id=phase.ph_id, rank=rank, file=name, engine=engine, write=mean.write, block=mean.size,
                offset=first, skip=0, count=mean.per_rank, waits=task == 0 and (waits or number > 0),
                half=len(means) > 1, region=_region(mean, first, end),
            )
            for task, (rank, first, end) in enumerate(zip(group.ranks(), mean.first, mean.end, strict=True))
        ]  # fmt: skip
        jobs += made
        total = totals(run for job in made for run in job.operations())
        notes += mean.notes(
            reason,
            total,
            mean.size,
            alternates=len(means) > 1,
            offsets=_RANDOM if mean.random else IN_ORDER,
        )
    if phase.level == "mpiio":
        notes.append(note("replaced", "calls", "MPI-IO calls become pread and pwrite."))
    return jobs, [*dict.fromkeys(notes), _ALWAYS]


def _region(mean: MeanOperations, first: int, end: int) -> int | None:
    """Where random operations of one rank lie, whole blocks, bytes: a read does not go past the end of the file."""
    if not mean.random:
        return None
    whole = (end - first) // mean.size if not mean.write else -(-(end - first) // mean.size)
    return max(whole, 1) * mean.size


def _refusal(group: Group) -> str | None:
    phase = group.phases[0]
    if len(phase.pattern) > 1:
        return "it mixes operations in one pattern; fio chooses between reads and writes by chance"
    name = phase.pattern[0].iop_type
    if name not in ENGINES:
        return f"fio has no engine that makes {name}"
    found = (_irregular(rank, group.runs(rank)) for rank in group.ranks())
    return next((reason for reason in found if reason is not None), None)


def _irregular(rank: int, runs: Sequence[Run] | None) -> str | None:
    """Why one size, offset and gap do not describe a rank's operations."""
    if not runs:
        return "its offsets are unknown"
    first = runs[0]
    if first.rs == 0:
        return "its operations move nothing"
    if len(runs) > 1 and not (len(runs) == 2 and runs[1].count == 1 and is_short(runs[1])):
        return f"rank {rank}'s offsets or sizes are irregular ({len(runs)} different stretches)"
    if first.count > 1 and first.disp < first.rs:
        return f"rank {rank} goes back or stays: fio's blocks do not overlap"
    return None


def _job(phase: Phase, rank: int, name: str, runs: Sequence[Run], waits: bool) -> FioJob:
    run = runs[0]
    reads = calls.reads(phase.pattern[0].iop_type)
    # fio reads whole blocks only: the short one at the end of a file is left out.
    whole = sum(one.count for one in runs) - (1 if reads and is_short(runs[-1]) else 0)
    return FioJob(
        ph_id=phase.ph_id, rank=rank, file=name, engine=ENGINES[phase.pattern[0].iop_type], write=not reads,
        block=run.rs, offset=run.offset, skip=max(0, run.disp - run.rs) if run.count > 1 else 0,
        count=max(1, whole), waits=waits,
    )  # fmt: skip


def _notes(group: Group, jobs: Sequence[FioJob]) -> Iterator[Note]:
    yield from differences(group, [job.operations() for job in jobs])
    if sum(group.phases[0].metadata_ops.values()):
        yield note("replaced", "metadata", "Calls that move no data (open, close, seek, ...) become fio's own open and close.")  # fmt: skip
    yield _ALWAYS
