"""What tracing costs: added ns an operation, bytes an operation, the run time of ABYSS-P.

    .venv/bin/python benchmarks/tracer/run.py [--operations N] [--repeat 7] [--kinds KIND ...] [--no-calls] [--darshan LIBRARY]
        [--abyss READS1 READS2]

Every number is a median over paired runs in one session, against the same program without a tracer, and
against DFTracer (the package dftracer of this Python, or DFTRACER_PRELOAD=path of libdftracer_preload.so), Darshan
(libdarshan.so where the dynamic linker finds it, --darshan or DARSHAN_PRELOAD=path) and strace where they are installed.
Darshan has memory for all segments, and is told to record below /dev, which it leaves out by itself; how many
segments its log holds is said where they are not all.
--no-calls: the calls themselves do nothing (no_calls.c), so that only the tracers' own time is left; caches stay warm.
"added" is by the clock, "cpu" is the process's own processor time, which other work on the machine disturbs less.
Memory is what the traced process had at most, more than the untraced one. The limits of this project:
70 ns an operation that moves data or is one of a loop of several, 50 ns an lseek, 120 ns an irregular operation (random
sizes and places, or random places alone), 5 bytes an irregular operation, 8 MiB of memory. Kinds of calls on names
(create, open, stat) are of a twentieth as many files; their memory grows by 64 bytes a name past 49,152.
"""

from __future__ import annotations

import argparse
import ctypes.util
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wavetank import native
from wavetank.trace.open import open_trace

HERE = Path(__file__).resolve().parent
ON_NAMES = ("create", "open", "stat")
KINDS = ("read", "pwrite", "lseek", "loop", "irregular", "random", *ON_NAMES)
MOVING = (
    "read",
    "pwrite",
    "irregular",
    "random",
)  # of which every operation is a segment of Darshan's
DARSHAN = """MODMEM 256
NAMEMEM 32
MAX_RECORDS 200000 POSIX,STDIO,DXT_POSIX
NAME_INCLUDE benchmark.bin$,f[0-9]+$ *
"""
"""Configuration of Darshan: 256 MiB hold 6 million segments of 40 bytes."""


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def tracers(where: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Name -> (command prefix, environment); output below ``where``/out."""
    out = where / "out"
    ours = native.find("lib/libwavetank-trace.so", "measure it")
    found: dict[str, tuple[list[str], dict[str, str]]] = {
        "none": ([], {}),
        "wavetank": ([], {"LD_PRELOAD": str(ours), "WAVETANK_TRACE_DIR": str(out), "WAVETANK_TRACE_INCLUDE": str(where / "data")}),
    }  # fmt: skip
    if dftracer := os.environ.get("DFTRACER_PRELOAD") or _dftracer():
        base = {"LD_PRELOAD": dftracer, "DFTRACER_ENABLE": "1", "DFTRACER_INIT": "PRELOAD", "DFTRACER_DATA_DIR": "all",
                "DFTRACER_LOG_FILE": str(out / "trace")}  # fmt: skip
        found["DFTracer"] = ([], base)
        found["DFTracer, metadata"] = ([], {**base, "DFTRACER_INC_METADATA": "1"})
    if darshan := os.environ.get("DARSHAN_PRELOAD") or ctypes.util.find_library("darshan"):
        found["Darshan, DXT"] = ([], {
            "LD_PRELOAD": darshan, "DARSHAN_ENABLE_NONMPI": "1", "DXT_ENABLE_IO_TRACE": "1",
            "DARSHAN_LOGFILE": str(out / "log.darshan"), "DARSHAN_CONFIG_PATH": str(where / "darshan.conf"),
        })  # fmt: skip
    if shutil.which("strace"):
        found["strace"] = (["strace", "-f", "-ttt", "-y", "-T", "-o", str(out / "strace")], {})
    return found


def kept(where: Path) -> int:
    """Segments in Darshan's log of the last run."""
    return int(open_trace(where / "out" / "log.darshan").folds.count.sum())


def _dftracer() -> str | None:
    found = importlib.util.find_spec("dftracer")
    folders = found.submodule_search_locations if found else None
    for folder in folders or ():
        for library in Path(folder).rglob("libdftracer_preload.so"):
            return str(library)
    return None


def one(
    program: Path,
    where: Path,
    tracer: tuple[list[str], dict[str, str]],
    n: int,
    kind: str,
    below: str,
) -> tuple[float, int, int, float]:
    """(ns an operation, bytes of trace, KiB of memory, ns of processor an operation) of one run.

    ``below``: a library to preload behind the tracer, or "".
    """
    out = where / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    preload = " ".join(filter(None, (tracer[1].get("LD_PRELOAD"), below)))
    env = {**os.environ, **tracer[1], **({"LD_PRELOAD": preload} if preload else {})}
    done = subprocess.run(
        [*tracer[0], str(program), str(where / "data"), str(n), kind], env=env,
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    ns, cpu_ns, memory = done.stdout.split()
    return float(ns), size_of(out), int(memory), float(cpu_ns)


def operations(where: Path, n: int, repeat: int, kinds: list[str], no_calls: bool) -> None:
    program, below = where / "operations", ""
    subprocess.run(["cc", "-O2", "-o", str(program), str(HERE / "operations.c")], check=True)
    if no_calls:
        below = str(where / "no_calls.so")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", below, str(HERE / "no_calls.c")], check=True
        )
    print(
        f"{'operation':<12}{'tracer':<22}{'ns/op':>9}{'added':>9}{'cpu':>9}{'ratio':>8}{'bytes/op':>10}{'memory':>12}"
    )
    for kind in kinds:
        samples: dict[str, list[float]] = {}
        sizes: dict[str, float] = {}
        memory: dict[str, list[int]] = {}
        cpu: dict[str, list[float]] = {}
        for _ in range(repeat):
            for name, tracer in tracers(
                where
            ).items():  # side by side: what disturbs one disturbs all
                if name == "strace" and no_calls:
                    continue  # it sees system calls, of which there are none
                count = max(1, n // (50 if name == "strace" else 20 if kind in ON_NAMES else 1))
                ns, size, most, cpu_ns = one(program, where, tracer, count, kind, below)
                if name == "Darshan, DXT" and kind in MOVING and kept(where) < count:
                    print(f"{kind:<12}Darshan's log holds {kept(where):,} of {count:,} operations")
                memory.setdefault(name, []).append(most)
                cpu.setdefault(name, []).append(cpu_ns)
                samples.setdefault(name, []).append(ns)
                sizes[name] = size / count
        plain = samples["none"]
        for name, values in samples.items():
            added = statistics.median(v - p for v, p in zip(values, plain, strict=True))
            ratio = statistics.median(v / p for v, p in zip(values, plain, strict=True))
            per_operation = "" if name == "none" else f"{sizes[name]:.3f}"
            more = statistics.median(memory[name]) - statistics.median(memory["none"])
            own = statistics.median(v - p for v, p in zip(cpu[name], cpu["none"], strict=True))
            own_cpu = "" if name == "strace" else f"{own:.1f}"
            taken = "" if name in ("none", "strace") else f"{more / 1024:.1f} MiB"
            print(
                f"{kind:<12}{name:<22}{statistics.median(values):>9.1f}{added:>9.1f}{own_cpu:>9}{ratio:>8.2f}{per_operation:>10}{taken:>12}"
            )


def abyss(where: Path, reads: list[Path], repeat: int) -> None:
    program = "/usr/lib/abyss/ABYSS-P"
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2", program, "-k", "25", "-q3",
               "--coverage-hist=coverage.hist", "-s", "bubbles.fa", "-o", "out.fa", *map(str, reads)]  # fmt: skip
    ratios, cpu_ratios, size = [], [], 0
    command_s = []  # of the command around the program: start, and reading the trace back
    for turn in range(repeat):
        times, cpu = {}, {}
        for name in ("none", "wavetank") if turn % 2 == 0 else ("wavetank", "none"):
            argv = command
            if name == "wavetank":
                argv = [sys.executable, "-c", "from wavetank.cli.main import main; main()", "trace", "--force",
                        "-o", str(where / "abyss.trace"), "--", *command]  # fmt: skip
            start, before = time.monotonic(), os.times()
            subprocess.run(argv, cwd=where, check=True, capture_output=True, timeout=900)
            times[name], after = time.monotonic() - start, os.times()
            if name == "wavetank":  # the program's own time; reading the trace back comes after it
                index = json.loads((where / "abyss.trace" / "index.json").read_text())
                command_s.append(times[name] - index["elapsed_s"])
                times[name] = index["elapsed_s"]
            cpu[name] = sum(after[2:4]) - sum(before[2:4])  # of children, user and system
        ratios.append(times["wavetank"] / times["none"])
        cpu_ratios.append(cpu["wavetank"] / cpu["none"])
        size = size_of(where / "abyss.trace")
    print(
        f"ABYSS-P      traced / untraced {statistics.median(ratios):.3f} (median of {repeat}; of processor time "
        f"{statistics.median(cpu_ratios):.3f}, with the command's own {statistics.median(command_s):.1f} s), "
        f"trace {size:,} bytes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--no-calls",
        action="store_true",
        help="calls that move data do nothing; kinds of names are left out",
    )
    parser.add_argument("--darshan", metavar="LIBRARY", help="Darshan's runtime, without MPI")
    parser.add_argument("--abyss", nargs=2, type=Path, metavar="READS")
    chosen = parser.parse_args()
    if chosen.darshan:
        os.environ["DARSHAN_PRELOAD"] = str(Path(chosen.darshan).resolve())
    memory = (
        "/dev/shm" if Path("/dev/shm").is_dir() else None
    )  # tmpfs: the file system's own time is small
    with tempfile.TemporaryDirectory(dir=memory) as name:
        where = Path(name)
        (where / "data").mkdir()
        (where / "darshan.conf").write_text(DARSHAN, encoding="ascii")
        kinds = [kind for kind in chosen.kinds if not (chosen.no_calls and kind in ON_NAMES)]
        operations(where, chosen.operations, chosen.repeat, kinds, chosen.no_calls)
        if chosen.abyss:
            abyss(where, [path.resolve() for path in chosen.abyss], chosen.repeat)


if __name__ == "__main__":
    main()
