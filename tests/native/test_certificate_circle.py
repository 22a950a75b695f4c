"""The whole circle over real programs: where the certificate says exact, the traced replay's operations are the model's."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixed_point_run import Round, go_round
from tracer_run import FAMILIES, compile_c, need

from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.notes import texts

ZIP = """
import zipfile
with zipfile.ZipFile("z.zip", "w") as z:
    z.write("input"); z.writestr("b", "x" * 1000)
with zipfile.ZipFile("z.zip", "a") as z:
    z.writestr("c", "y" * 5000)
with zipfile.ZipFile("z.zip") as z:
    [z.read(name) for name in z.namelist()]
"""
NPZ = """
import numpy as np
np.savez("a.npz", x=np.arange(10_000), y=np.ones((50, 60)))
found = np.load("a.npz")
found["x"].sum(); found["y"].sum()
np.load("given.npy", mmap_mode="r").sum()
"""
SQL = """
create table t(a, b);
insert into t select value, hex(randomblob(200)) from generate_series(1, 500);
create index i on t(b);
update t set b = 'x' where a % 7 = 0;
delete from t where a > 300;
vacuum;
"""
HDF5 = """
import h5py, numpy as np
with h5py.File("a.h5", "w") as f:
    f["plain"] = np.arange(10_000)
    f.create_dataset("packed", data=np.zeros((300, 300)), chunks=(50, 60), compression="gzip")
    grows = f.create_dataset("g/grows", (0, 100), maxshape=(None, 100), chunks=(10, 100))
    for i in range(5):
        grows.resize(10 * (i + 1), axis=0); grows[10 * i :] = i; f.flush()
with h5py.File("a.h5", "r+") as f:
    f["plain"][::7] = 1; del f["packed"]; f["g"].attrs["unit"] = "km"
with h5py.File("a.h5") as f:
    f["plain"][5:50].sum(); f["g/grows"][...].sum()
"""
NETCDF = """
import netCDF4, numpy as np
for form in ("NETCDF4", "NETCDF3_CLASSIC"):
    with netCDF4.Dataset(f"{form}.nc", "w", format=form) as d:
        d.createDimension("t", None); d.createDimension("x", 1000)
        v = d.createVariable("v", "f8", ("t", "x")); v.units = "K"
        for i in range(6):
            v[i] = np.arange(1000) + i; d.sync()
    with netCDF4.Dataset(f"{form}.nc", "a") as d:
        d["v"][2, ::3] = 0; d.title = "again"
    with netCDF4.Dataset(f"{form}.nc") as d:
        d["v"][:, 10:20].sum()
"""
MPI4PY = """
import numpy as np
from mpi4py import MPI
c = MPI.COMM_WORLD
block = np.full(3000, c.rank, dtype="u1")
f = MPI.File.Open(c, "shared", MPI.MODE_CREATE | MPI.MODE_RDWR)
f.Write_at_all(c.rank * 3000, block)
f.Set_view(12_000 + c.rank * 100, MPI.BYTE, MPI.BYTE.Create_vector(5, 100, 100 * c.size).Commit())
f.Write_all(block[:500])
c.barrier()  # Open MPI asks again and again for what is not written yet
f.Iread_at(0, block[:10]).Wait()
f.Close()
c.sendrecv(c.rank, (c.rank + 1) % c.size, source=(c.rank - 1) % c.size)
np.save(f"own.{c.rank}", block)
c.barrier()
np.load(f"own.{(c.rank + 1) % c.size}.npy")
"""
LINKED = "import os; os.mkdir('linked')"
OF_FILE = "os.link('folder/a', 'linked/a')"
OF_LINK = "os.link('folder/link', 'linked/link', follow_symlinks=False)"
MOVED = (
    "import os; os.rename('folder/link', 'folder/moved'); open('folder/moved').close(); os.symlink('none', 'x'); "
    "os.rename('x', 'y'); os.link('y', 'z', follow_symlinks=False); os.unlink('y')"
)
SERIAL = {
    "sqlite3": ["sqlite3", "db.sqlite", SQL],
    "tar c": ["tar", "cf", "archive.tar", "input", "folder"],
    "tar x": ["tar", "xf", "given.tar"],
    "sort": ["sort", "-S", "100k", "-T", ".", "-o", "sorted", "text"],
    "dd": ["dd", "if=input", "of=input", "bs=4096", "count=3", "seek=2", "conv=notrunc"],
    "cp": ["cp", "-r", "folder", "other"],
    "cp over": ["cp", "input", "text"],
    "cp links over": ["cp", "-a", "folder/.", "there"],
    "cp -al": ["cp", "-al", "folder", "linked"],  # in the order of the directory: both are below
    "link, then link of a link": [sys.executable, "-c", f"{LINKED}; {OF_FILE}; {OF_LINK}"],
    "link of a link, then link": [sys.executable, "-c", f"{LINKED}; {OF_LINK}; {OF_FILE}"],
    "links that move": [sys.executable, "-c", MOVED],
    "dd beside /": ["sh", "-c", "exec dd if=input of=other 5< /"],
    "tail -c": ["tail", "-c", "5000", "input"],
    "tail -n": ["tail", "-n", "5", "text"],
    "zipfile": [sys.executable, "-c", ZIP],
    "npz": [sys.executable, "-c", NPZ],
}


def around(family: str, argv: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    """Go round, and compare the certificate's word with the diff's."""
    found = go_round(family, argv, folder, monkeypatch)
    wrong = [
        row.differences
        for row in replay_fidelity(found.kernel, found.model)
        if not (row.exact or row.left_to_mpi)
    ]
    differences = compare_models(found.model, found.again).differences
    assert (wrong, differences) == ([], ())
    return found


def given(folder: Path) -> None:
    """What the programs work on."""
    np = pytest.importorskip("numpy")
    work = folder / "work"
    (work / "folder").mkdir(parents=True)
    for name in ("input", "folder/a", "folder/b"):
        (work / name).write_bytes(bytes(i % 251 for i in range(1000)) * 300)
    (work / "folder" / "link").symlink_to("a")
    shutil.copytree(work / "folder", work / "there", symlinks=True)
    lines = [f"{i * 7919 % 10_007} of a text to be sorted" for i in range(10_007)]
    (work / "text").write_text("\n".join(lines))
    np.save(work / "given.npy", np.arange(30_000))
    subprocess.run(["tar", "cf", "given.tar", "folder"], cwd=work, check=True)
    subprocess.run(["rm", "-r", "folder/b"], cwd=work, check=True)


@pytest.mark.parametrize("name", SERIAL)
def test_programs_of_every_day(name, tmp_path, monkeypatch):
    argv = SERIAL[name]
    need("libwavetank-trace.so", argv[0], "tar")
    given(tmp_path)
    around("none", argv, tmp_path, monkeypatch)


@pytest.mark.parametrize(("module", "program"), [("h5py", HDF5), ("netCDF4", NETCDF)])
def test_libraries_of_file_formats(module, program, tmp_path, monkeypatch):
    need("libwavetank-trace.so")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed from PyPI (pip install -e '.[dev]')")
    around("none", [sys.executable, "-c", program], tmp_path, monkeypatch)


def test_mpi4py(tmp_path, monkeypatch):
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    library = ctypes.util.find_library("mpi")
    if importlib.util.find_spec("mpi4py") is None or library is None:
        pytest.skip("mpi4py is not installed from PyPI (pip install -e '.[dev]')")
    monkeypatch.setenv("MPI4PY_LIBMPI", library)
    argv = [*FAMILIES["openmpi"][2], "-n", "3", sys.executable, "-c", MPI4PY]
    around("openmpi", argv, tmp_path, monkeypatch)


def test_a_script_that_makes_moves_links_and_removes(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "dd")
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    given(tmp_path)
    script = (
        "mkdir -p d/e; cp input d/e/x; rm -r d; cat text > g; mv g h; ln h k; ln -s k l; cat l > m; test -e nope; rm h k l"
    )  # fmt: skip
    around("openmpi", ["sh", "-c", script], tmp_path, monkeypatch)


def test_holes_of_an_input_are_not_there_and_both_say_so(tmp_path, monkeypatch):
    """Files made beforehand are not sparse (docs/reference/kernel.md)."""
    need("libwavetank-trace.so", "tar")
    (tmp_path / "work").mkdir()
    with (tmp_path / "work" / "sparse").open("wb") as file:
        for place in (0, 2**20, 2**21):
            file.seek(place)
            file.write(b"x" * 8192)
        file.truncate(3 * 2**20)
        if os.lseek(file.fileno(), 0, os.SEEK_HOLE) > 2**20:
            pytest.skip(f"the file system of {tmp_path} keeps no holes")
    found = go_round("none", ["tar", "cSf", "archive", "sparse"], tmp_path, monkeypatch)
    (wrong,) = [row for row in replay_fidelity(found.kernel, found.model) if not row.exact]
    assert wrong.ph_ids == ()
    assert wrong.differences == (
        "3 lseek to a hole of sparse will find none there: files made beforehand are not sparse",
    )
    (said,) = compare_models(found.model, found.again).differences
    assert "lseek of sparse at 8192" in str(said.a) and f"at {3 * 2**20}" in str(said.b)
    assert [line for line in texts(found.kernel.notes) if "SEEK_HOLE" in line and "sparse" in line]


def test_the_end_of_an_input_is_a_hole_for_both(tmp_path, monkeypatch):
    given(tmp_path)
    program = (
        "import os; f = os.open('input', os.O_RDONLY); os.lseek(f, 5, os.SEEK_DATA); os.lseek(f, 5, os.SEEK_HOLE); "
        "g = os.open('text', os.O_RDWR | os.O_TRUNC); os.pwrite(g, b'x', 2**20); os.lseek(g, 0, os.SEEK_HOLE)"
    )
    around("none", [sys.executable, "-c", program], tmp_path, monkeypatch)


def test_git(tmp_path, monkeypatch):
    """It probes for names, renames what it wrote, makes links that lead nowhere, and starts programs of its own."""
    need("libwavetank-trace.so", "git")
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    given(tmp_path)
    person = "-c user.name=a -c user.email=a@example.org"
    script = (
        f"git init -q . && git add input text && git {person} commit -qm first && git repack -adq"
    )
    around("openmpi", ["sh", "-c", script], tmp_path, monkeypatch)


def test_a_program_of_mpi_that_runs_again_over_its_own_files(tmp_path, monkeypatch):
    """Its files are there already, as those of a second run are."""
    compiler, _, starter = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, starter[0])
    program = compile_c("bt_io.c", tmp_path / "program", compiler=compiler)
    argv = [*starter, "-n", "4", str(program), "bt.out", "12", "2"]
    (tmp_path / "work").mkdir()
    subprocess.run(argv, cwd=tmp_path / "work", check=True, capture_output=True)
    around("openmpi", argv, tmp_path, monkeypatch)


NAMES = ["all make a folder", "all make a file", "one gets the lock", "one makes what all use", "all wait until it is there",
         "one removes what another made", "one renames what another made"]  # fmt: skip


@pytest.mark.parametrize(
    ("family", "case"),
    [*(("openmpi", name) for name in NAMES), ("mpich", NAMES[3])],
)
def test_names_that_several_ranks_make_use_and_remove(family, case, tmp_path, monkeypatch):
    """Messages and chance order the ranks; which of them came first, what they found tells."""
    compiler, _, starter = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, starter[0])
    program = compile_c("shared_names.c", tmp_path / "program", compiler=compiler)
    found = around(
        family, [*starter, "-n", "4", str(program), str(NAMES.index(case))], tmp_path, monkeypatch
    )
    assert any(found.kernel.programs)
