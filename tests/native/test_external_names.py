"""What our libraries and programs name for others begins with ``wt_``: no program that is traced has such a name by chance."""

import re
import subprocess
from ctypes.util import find_library
from functools import cache
from pathlib import Path

import pytest
from tracer_run import need

from wavetank import native

LIBRARIES = [f"lib/libwavetank-{name}.so" for name in ("trace", "trace-openmpi", "trace-mpich", "trace-decode", "model")]  # fmt: skip
PROGRAMS = [
    f"bin/wavetank-{name}"
    for name in ("guard", "nfs-mount", "node", "replay-serial", "replay-openmpi", "replay-mpich")
]
OURS = re.compile(
    r"wt_|__(start|stop)_wt_|etext$"
)  # the linker names the ends of our sections and of our code
# What the linker puts into every program, and what it copies there from the C library and from Open MPI.
OF_EVERY_PROGRAM = re.compile(r"_|main$|data_start$|\w+@GLIBC|ompi_")


def names(file: Path | str, *options: str) -> set[str]:
    command = ["nm", "--defined-only", *options, str(file)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


@cache
def of_the_c_library() -> set[str]:
    name = find_library("c")
    assert name is not None
    loaded = Path("/proc/self/maps").read_text(encoding="utf-8")
    found = re.search(rf"\S+/{re.escape(name)}$", loaded, re.MULTILINE)
    assert found is not None, loaded
    return {each.split("@")[0] for each in names(found[0], "-D")}


@pytest.mark.parametrize("file", LIBRARIES)
def test_a_library_names_what_it_wraps_and_what_begins_with_wt(file: str) -> None:
    need(Path(file).name, "nm")
    exported = names(native.find(file, "test"), "-D")
    wrapped = {name for name in exported if re.match("P?MPI_|p?mpi_", name)} | of_the_c_library()
    wrapped |= {"io_submit"}  # of libaio
    assert sorted(name for name in exported - wrapped if not OURS.match(name)) == []
    assert any(OURS.match(name) for name in exported)


@pytest.mark.parametrize("file", PROGRAMS)
def test_a_program_names_main_and_what_begins_with_wt(file: str) -> None:
    if not native.available(file):
        pytest.skip(f"{file} is not built (make setup)")
    external = names(native.find(file, "test"), "-g")
    assert "main" in external
    assert sorted(n for n in external if not OURS.match(n) and not OF_EVERY_PROGRAM.match(n)) == []
