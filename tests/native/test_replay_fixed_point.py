"""Trace the replay of a program, extract its model: it is the model that the replay was made from."""

from __future__ import annotations

import subprocess

import pytest
from fixed_point_run import assert_equal, go_round
from test_tracer_abyss import ABYSS, command, write_reads
from tracer_run import FAMILIES, compile_c, need

from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.notes import texts

MPI_PROGRAMS = {
    "BT-IO": ("bt_io.c", 4, ["bt.out", "12", "5"]),
    "S3D-IO": ("s3d_io.c", 4, ["s3d", "8", "3"]),
    "MADbench2": ("madbench2.c", 2, ["mad.out", "4", "4096"]),
    "blocking MPI-IO calls": ("mpiio_calls.c", 2, []),
    "nonblocking, split and shared MPI-IO calls": ("mpiio_later.c", 2, []),
    "IOR, POSIX, shared file": (
        "ior_like.c",
        3,
        ["POSIX", "shared", "t.dat", "3", "40000", "10000"],
    ),
    "IOR, POSIX, file per process": (
        "ior_like.c",
        3,
        ["POSIX", "each", "t.dat", "2", "40000", "8000"],
    ),
    "IOR, MPI-IO, shared file": (
        "ior_like.c",
        3,
        ["MPIIO", "shared", "t.dat", "3", "10000", "10000"],
    ),
    "IOR, MPI-IO, file per process": (
        "ior_like.c",
        2,
        ["MPIIO", "each", "t.dat", "1", "40000", "10000"],
    ),
    "IOR, collective, shared file": (
        "ior_like.c",
        3,
        ["COLLECTIVE", "shared", "t.dat", "2", "20000", "5000"],
    ),
    "ranks ordered by messages": ("messages.c", 3, []),
    "one rank with collectives between": ("bt_io.c", 1, ["bt.out", "8", "4"]),
}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *(("openmpi", name) for name in MPI_PROGRAMS),
        ("mpich", "BT-IO"),
        ("mpich", "nonblocking, split and shared MPI-IO calls"),
    ],
)
def test_the_model_of_the_replay_is_the_model(name, family, tmp_path, monkeypatch):
    compiler, _, starter = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, starter[0])
    source, n_ranks, arguments = MPI_PROGRAMS[name]
    program = compile_c(source, tmp_path / "program", compiler=compiler)
    found = go_round(
        family, [*starter, "-n", str(n_ranks), str(program), *arguments], tmp_path, monkeypatch
    )
    assert all(row.exact or row.left_to_mpi for row in replay_fidelity(found.kernel, found.model))
    assert_equal(found)
    assert compare_models(found.model, found.again).differences == ()


def test_stdio_programs_are_replayed_by_their_system_calls(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "gcc")
    program = compile_c("stdio_calls.c", tmp_path / "program")
    assert_equal(go_round("none", [str(program)], tmp_path, monkeypatch))


def test_abyss_like_reads_with_seeks_that_move_nothing(tmp_path, monkeypatch):
    """ABYSS-P's reads: 8191 bytes, some lseek(fd, 0, SEEK_CUR) after each, a short last read, one of 0."""
    need("libwavetank-trace.so", "gcc")
    source = tmp_path / "reader.c"
    source.write_text(
        """
        #include <fcntl.h>
        #include <unistd.h>
        int main(void) {
            char b[8191];
            int fd = open("reads.fq", O_RDONLY);
            while (read(fd, b, sizeof b) > 0)
                for (int i = 0; i < 3; i++)
                    lseek(fd, 0, SEEK_CUR);
            close(fd);
            return 0;
        }
        """
    )
    subprocess.run(["gcc", "-o", str(tmp_path / "reader"), str(source)], check=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "reads.fq").write_bytes(b"x" * 100_000)
    found = go_round("none", [str(tmp_path / "reader")], tmp_path, monkeypatch)
    assert_equal(found)
    # 100000 / 8191 = 12.2: 13 reads that move something, 3 seeks after each
    assert found.again.phases[0].ph_nrep == 13
    assert found.again.phases[0].metadata_ops["lseek (moves nothing)"] == 39


def test_names_directories_and_mappings_are_replayed(tmp_path, monkeypatch):
    """A file is written, mapped, renamed, linked, read by its new name, and all is removed."""
    need("libwavetank-trace.so", "gcc")
    source = tmp_path / "names.c"
    source.write_text(
        """
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/stat.h>
        #include <unistd.h>
        int main(void) {
            char b[4096] = {1};
            mkdir("d", 0755);
            int fd = open("d/a", O_CREAT | O_RDWR | O_TRUNC, 0644);
            for (int i = 0; i < 8; i++)
                if (write(fd, b, sizeof b) != sizeof b)
                    return 1;
            void *m = mmap(0, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            msync(m, 32768, MS_SYNC);
            munmap(m, 32768);
            close(fd);
            rename("d/a", "d/b");
            link("d/b", "d/c");
            fd = open("d/b", O_RDONLY);
            for (int i = 0; i < 8; i++)
                if (read(fd, b, sizeof b) != sizeof b)
                    return 1;
            close(fd);
            unlink("d/c");
            unlink("d/b");
            return rmdir("d");
        }
        """
    )
    subprocess.run(["gcc", "-o", str(tmp_path / "names"), str(source)], check=True)
    found = go_round("none", [str(tmp_path / "names")], tmp_path, monkeypatch)
    assert compare_models(found.model, found.again).differences == ()
    assert not any("left out:" in sentence for sentence in texts(found.kernel.notes))
    # what the program removed, its replay removed too
    assert sorted(path.name for path in (tmp_path / "root").iterdir() if path.name[0] != ".") == []


def test_a_script_whose_processes_hand_files_on(tmp_path, monkeypatch):
    """Each process is a rank of its own: the reader waits for the writer, the removal for the reader."""
    need("libwavetank-trace.so", "dd")
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    script = tmp_path / "chain.sh"
    script.write_text(
        "#!/bin/sh\n"
        "dd if=/dev/zero of=one.dat bs=8192 count=40 2>/dev/null\n"
        "dd if=one.dat of=two.dat bs=4096 2>/dev/null\n"
        "rm one.dat\n"
    )
    script.chmod(0o755)
    found = go_round("openmpi", [str(script)], tmp_path, monkeypatch)
    differences = compare_models(found.model, found.again).differences
    # its opens were inherited, and are the replay's ranks' own: the order of calls differs, nothing else
    assert {difference.field for difference in differences} <= {"order of operations"}
    assert not (tmp_path / "root" / "one.dat").exists()
    assert (tmp_path / "root" / "two.dat").stat().st_size == 40 * 8192


def test_a_real_assembler(tmp_path, monkeypatch):
    """ABYSS-P of Debian runs on Open MPI, and so does the replay of its kernel."""
    family = "openmpi"
    need("libwavetank-trace-openmpi.so", ABYSS, FAMILIES[family][2][0])
    (tmp_path / "work").mkdir()
    write_reads(tmp_path / "work")
    found = go_round(family, command(4), tmp_path, monkeypatch)
    assert all(row.exact for row in replay_fidelity(found.kernel, found.model))
    assert_equal(found)
    assert compare_models(found.model, found.again).differences == ()
