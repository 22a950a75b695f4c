"""What the tracer takes from a program stays within its bounds, whatever the program does."""

import os
import subprocess
from pathlib import Path

from tracer_run import compile_c, need

from waiting import HANG_S
from wavetank import native
from wavetank.notes import texts
from wavetank.trace.part import read_part
from wavetank.trace.reader import read_trace

MOST_KIB = 8 * 1024  # a rank
OPERATIONS = 200000
FILES = 20000
MANY = 55000


def test_the_tracer_s_memory_is_bounded_whatever_a_program_does(tmp_path: Path) -> None:
    need("libwavetank-trace-openmpi.so", "gcc")
    program = compile_c("much_memory.c", tmp_path / "much_memory")
    out = tmp_path / "run.trace"
    out.mkdir()
    library = native.find("lib/libwavetank-trace-openmpi.so", "test")
    preload = {"LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)}
    used = {}
    for name, env in (("without", {}), ("with", preload)):
        done = subprocess.run(
            [str(program)], cwd=tmp_path, env={**os.environ, **env},
            capture_output=True, text=True, check=True, timeout=HANG_S,
        )  # fmt: skip
        used[name] = int(done.stdout)
    assert used["with"] - used["without"] < MOST_KIB
    trace = read_trace(out, loops=True)
    # The open of the data; random and regular writes and reads; open, write and unlink of each file, and the
    # closes of all but those that are open at the end.
    expected = 1 + 3 * OPERATIONS + 3 * FILES + FILES - 900
    assert int(trace.folds.count.sum()) == expected
    assert texts(trace.notes) == (
        f"{out} has no index.json: the tracing command was stopped before the program ended",
    )


def test_each_of_very_many_names_is_described_once(tmp_path: Path) -> None:
    """The table of names has room for 49,152 at first, and grows."""
    need("libwavetank-trace.so", "gcc")
    program = compile_c("many_names.c", tmp_path / "many_names")
    data, out = tmp_path / "data", tmp_path / "run.trace"
    data.mkdir()
    out.mkdir()
    library = native.find("lib/libwavetank-trace.so", "test")
    subprocess.run(
        [str(program), str(MANY)], cwd=data, check=True, timeout=HANG_S,
        env={**os.environ, "LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)},
    )  # fmt: skip
    files = read_part(next(out.glob("part-*.wt"))).files
    names = sorted(Path(name).name for name in files.texts.take(files.path))
    assert names == [f"f{i:07d}" for i in range(MANY)]
