"""The tracer built with address and undefined behaviour sanitizers runs the same programs without a finding."""

import os
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tracer_run import FAMILIES, PROGRAMS, Call, calls, compile_c, need

from made_once import made_once
from waiting import HANG_S
from wavetank import native
from wavetank.trace import part as parts
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Trace

NATIVE = Path(__file__).parents[2] / "native"
FINDINGS = ("AddressSanitizer", "runtime error", "LeakSanitizer")


def asan() -> str:
    """The sanitizer's library, which must be loaded first."""
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    ).stdout.strip()
    if not Path(found).exists():
        pytest.skip("gcc has no address sanitizer")
    return found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("libwavetank-trace-openmpi.so", "gcc", "cmake", "ninja", FAMILIES["openmpi"][0])

    def make(where: Path) -> None:
        for words in (
            ["-S", str(NATIVE), "-B", str(where), "-G", "Ninja", "-DWAVETANK_SANITIZE=ON"],
            ["--build", str(where), "--target", "wavetank-trace-openmpi"],
        ):
            subprocess.run(["cmake", *words], check=True, capture_output=True, timeout=HANG_S)

    where = made_once(tmp_path_factory, "sanitized", make)
    return where / "tracer" / "libwavetank-trace-openmpi.so"


def run(
    where: Path, program: Path, arguments: tuple[str, ...], ranks: int, preload: str
) -> tuple[Trace, str]:
    """The trace of a program under a library, and its standard error."""
    where.mkdir()
    out = where / "run.trace"
    out.mkdir()
    env = {
        "LD_PRELOAD": preload,
        "WAVETANK_TRACE_DIR": str(out),
        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
    }
    argv, full = [str(program), *arguments], {**os.environ, **env}
    if ranks:
        exported = [word for name, value in env.items() for word in ("-x", f"{name}={value}")]
        argv = [*FAMILIES["openmpi"][2], "-np", str(ranks), *exported, *argv]
        full = dict(os.environ)
    done = subprocess.run(
        argv, cwd=where, env=full, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return read_trace(out), done.stderr


def recorded(trace: Trace) -> Counter[tuple[int, Call]]:
    """Calls of all ranks, in any order: threads and ranks take turns, also at a shared file pointer."""
    found: Counter[tuple[int, Call]] = Counter()
    by_shared_pointer = any("shared" in call.op for call in calls(trace))
    for rank in range(trace.n_ranks):
        found.update(
            (rank, replace(call, offset=0) if by_shared_pointer else call)
            for call in calls(trace, rank)
        )
    return found


@pytest.mark.parametrize(
    ("source", "flags", "arguments", "ranks"),
    [
        ("posix_calls.c", (), (), 0),
        ("stdio_calls.c", (), (), 0),
        ("loop_calls.c", (), ("300",), 0),
        ("processes.c", ("-pthread",), (), 0),
        ("mpiio_calls.c", (), (), 2),
        ("mpiio_all.c", (), (), 2),
        ("mpi_collectives.c", (), (), 4),
        ("raw_calls.c", (), ("data",), 0),
    ],
)
def test_the_sanitized_tracer_records_the_same_without_a_finding(
    library: Path,
    tmp_path: Path,
    source: str,
    flags: tuple[str, ...],
    arguments: tuple[str, ...],
    ranks: int,
) -> None:
    compiler = FAMILIES["openmpi"][0] if ranks else "gcc"
    program = compile_c(source, tmp_path / "program", *flags, compiler=compiler)
    usual = str(native.find("lib/libwavetank-trace-openmpi.so", "test"))
    sanitized, errors = run(
        tmp_path / "sanitized", program, arguments, ranks, f"{asan()}:{library}"
    )
    assert not any(word in errors for word in FINDINGS), errors
    plain, _ = run(tmp_path / "plain", program, arguments, ranks, usual)
    assert recorded(sanitized) == recorded(plain)


@pytest.mark.parametrize(("kind", "arguments"), [("rows", ("60",)), ("tail", ("60", "kill"))])
def test_the_decoder_survives_thousands_of_damaged_inputs(
    tmp_path: Path, kind: str, arguments: tuple[str, ...]
) -> None:
    need("libwavetank-trace-openmpi.so", "gcc")
    asan()
    traced = compile_c("loop_calls.c", tmp_path / "loop_calls")
    out = tmp_path / "run.trace"
    out.mkdir()
    library = native.find("lib/libwavetank-trace-openmpi.so", "test")
    subprocess.run(
        [str(traced), *arguments], cwd=tmp_path, check=False, timeout=HANG_S,
        env={**os.environ, "LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)},
    )  # fmt: skip
    pattern = {"rows": "part-*.wt", "tail": "part-*.tail"}[kind]
    content = next(out.glob(pattern)).read_bytes()
    content = payloads(content) if kind == "rows" else content
    (tmp_path / "content").write_bytes(content)
    program = tmp_path / "fuzz"
    sources = [str(path) for path in sorted((NATIVE / "decode").glob("decode*.c"))]
    subprocess.run(
        ["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{NATIVE / 'include'}",
         f"-I{NATIVE / 'decode'}", "-o", str(program), str(PROGRAMS / "fuzz_decode.c"), *sources],
        check=True, timeout=HANG_S,
    )  # fmt: skip
    turns = "10000" if kind == "rows" else "1000"  # a tail is 3 MiB
    done = subprocess.run(
        [str(program), str(tmp_path / "content"), turns, kind],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def payloads(content: bytes) -> bytes:
    """The rows of a part's blocks."""
    at, found = parts.HEADER.size, b""
    while at < len(content):
        _, kind, length, _ = parts.BLOCK_HEADER.unpack_from(content, at)
        at += parts.BLOCK_HEADER.size
        found += content[at : at + length] if kind == parts.BLOCK_ROWS else b""
        at += length
    return found
