"""Kernels beside the applications themselves: error of the I/O time, and the order of the configurations. Needs root.

    sudo benchmarks/truth/kernels [--programs FOLDER | --own abyss bt s3d hdf5] [--repetitions 5] [--size small|usual]
                                  [--pauses drop|keep] [--only nfs glusterfs-1 ...] [--minutes 15] [--keep DIR]

Each program is traced here once. A campaign then measures the kernel and runs the application itself (program: own), in the same
turns, on NFS, GlusterFS of one and two data servers, CephFS, MooseFS and OrangeFS of two, where these can come up.

FOLDER holds programs that nobody here wrote: a folder for each, with a file program.yaml:

    name: NPB BT-IO W full       # for the table
    argv: [./bt.W.x, 10]         # a path below the folder, or a program that is installed
    ranks: 4                     # default: 4
    launcher: openmpi            # or mpich
    mappings: [2PxCN]            # default
    env: {OMPI_MCA_sharedfp: ^lockedfile}
    input: data                  # folder below it whose files the program finds where it runs; default: data, if it is there

Without it an ABySS, a BT-IO-like, an S3D-IO-like and a parallel HDF5 program of this repository are built and taken.

Printed: a row for each configuration, and for each program the median error, the worst distance from the application's own
runs, and Kendall's tau over the pairs that both tell apart. Goals: a median error of 10 % or one inside of the application's
own spread, and no pair turned round. A program whose compiler wrapper or package is missing is left out, and said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from campaigns import instance, wavetank

from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.comparison import Comparison
from wavetank.compare.trust_advice import spread_words, tau_words, verdict_words
from wavetank.compare.trust_record import Trust
from wavetank.units import format_duration

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = REPOSITORY / "tests" / "native" / "programs"
ABYSS = Path("/usr/lib/abyss/ABYSS-P")
GENERATOR = REPOSITORY / "examples" / "abyss" / "generate_reads.py"
N_RANKS = 4
# Ranks of several nodes that open a file again within a second may wait for each other for ever.
NO_LOCK_FILE = {"OMPI_MCA_sharedfp": "^lockedfile"}
# Two ranks that send to each other while both have a message to read wait for ever: no send waits for its receive.
EAGER = {"OMPI_MCA_btl_vader_eager_limit": "32768"}
DISK_MB = 50
MOST_PERCENT = 10.0
"""Of the median error."""


@dataclass(frozen=True)
class Program:
    """An application of the benchmark.

    Attributes:
        name: for the table.
        argv: of its run, in a folder with its input.
        env: of its ranks.
        mappings: for two compute nodes.
        ranks: how many.
        launcher: of its MPI.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    mappings: tuple[str, ...]
    ranks: int = N_RANKS
    launcher: str = "openmpi"


def given(described: Path, folder: Path) -> Program:
    """A program of somebody else, by its program.yaml; its input goes to ``data`` below the folder."""
    there = described.parent.resolve()
    body = yaml.safe_load(described.read_text())
    unknown = set(body) - {"name", "argv", "ranks", "launcher", "mappings", "env", "input"}
    if unknown or not body.get("argv"):
        raise SystemExit(
            f"{described}: argv is needed, and {', '.join(sorted(unknown)) or 'nothing'} is unknown"
        )
    first, *others = map(str, body["argv"])
    data = there / body.get("input", "data")
    if data.is_dir():
        shutil.copytree(data, folder / "data", dirs_exist_ok=True)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    return Program(
        body.get("name", there.name),
        (str(there / first) if "/" in first else first, *others),
        body.get("env", {}),
        tuple(body.get("mappings", ("2PxCN",))),
        body.get("ranks", N_RANKS),
        body.get("launcher", "openmpi"),
    )


def prepared(name: str, folder: Path, *, small: bool) -> Program | str:
    """Build a program, and make its input in ``data`` below the folder; or why that cannot be."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    if name == "abyss":
        if not ABYSS.exists():
            return "ABYSS-P is not installed (Debian package abyss)"
        pairs = "10000" if small else "60000"
        words = [sys.executable, GENERATOR, "--directory", folder / "data", "--pairs", pairs]
        subprocess.run([*words, "--seed", "20160"], check=True, stdout=subprocess.DEVNULL)
        argv = (str(ABYSS), "-k", "25", "-q3", "--coverage-hist=coverage.hist", "-s", "bubbles.fa",
                "-o", "contigs.fa", "reads1.fastq", "reads2.fastq")  # fmt: skip
        return Program("ABySS", argv, EAGER, ("1PxCN", "2PxCN"))
    built = folder / "program"
    source, compiler = {
        "bt": (PROGRAMS / "bt_io.c", "mpicc.openmpi"),
        "s3d": (PROGRAMS / "s3d_io.c", "mpicc.openmpi"),
        "hdf5": (Path(__file__).parent / "hdf5_rows.c", "h5pcc"),
    }[name]
    if shutil.which(compiler) is None:
        return f"{compiler} is not installed"
    subprocess.run([compiler, "-O2", "-o", built, source], cwd=folder, check=True)
    titles = {"bt": "BT-IO-like", "s3d": "S3D-IO-like", "hdf5": "HDF5"}
    sizes = {
        "bt": ("24", "10") if small else ("48", "10"),
        "s3d": ("32", "2") if small else ("64", "2"),
        "hdf5": ("256", "3") if small else ("1024", "3"),
    }
    return Program(
        titles[name], (str(built), "out", *sizes[name]), NO_LOCK_FILE, ("2PxCN", "4PxCN")
    )


def make_kernel(program: Program, folder: Path, pauses: str) -> None:
    """Trace the program here, and make its kernel; one that was kept is taken again."""
    if (folder / "app.kernel.json").exists():
        return
    run = folder / "traced"
    shutil.copytree(folder / "data", run, dirs_exist_ok=True)
    env = list(program.env.items())
    if program.launcher == "mpich":
        words = [word for name, value in env for word in ("-genv", name, value)]
        launcher = ["mpiexec.mpich", *words, "-n", str(program.ranks)]
    else:
        words = [word for name, value in env for word in ("-x", f"{name}={value}")]
        launcher = ["mpirun.openmpi", "--oversubscribe", "-n", str(program.ranks), *words]
        if os.geteuid() == 0:
            launcher.insert(1, "--allow-run-as-root")
    wavetank("trace", "-o", "../app.trace", "--", *launcher, *program.argv, cwd=run)
    kept = [] if pauses == "drop" else ["--pauses", "0.001"]
    wavetank("model", "app.trace", *kept, "-o", "app.model.json", cwd=folder)
    wavetank("kernel", "app.model.json", "-o", "app.kernel.json", cwd=folder)


def clusters(only: list[str] | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Cluster files of what can come up here, and why others cannot."""
    sharded = {"kind": "sharded", "size": "4 MiB"}
    kinds: list[tuple[str, dict[str, Any], int]] = [
        ("nfs", {"kind": "nfs"}, 1),
        ("glusterfs-1", {"kind": "glusterfs"}, 1),
        ("glusterfs-2", {"kind": "glusterfs", "stripe": sharded}, 2),
        ("cephfs-2", {"kind": "cephfs", "stripe": sharded}, 2),
        ("moosefs-2", {"kind": "moosefs"}, 2),
        ("orangefs-2", {"kind": "orangefs", "stripe": {"kind": "sharded", "size": "64 KiB"}}, 2),
    ]
    found, left_out = [], []
    for name, file_system, servers in kinds:
        if only and name not in only:
            continue
        body = {
            "name": f"truth{os.getpid()}-{name}",
            "title": name,
            "instance": instance(DISK_MB),
            "nodes": {"compute": 2, "io": servers},
            "file_system": file_system,
            "storage": {"size": "1 GiB"},
        }
        against = deploy.check(ClusterSpec.model_validate(body))
        if against:
            left_out.append(f"{name} is left out: {'; '.join(against)}")
        else:
            found.append(body)
    return found, left_out


def measured(
    program: Program, folder: Path, bodies: list[dict[str, Any]], asked: argparse.Namespace
) -> Trust | None:
    """Run the campaign of a program; how its kernel compares with it."""
    for body in bodies:
        (folder / f"{body['title']}.yaml").write_text(yaml.safe_dump(body))
    own = {
        "argv": list(program.argv),
        "input": "data",
        "env": program.env,
        "ranks": program.ranks,
        "launcher": program.launcher,
        "limit": "10 min",
    }
    campaign = {
        "name": "truth",
        "applications": [
            {"kernel": "app.kernel.json", "name": program.name},
            {
                "kernel": "app.kernel.json",
                "name": f"{program.name} itself",
                "program": "own",
                "own": own,
            },
        ],
        "clusters": [f"{body['title']}.yaml" for body in bodies],
        "mappings": list(program.mappings),
        "pauses": asked.pauses,
        "oversubscribe": True,
        "repetitions": asked.repetitions,
        "budget": {"time": f"{asked.minutes:g} min"},
        "output": "results",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(campaign, sort_keys=False))
    wavetank("run", "campaign.yaml", "--format", "json", cwd=folder, may_fail=True)
    comparison = folder / "results" / "comparison.json"
    if not comparison.exists():
        return None
    found = Comparison.read(comparison)
    for part in found.not_measured:
        print(f"  not measured: {part.application} on {part.cluster} with {part.mapping}: {part.reason}")  # fmt: skip
    return next(iter(found.trust), None)


def show(found: Trust) -> None:
    """A row for each configuration, and what they say together."""
    for each in found.times:
        _, cluster, mapping = each.configuration.split(" / ")
        print(
            f"  {cluster.partition('-')[2]:12} {mapping}  kernel {format_duration(each.kernel_s.median):>8}  application "
            f"{format_duration(each.application_s.median):>8}  {each.difference_percent:+7.1f} %  ({spread_words(each)}), "
            f"outside of them {each.beyond_percent:.1f} %"
        )
    inside = median(each.beyond_percent for each in found.times) == 0
    near = found.median_error_percent <= MOST_PERCENT or inside
    goals = (
        (near, f"median error {found.median_error_percent:.1f} %{', inside of its own spread' if inside else ''}"),
        (found.n_apart == 0 or (found.tau is not None and found.tau.value == 1),
         f"tau {tau_words(found.tau)}, {found.n_apart} of {found.n_pairs} pairs"),
    )  # fmt: skip
    told = "; ".join(f"{words} ({'met' if met else 'missed'})" for met, words in goals)
    print(
        f"  {told}; worst outside of its own runs {found.worst_beyond_percent:.1f} %; tau of medians {tau_words(found.tau_of_medians)}"
    )
    print(f"  {verdict_words(found)}", flush=True)


def main() -> None:
    """Measure and print."""
    names = ("abyss", "bt", "s3d", "hdf5")
    parser = argparse.ArgumentParser(description="Kernels beside the applications themselves.")
    programs = parser.add_mutually_exclusive_group()
    programs.add_argument("--programs", type=Path, metavar="FOLDER", help="programs of others")
    programs.add_argument("--own", nargs="+", choices=names, default=names)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--size", choices=("small", "usual"), default="usual")
    parser.add_argument("--pauses", choices=("drop", "keep"), default="drop")
    parser.add_argument("--only", nargs="+", metavar="CLUSTER", help="nfs, glusterfs-1, ...")
    parser.add_argument("--minutes", type=float, default=15.0, help="of each program, at most")
    parser.add_argument("--keep", type=Path, help="folder that kernels and results stay in")
    asked = parser.parse_args()
    described = [] if asked.programs is None else sorted(asked.programs.glob("*/program.yaml"))
    if asked.programs is not None and not described:
        raise SystemExit(f"{asked.programs} has no folder with a program.yaml")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bodies, left_out = clusters(asked.only)
    for sentence in left_out:
        print(sentence)
    if not bodies:
        raise SystemExit("no cluster can come up here; root is needed")
    with tempfile.TemporaryDirectory(prefix="wavetank-truth-") as temporary:
        by_name = {each.parent.name: each for each in described}
        for name in by_name or asked.own:
            began = time.monotonic()
            folder = (asked.keep or Path(temporary)).resolve() / name
            folder.mkdir(parents=True, exist_ok=True)
            program: Program | str
            program = (
                given(by_name[name], folder)
                if by_name
                else prepared(name, folder, small=asked.size == "small")
            )
            if isinstance(program, str):
                print(f"{name} is left out: {program}")
                continue
            make_kernel(program, folder, asked.pauses)
            print(f"{program.name}, pauses: {asked.pauses}", flush=True)
            found = measured(program, folder, bodies, asked)
            if found is None:
                print("  nothing to compare: see above")
            else:
                show(found)
            print(f"  {format_duration(time.monotonic() - began)}", flush=True)


if __name__ == "__main__":
    main()
