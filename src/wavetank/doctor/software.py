"""Which software is here: the C parts, launchers, Slurm, benchmarks, readers of other tools' logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wavetank import native, native_build
from wavetank.doctor.finding import Finding, there_or_not
from wavetank.errors import TraceError
from wavetank.launchers.registry import launcher, launcher_names
from wavetank.launchers.version import version_text
from wavetank.programs import find_program
from wavetank.trace.open import NeedsSoftware, importer, importer_names


@dataclass(frozen=True)
class _Program:
    area: str
    ability: str
    program: str
    package: str
    cost: str
    version: bool = True


_PROGRAMS = (
    _Program("virtual clusters", "ip, tc (networks of nodes)", "tc", "iproute2", "no virtual clusters on this machine", False),
    _Program("virtual clusters", "losetup (disks of nodes)", "losetup", "util-linux", "no virtual clusters on this machine"),
    _Program("virtual clusters", "mkfs.xfs (local file system)", "mkfs.xfs", "xfsprogs", "local_file_system must be ext4", False),
    _Program("virtual clusters", "ssh (clusters of hosts that exist)", "ssh", "openssh-client", "no provider ssh", False),
    _Program("benchmarks", "fio", "fio", "fio", "no characterisation of disks, no comparison with fio"),
    _Program("benchmarks", "ior", "ior", "ior (not in Debian 12: build it)", "IOR lines are printed, not run", False),
    _Program("other tools", "zstd", "zstd", "zstd", "text logs packed by zstd must be unpacked first"),
    _Program("other tools", "strace", "strace", "strace", "no new strace logs (existing ones can still be read)", False),
)  # fmt: skip


def native_parts() -> Iterator[Finding]:
    """The C parts: built, built at first use, or not to be had."""
    parts = {
        "tracer": ("lib/libwavetank-trace.so", "serial programs cannot be traced"),
        "tracer for Open MPI": ("lib/libwavetank-trace-openmpi.so", "Open MPI programs cannot be traced"),
        "tracer for MPICH": ("lib/libwavetank-trace-mpich.so", "MPICH programs cannot be traced"),
        "replay program": ("bin/wavetank-replay-serial", "kernels cannot be performed"),
        "replay program for Open MPI": ("bin/wavetank-replay-openmpi", "no replay under Open MPI"),
        "replay program for MPICH": ("bin/wavetank-replay-mpich", "no replay under MPICH"),
    }  # fmt: skip
    area = "trace and replay"
    for ability, (name, cost) in parts.items():
        if native.built(name):
            yield Finding(area, ability, "ok", str(native.find(name, ability)))
        elif not native.builds():
            remedy = "make setup (an MPI part needs libopenmpi-dev or libmpich-dev)"
            yield Finding(area, ability, "missing", "not built", cost, remedy)
        elif lacking := native_build.lacking():
            found = f"not built, and no {', '.join(lacking)} to build it"
            yield Finding(area, ability, "missing", found, cost, native_build.how_to_get(lacking))
        elif any(native.built(each) for each, _ in parts.values()):
            yield Finding(area, ability, "missing", "not built", cost, native.why_not(name))
        else:
            found = f"built at first use, into {native_build.cache_folder()}"
            yield Finding(area, ability, "ok", found)


def launchers() -> Iterator[Finding]:
    """Those that start programs of MPI by themselves."""
    remedies = {
        "openmpi": "apt-get install openmpi-bin",
        "mpich": "apt-get install mpich",
    }
    costs = {
        "openmpi": "no Open MPI programs, and none on virtual clusters",
        "mpich": "no MPICH programs",
    }
    for name in launcher_names():
        if name in ("none", "srun"):
            continue
        yield there_or_not("MPI", f"launcher {name}", launcher(name).available(), "not found",
                           costs.get(name, ""), remedies.get(name, ""))  # fmt: skip


def slurm() -> Iterator[Finding]:
    """Slurm's programs answer nothing, not even their version, where they find no configuration."""
    for area, ability, program, cost in (
        ("MPI", "launcher srun", "srun", "no tracing of srun command lines"),
        ("campaigns", "sbatch (campaigns as Slurm jobs)", "sbatch", "no --executor slurm"),
    ):
        said = (version_text(program) or "").strip().splitlines()
        if find_program(program) is None:
            remedy = "apt-get install slurm-client, on a node of a Slurm site"
            yield Finding(area, ability, "missing", "not found", cost, remedy)
        elif said and said[0].startswith("slurm"):  # slurm-wlm 22.05.8
            yield Finding(area, ability, "ok", said[0])
        else:
            # srun: fatal: Could not establish a configuration source
            found = f"installed, no Slurm configuration ({said[-1] if said else 'no answer'})"
            remedy = "use it on a node of a Slurm site, or name its slurm.conf in SLURM_CONF"
            yield Finding(area, ability, "limited", found, cost, remedy)


def programs() -> Iterator[Finding]:
    """Single programs that a part of the tool needs."""
    for wanted in _PROGRAMS:
        path = find_program(wanted.program)
        said = (version_text(path) or "").strip() if path and wanted.version else ""
        found = None if path is None else said.partition("\n")[0] or path
        remedy = wanted.package if " " in wanted.package else f"apt-get install {wanted.package}"
        yield there_or_not(wanted.area, wanted.ability, found, "not found", wanted.cost, remedy)


def importers() -> Iterator[Finding]:
    """Whether the logs of each other tool can be read."""
    for name in importer_names():
        ability = f"{name} logs"
        try:
            module = importer(name)
            found = module.software() if isinstance(module, NeedsSoftware) else "read by wavetank itself"  # fmt: skip
        except (TraceError, ImportError) as error:
            _, _, remedy = str(error).partition("Install it with: ")
            cost = f"logs of {name} cannot be read"
            yield Finding("other tools", ability, "missing", str(error), cost, remedy)
        else:
            yield Finding("other tools", ability, "ok", found)
