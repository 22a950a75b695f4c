"""The MPI library of a traced run: kept by the kernel, and taken for its replay where it is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import kernel_models as km
import pytest
from fold_builder import PROVENANCE

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.launchers.family import family_of_library, other_library
from wavetank.launchers.mpich import Mpich
from wavetank.launchers.openmpi import OpenMpi
from wavetank.launchers.registry import launcher_of_library
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace

OPEN_MPI, MPICH = "Open MPI v4.1.4", "MPICH Version: 4.0.2"


@pytest.mark.parametrize(
    ("installed", "library", "taken"),
    [
        ("openmpi mpich", OPEN_MPI, "openmpi"),
        ("openmpi mpich", MPICH, "mpich"),
        ("openmpi mpich", None, "openmpi"),
        ("openmpi mpich", "Cray MPI 8", "openmpi"),
        ("openmpi", MPICH, "openmpi"),
        ("mpich", OPEN_MPI, "mpich"),
        ("mpich", None, "mpich"),
        ("", MPICH, "openmpi"),
    ],
)
def test_the_run_s_own_library_is_taken_where_it_is_installed(
    installed: str, library: str | None, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, name in ((OpenMpi, "openmpi"), (Mpich, "mpich")):
        version = "1.0" if name in installed.split() else None
        monkeypatch.setattr(kind, "available", lambda self, version=version: version)
    assert launcher_of_library(library).name == taken


def test_another_library_is_told() -> None:
    assert family_of_library(MPICH) == "mpich" and family_of_library(OPEN_MPI) == "openmpi"
    assert MPICH in (other_library(MPICH, "openmpi") or "")
    assert other_library(MPICH, "mpich") is None
    assert other_library(None, "openmpi") is None
    assert other_library(MPICH, None) is None


def test_model_and_kernel_keep_it(tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "data" / "darshan" / "bt.W.4.mpi_io_full.darshan"
    pytest.importorskip("darshan", reason="PyDarshan brings the library that reads logs")
    trace = replace(open_trace(log), mpi_library=MPICH)
    model = extract_model(trace, PROVENANCE)
    assert model.mpi_library == MPICH
    assert make_kernel(model, km.written(model, tmp_path)).mpi_library == MPICH
