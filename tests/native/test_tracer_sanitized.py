"""The tracer built with address and undefined behaviour sanitizers runs the same programs without a finding."""

import os
import subprocess
from pathlib import Path

import pytest
from tracer_run import FAMILIES, PROGRAMS, compile_c, need

from wavetank.trace import part as parts
from wavetank.trace.reader import read_trace

NATIVE = Path(__file__).parents[2] / "native"
FINDINGS = ("AddressSanitizer", "runtime error", "LeakSanitizer")


def asan() -> str:
    """The sanitizer's library, which must be loaded first."""
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    ).stdout.strip()
    if not Path(found).exists():
        pytest.skip("gcc has no address sanitizer")
    return found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("libwavetank-trace-openmpi.so", "gcc", "cmake", "ninja", FAMILIES["openmpi"][0])
    where = tmp_path_factory.mktemp("sanitized")
    subprocess.run(
        ["cmake", "-S", str(NATIVE), "-B", str(where), "-G", "Ninja", "-DWAVETANK_SANITIZE=ON"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    subprocess.run(
        ["cmake", "--build", str(where), "--target", "wavetank-trace-openmpi"], check=True, capture_output=True, timeout=280
    )  # fmt: skip
    return where / "tracer" / "libwavetank-trace-openmpi.so"


@pytest.mark.parametrize(
    ("source", "flags", "ranks"),
    [
        ("posix_calls.c", (), 0),
        ("stdio_calls.c", (), 0),
        ("processes.c", ("-pthread",), 0),
        ("mpiio_calls.c", (), 2),
        ("mpiio_all.c", (), 2),
    ],
)
def test_no_sanitizer_finds_anything(
    library: Path, tmp_path: Path, source: str, flags: tuple[str, ...], ranks: int
) -> None:
    compiler, _, launcher = FAMILIES["openmpi"]
    program = compile_c(source, tmp_path / "program", *flags, compiler=compiler if ranks else "gcc")
    out = tmp_path / "run.trace"
    out.mkdir()
    env = {
        "LD_PRELOAD": f"{asan()}:{library}",
        "WAVETANK_TRACE_DIR": str(out),
        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
    }
    argv, full = [str(program)], {**os.environ, **env}
    if ranks:
        exported = [word for name, value in env.items() for word in ("-x", f"{name}={value}")]
        argv, full = [*launcher, "-np", str(ranks), *exported, *argv], dict(os.environ)
    done = subprocess.run(
        argv, cwd=tmp_path, env=full, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not any(word in done.stderr for word in FINDINGS), done.stderr
    assert len(read_trace(out).folds) > 0


def test_the_decoder_survives_fifty_thousand_damaged_payloads(tmp_path: Path) -> None:
    need("libwavetank-trace-openmpi.so", "gcc")
    asan()
    traced = compile_c("posix_calls.c", tmp_path / "posix_calls")
    out = tmp_path / "run.trace"
    out.mkdir()
    from wavetank import native

    library = native.find("lib/libwavetank-trace-openmpi.so", "test")
    subprocess.run(
        [str(traced)], cwd=tmp_path, check=True, timeout=60,
        env={**os.environ, "LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)},
    )  # fmt: skip
    content = next(out.glob("part-*.wt")).read_bytes()
    at, payload = parts.HEADER.size, b""
    while at < len(content):
        _, kind, length, _ = parts.BLOCK_HEADER.unpack_from(content, at)
        at += parts.BLOCK_HEADER.size
        payload += content[at : at + length] if kind == parts.BLOCK_ROWS else b""
        at += length
    (tmp_path / "payload").write_bytes(payload)
    program = tmp_path / "fuzz"
    subprocess.run(
        ["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{NATIVE / 'include'}",
         f"-I{NATIVE / 'tracer'}", "-o", str(program), str(PROGRAMS / "fuzz_decode.c"), str(NATIVE / "tracer" / "decode.c")],
        check=True, timeout=120,
    )  # fmt: skip
    done = subprocess.run(
        [str(program), str(tmp_path / "payload"), "50000"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
