"""Operations per second of the replay program, of fio's psync engine and of IOR, on the same files.

    .venv/bin/python benchmarks/replay/against_fio_and_ior.py [--repetitions 5] [--bytes 268435456] DIRECTORY...

Name a directory on a local disk (its files stay in the page cache) and one on tmpfs. Prints the ratio
replay / other for each request size, direction and number of ranks; at least 1.0 is the target. The
programs take turns, so that a busy moment meets all of them. IOR takes part where `ior` is on the PATH.
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
from wavetank.kernel.plan import Kernel, KernelFile
from wavetank.kernel.prepare import prepare_files
from wavetank.kernel.replay import run_replay
from wavetank.launchers.registry import launcher
from wavetank.model.phase import (
    DataStep,
    FileStep,
    LinearOffsets,
    PatternMember,
    Phase,
    Program,
)

SIZES = {"4 KiB": 4096, "8 KiB": 8192, "1 MiB": 1 << 20}
Run = Callable[[], float]


def kernel_of(verb: str, rs: int, ranks: int, total: int) -> Kernel:
    """Each rank reads or writes a file of its own, consecutively."""
    count = total // ranks // rs
    flags = 0 if verb == "read" else 0o101 | 1  # O_CREAT | O_WRONLY, onto what is there
    return Kernel(
        provenance=provenance(), application="benchmark", model_sha256="0" * 64, n_ranks=ranks,
        files=tuple(
            KernelFile(file_id=r + 1, name=f"data.{r}", role="both", prepare_bytes=count * rs) for r in range(ranks)
        ),
        phases=tuple(
            Phase(
                ph_id=r + 1, file_id=r + 1, level="posix", ph_processid=(r,), ph_np=1, ph_weight=count * rs,
                ph_nrep=count, ph_niop=count,
                pattern=(PatternMember(iop_type="p" + verb, rs=rs, disp=rs, dist=None),),
                offset=(LinearOffsets(a=0, b=rs, c=0),), exact=True, tick_first=0, tick_last=0, start_s=None,
                end_s=None, io_time_s=None,
            )
            for r in range(ranks)
        ),
        programs=tuple(
            Program(
                ranks=(r,),
                steps=(
                    FileStep(iop_type="open", file_id=r + 1, handle=0, arg=flags),
                    DataStep(ph_id=r + 1, n=count),
                    FileStep(iop_type="close", file_id=r + 1, handle=0),
                ),
            )
            for r in range(ranks)
        ),
        capacity_bytes=total, not_reproduced=(),
    )  # fmt: skip


def replay(kernel: Kernel, root: Path, scratch: Path) -> float:
    """Operations per second: all operations over the time from the first start to the last end."""
    starter = launcher("none" if kernel.n_ranks == 1 else "openmpi")
    result = run_replay(kernel, root, starter, scratch)
    if result.status != "ok":
        sys.exit(f"the replay failed: {result.failure}")
    starts = [rank.start_s for phase in result.phases for rank in phase.ranks]
    ends = [rank.end_s for phase in result.phases for rank in phase.ranks]
    return sum(phase.operations for phase in result.phases) / (max(ends) - min(starts))


def fio(verb: str, rs: int, ranks: int, total: int, root: Path) -> float:
    """The same by fio's psync engine (pread, pwrite), a job for each rank."""
    jobs = [
        word
        for r in range(ranks)
        for word in (f"--name=j{r}", f"--filename={root}/data.{r}", f"--rw={verb}", f"--bs={rs}",
                     f"--size={total // ranks // rs * rs}", "--ioengine=psync", "--overwrite=1", "--invalidate=0")
    ]  # fmt: skip
    found = subprocess.run(
        ["fio", "--output-format=json", *jobs], check=True, capture_output=True, text=True
    )
    parts = [job[verb] for job in json.loads(found.stdout)["jobs"]]
    # runtime is in whole ms; iops is reckoned by fio from us
    if ranks == 1:
        return float(parts[0]["iops"])
    return float(
        sum(part["total_ios"] for part in parts)
        / max(part["total_ios"] / part["iops"] for part in parts)
    )


def ior(verb: str, rs: int, ranks: int, total: int, root: Path) -> float:
    """The same by IOR: -F names its files data.0000000N, made from ours."""
    for r in range(ranks):
        (root / f"ior.{r:08d}").unlink(missing_ok=True)
        (root / f"ior.{r:08d}").hardlink_to(root / f"data.{r}")
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    # IOR's warnings go into the middle of its JSON on standard output, so that goes into a file.
    summary = root / "ior.json"
    words = ["ior", "-a", "POSIX", "-F", "-k", "-E", "-r" if verb == "read" else "-w", "-s", "1", "-t", str(rs), "-b",
             str(total // ranks // rs * rs), "-o", f"{root}/ior", "-O",
             f"summaryFormat=JSON,summaryFile={summary}"]  # fmt: skip
    subprocess.run([*mpirun, *words], check=True, capture_output=True)
    (result,) = (
        one
        for test in json.loads(summary.read_text())["tests"]
        for one in test["Results"]
        if one["access"] == verb
    )
    return float(result["iops"])  # its times have four decimals only


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=256 << 20)
    arguments = parser.parse_args()
    print("ratios of the medians, and in brackets of each program's best")
    print(
        f"{'where':14} {'size':6} {'verb':6} ranks {'replay op/s':>12} {'/ fio psync':>15} {'/ IOR':>15}"
    )
    for directory in arguments.directories:
        for name, rs in SIZES.items():
            for verb in ("read", "write"):
                for ranks in (1, 4):
                    measure(directory, name, rs, verb, ranks, arguments)


def measure(
    directory: Path, name: str, rs: int, verb: str, ranks: int, arguments: argparse.Namespace
) -> None:
    """One row."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="wavetank-bench-") as folder:
        root, total = Path(folder), arguments.bytes
        kernel = kernel_of(verb, rs, ranks, total)
        prepare_files(kernel, root)
        programs: dict[str, Run] = {
            "replay": lambda: replay(kernel, root, root),
            "fio": lambda: fio(verb, rs, ranks, total, root),
        }
        if shutil.which("ior"):
            programs["ior"] = lambda: ior(verb, rs, ranks, total, root)
        rates: dict[str, list[float]] = {program: [] for program in programs}
        for _ in range(arguments.repetitions):
            for program, run in programs.items():
                rates[program].append(run())
    middle = {program: statistics.median(found) for program, found in rates.items()}
    best = {program: max(found) for program, found in rates.items()}
    ratios = " ".join(
        f"{middle['replay'] / middle[other]:8.2f} ({best['replay'] / best[other]:4.2f})"
        if other in middle
        else f"{'-':>15}"
        for other in ("fio", "ior")
    )
    print(
        f"{directory!s:14} {name:6} {verb:6} {ranks:5} {middle['replay']:12.0f} {ratios}",
        flush=True,
    )


if __name__ == "__main__":
    main()
