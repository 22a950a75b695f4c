"""Operations per second of the replay program, of fio's psync engine and of IOR, on the same files.

    .venv/bin/python benchmarks/replay/against_fio_and_ior.py [--repetitions 5] [--bytes 268435456] DIRECTORY...

Name a directory on a local disk (its files stay in the page cache) and one on tmpfs. Prints the ratio
replay / other for each request size, direction and number of ranks; at least 1.0 is the target. The
programs take turns, so that a busy moment meets all of them; the replay has two turns of each round, and the
ratio of the second to the first is the noise that the other ratios have too. IOR takes part where `ior` is
on the PATH.

All three move the same bytes of the same files, as often, by calls with an offset (IOR: lseek, and read or write) from one
buffer that is there beforehand; a file is opened once by the replay and fio, and before each pass, outside of its times, by IOR.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from wavetank.document import provenance
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.execution.replay import run_replay
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.launchers.registry import launcher
from wavetank.model.document.phase import LinearOffsets, PatternMember, Phase
from wavetank.model.document.program import DataStep, FileStep, Program

SIZES = {"4 KiB": 4096, "8 KiB": 8192, "1 MiB": 1 << 20}
PASSES = {"4 KiB": 4, "8 KiB": 6, "1 MiB": 12}  # so that a run takes some tenths of a second
Run = Callable[[], float]


def kernel_of(verb: str, rs: int, ranks: int, total: int, passes: int) -> Kernel:
    """Each rank reads or writes a file of its own, consecutively, several times."""
    count = total // ranks // rs
    flags = 0 if verb == "read" else 0o101 | 1  # O_CREAT | O_WRONLY, onto what is there
    ph_id = {(r, n): r * passes + n + 1 for r in range(ranks) for n in range(passes)}
    return Kernel(
        provenance=provenance(), application="benchmark", model_sha256="0" * 64, n_ranks=ranks,
        files=tuple(
            KernelFile(file_id=r + 1, name=f"data.{r}", role="both", prepare_bytes=count * rs) for r in range(ranks)
        ),
        phases=tuple(
            Phase(
                ph_id=number, file_id=r + 1, level="posix", ph_processid=(r,), ph_np=1, ph_weight=count * rs,
                ph_nrep=count, ph_niop=count,
                pattern=(PatternMember(iop_type="p" + verb, rs=rs, disp=rs, dist=None),),
                offset=(LinearOffsets(a=0, b=rs, c=0),), exact=True, tick_first=0, tick_last=0, start_s=None,
                end_s=None, io_time_s=None,
            )
            for (r, _), number in ph_id.items()
        ),
        programs=tuple(
            Program(
                ranks=(r,),
                steps=(
                    FileStep(iop_type="open", file_id=r + 1, handle=0, flags=flags),
                    *(DataStep(ph_id=ph_id[r, n], n=count) for n in range(passes)),
                    FileStep(iop_type="close", file_id=r + 1, handle=0),
                ),
            )
            for r in range(ranks)
        ),
        capacity_bytes=total,
    )  # fmt: skip


def replay(kernel: Kernel, root: Path, scratch: Path) -> float:
    """Operations per second: all operations over the time of the slowest rank."""
    starter = launcher("none" if kernel.n_ranks == 1 else "openmpi")
    result = run_replay(kernel, root, starter, scratch)
    if result.status != "ok":
        sys.exit(f"the replay failed: {result.failure}")
    spans: dict[int, list[float]] = {}
    for phase in result.phases:
        for rank in phase.ranks:
            spans.setdefault(rank.rank, []).extend((rank.start_s, rank.end_s))
    slowest = max(max(times) - min(times) for times in spans.values())
    return sum(phase.operations for phase in result.phases) / slowest


def fio(verb: str, rs: int, ranks: int, total: int, passes: int, root: Path) -> float:
    """The same by fio's psync engine (pread, pwrite), a job for each rank.

    The jobs are threads: as processes each makes itself a session, and where the operating system shares
    processors by session (sched_autogroup) that is twice the time that the ranks of one mpirun get.
    """
    jobs = [
        word
        for r in range(ranks)
        for word in (f"--name=j{r}", f"--filename={root}/data.{r}", f"--rw={verb}", f"--bs={rs}",
                     f"--size={total // ranks // rs * rs}", "--ioengine=psync", "--overwrite=1", "--invalidate=0",
                     f"--loops={passes}")
    ]  # fmt: skip
    found = subprocess.run(
        ["fio", "--thread", "--output-format=json", *jobs],
        check=True,
        capture_output=True,
        text=True,
    )
    parts = [job[verb] for job in json.loads(found.stdout)["jobs"]]
    # runtime is in whole ms; iops is reckoned by fio from us
    slowest = max(part["total_ios"] / part["iops"] for part in parts)
    return float(sum(part["total_ios"] for part in parts) / slowest)


def ior(verb: str, rs: int, ranks: int, total: int, passes: int, root: Path) -> float:
    """The same by IOR: -F names its files ior.0000000N, made from ours."""
    for r in range(ranks):
        (root / f"ior.{r:08d}").unlink(missing_ok=True)
        (root / f"ior.{r:08d}").hardlink_to(root / f"data.{r}")
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    # IOR's warnings go into the middle of its JSON on standard output, so that goes into a file.
    summary = root / "ior.json"
    words = ["ior", "-a", "POSIX", "-F", "-k", "-E", "-r" if verb == "read" else "-w", "-s", "1", "-t", str(rs), "-b",
             str(total // ranks // rs * rs), "-i", str(passes), "-o", f"{root}/ior", "-O",
             f"summaryFormat=JSON,summaryFile={summary}"]  # fmt: skip
    subprocess.run([*mpirun, *words], check=True, capture_output=True)
    rates = [
        float(one["iops"])  # its times have four decimals only
        for test in json.loads(summary.read_text())["tests"]
        for one in test["Results"]
        if one["access"] == verb
    ]
    return statistics.harmonic_mean(rates)  # over all passes


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--bytes", type=int, default=256 << 20)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), metavar="SIZE")
    parser.add_argument("--verbs", nargs="+", choices=["read", "write"], default=["read", "write"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 4])
    arguments = parser.parse_args()
    print("medians of the ratios of neighbouring runs, and in brackets their quartiles")
    print(
        f"{'where':14} {'size':6} {'verb':6} ranks {'replay op/s':>12} {'/ fio psync':>17} {'/ IOR':>17} {'/ itself':>17}"
    )
    for directory in arguments.directories:
        for name in arguments.sizes:
            for verb in arguments.verbs:
                for ranks in arguments.ranks:
                    measure(directory, name, SIZES[name], verb, ranks, arguments)


def measure(
    directory: Path, name: str, rs: int, verb: str, ranks: int, arguments: argparse.Namespace
) -> None:
    """One row."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="wavetank-bench-") as folder:
        root, total, passes = Path(folder), arguments.bytes, PASSES[name]
        kernel = kernel_of(verb, rs, ranks, total, passes)
        prepare_files(kernel, root)
        ours: list[tuple[str, Run]] = [("replay", lambda: replay(kernel, root, root))]
        again: list[tuple[str, Run]] = [("again", lambda: replay(kernel, root, root))]
        others: list[tuple[str, Run]] = [("fio", lambda: fio(verb, rs, ranks, total, passes, root))]
        if shutil.which("ior"):
            others.append(("ior", lambda: ior(verb, rs, ranks, total, passes, root)))
        rates: dict[str, list[float]] = {program: [] for program, _ in [*ours, *others, *again]}
        for repetition in range(arguments.repetitions):
            turn = [*ours, *others, *again]
            for program, run in turn if repetition % 2 == 0 else reversed(turn):
                rates[program].append(run())
    print(
        f"{directory!s:14} {name:6} {verb:6} {ranks:5} {statistics.median(rates['replay']):12.0f} "
        f"{paired(rates, 'fio')} {paired(rates, 'ior')} {paired(rates, 'again')}",
        flush=True,
    )


def paired(rates: dict[str, list[float]], other: str) -> str:
    """The median of the ratios of runs that followed each other, and in brackets their quartiles."""
    if other not in rates:
        return f"{'-':>18}"
    both = zip(rates["replay"], rates["again"], strict=True)  # the other's neighbours
    mine = rates["replay"] if other == "again" else [statistics.fmean(pair) for pair in both]
    ratios = [ours / theirs for ours, theirs in zip(mine, rates[other], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:5.2f} ({low:4.2f}-{high:4.2f})"


if __name__ == "__main__":
    main()
