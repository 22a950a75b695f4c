"""MPI-IO of a cluster's ranks: which library does it, and hints for every file, by a file that ROMIO reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.cluster.host import Host, on_all
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import RemoteCommandError

# Components of Open MPI 4.1. MPICH has ROMIO alone, and ignores this.
COMPONENTS = {"ompio": "ompio", "romio": "romio321"}


def hints_path(storage_path: str) -> str:
    """Of the file of hints, on compute nodes."""
    return f"{storage_path.rstrip('/')}.mpi-hints"


def library_of(spec: ClusterSpec) -> str:
    """Which library does the MPI-IO of Open MPI's ranks: "ompio", or "romio" where it was chosen or hints are given."""
    return spec.mpi.io_library or ("romio" if spec.mpi.hints else "ompio")


def environment(spec: ClusterSpec, storage_path: str) -> dict[str, str]:
    """Environment of every rank. ROMIO_HINTS is ROMIO's own (since 1.2), OMPI_MCA_io Open MPI's."""
    library = spec.mpi.io_library or ("romio" if spec.mpi.hints else None)
    found = {} if library is None else {"OMPI_MCA_io": COMPONENTS[library]}
    if spec.mpi.hints:
        found["ROMIO_HINTS"] = hints_path(storage_path)
    return found


def write_hints(spec: ClusterSpec, hosts: Sequence[Host], storage_path: str) -> None:
    """Write the hints onto every compute node, a line "key value" each."""
    if spec.mpi.hints:
        text = "".join(f"{key} {value}\n" for key, value in spec.mpi.hints.items())
        path = hints_path(storage_path)
        on_all(hosts, lambda host: host.run(["dd", f"of={path}", "status=none"], stdin=text))


def settings(spec: ClusterSpec, hosts: Sequence[Host], storage_path: str) -> Mapping[str, str]:
    """The environment, and the hints as the first compute node has them."""
    found = {f"ranks' {key}": value for key, value in environment(spec, storage_path).items()}
    if spec.mpi.hints:
        try:
            text = hosts[0].run(["cat", hints_path(storage_path)]).stdout
        except RemoteCommandError as error:
            return {**found, "MPI-IO hints": f"cannot be read: {error.stderr_tail}"}
        found["MPI-IO hints"] = "; ".join(text.splitlines())
    return found
