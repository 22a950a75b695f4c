"""The C header and the Python reader agree, and damaged parts never crash the reader."""

import contextlib
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracer_run import compile_c, need, run_traced

from waiting import HANG_S
from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace import part as parts
from wavetank.trace import tail
from wavetank.trace.arguments import ARGUMENTS, Memory
from wavetank.trace.decoder import COLUMNS, DamagedRowsError, decode_rows
from wavetank.trace.ops import DATA_KINDS, OPS
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Level, OpKind

NATIVE = Path(__file__).parents[2] / "native"
HEADER = NATIVE / "include" / "wavetank_trace.h"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Sizes and offsets as the C compiler sees them."""
    need("libwavetank-trace-decode.so", "gcc")
    where = tmp_path_factory.mktemp("facts")
    source = where / "facts.c"
    source.write_text(
        '#include "wavetank_trace.h"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n'
        'printf("part_header %zu\\n", sizeof(struct wt_part_header));\n'
        'printf("block_header %zu\\n", sizeof(struct wt_block_header));\n'
        'printf("tail_header %zu\\n", offsetof(struct wt_tail, rows));\n'
        'printf("part_length %zu\\n", offsetof(struct wt_tail, part_length));\n'
        'printf("version %d\\nmax_payload %u\\nblock_magic %u\\n", WT_VERSION, WT_MAX_PAYLOAD,'
        " WT_BLOCK_MAGIC);\n"
        "return 0;\n}\n"
    )
    program = where / "facts"
    subprocess.run(
        ["gcc", f"-I{HEADER.parent}", "-o", str(program), str(source)], check=True, timeout=HANG_S
    )
    lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )
    return {name: int(value) for name, value in (line.split() for line in lines if line)}


def test_structures_have_the_same_layout(facts: dict[str, int]) -> None:
    assert facts["part_header"] == parts.HEADER.size
    assert facts["block_header"] == parts.BLOCK_HEADER.size
    assert facts["tail_header"] == tail.HEADER.size


def test_constants_are_the_same(facts: dict[str, int]) -> None:
    assert facts["version"] == parts.VERSION == tail.VERSION
    assert facts["max_payload"] == parts.MAX_PAYLOAD
    assert facts["block_magic"] == parts.BLOCK_MAGIC


def test_the_table_of_operations_is_the_same() -> None:
    rows = re.findall(r'X\((\d+), \w+, "([^"]+)", (\d), (\w+), (\d)\)', HEADER.read_text())
    in_c = {
        (int(code), name, int(level), kind, collective == "1")
        for code, name, level, kind, collective in rows
    }
    in_python = {
        (op.code, op.name, int(op.level), op.kind.name, op.collective) for op in OPS.values()
    }
    assert in_c == in_python


def test_what_rows_say_of_their_calls_is_the_same() -> None:
    text = HEADER.read_text()
    names = dict(re.findall(r'X\(\d+, (\w+), "([^"]+)", \d, \w+, \d\)', text))
    listed = text[text.index("#define WT_ARGUMENTS(X)") :]
    in_c = {names[name]: what.lower() for name, what in re.findall(r"X\((\w+), (\w+)\)", listed)}
    ordering = {op.name: "communicator" for op in OPS.values() if op.kind is OpKind.SYNC_RANKS}
    by_mpi = [op for op in OPS.values() if op.level == Level.MPIIO]
    moving = {op.name: "memory" for op in by_mpi if op.kind in DATA_KINDS}
    assert {**in_c, **ordering, **moving} == {name: said.value for name, said in ARGUMENTS.items()}


def test_the_replay_asks_by_name_what_calls_were_given() -> None:
    """Only whoever knows the meaning of a step's number may read it: the shared table, and calls that hand it on."""
    knows = (
        "wt_given(",
        "wt_completes_all(",
        "wt_cuts_file(",
        "wt_plan_number(",
        ".arg = step->arg",
    )
    read = [
        (path.name, statement)
        for path in sorted((NATIVE / "replay").rglob("*.[ch]"))
        for statement in re.split(r"[;{}]", path.read_text())
        if re.search(r"(->|\w\.)arg\b", statement)
    ]
    assert len(read) > 10
    assert [one for one in read if not any(name in one[1] for name in knows)] == []


def test_what_is_said_of_memory_and_what_is_noted_is_the_same() -> None:
    text = HEADER.read_text()
    memory = re.findall(r"WT_MEMORY_(\w+) = (\d+)", text)
    assert {name: int(number) for name, number in memory} == {one.name: one.value for one in Memory}
    notes = re.findall(r"WT_NOTE_(\w+) = (\d+)", text)
    assert {name: getattr(parts, f"NOTE_{name}") for name, _ in notes} == {
        name: int(number) for name, number in notes
    }


def test_the_decoder_s_columns_are_in_the_header_s_order() -> None:
    text = (NATIVE / "decode" / "decode.h").read_text()
    body = text[text.index("struct wt_columns {") : text.index("};")]
    types = {"int64_t": "int64", "int32_t": "int32", "uint8_t": "uint8"}
    in_c = [(name, types[kind]) for kind, name in re.findall(r"(\w+) \*(\w+);", body)]
    assert in_c == [(name, dtype.__name__) for name, dtype in COLUMNS]


@pytest.fixture(scope="module")
def part_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real part."""
    need("libwavetank-trace-decode.so", "gcc")
    need("libwavetank-trace-openmpi.so")
    where = tmp_path_factory.mktemp("fuzzed")
    program = compile_c("posix_calls.c", where / "posix_calls")
    with pytest.MonkeyPatch.context() as monkeypatch:
        run_traced([str(program)], where, monkeypatch)
    return next((where / "run.trace").glob("part-*.wt")).read_bytes()


def test_a_part_cut_anywhere_is_good_up_to_the_cut(part_bytes: bytes, tmp_path: Path) -> None:
    path = tmp_path / "part-x-1-0.wt"
    seen = set()
    for length in range(0, len(part_bytes), 7):
        path.write_bytes(part_bytes[:length])
        try:
            part = parts.read_part(path)
        except TraceError as error:
            assert length < parts.HEADER.size, str(error)
            continue
        seen.add(len(part.columns["seq"]))
        whole = length in {len(part_bytes)}
        assert whole or part.damage is not None or not part.ended
    assert seen  # some cuts leave rows, some none


def test_totals_of_rows_are_the_same_without_the_rows(part_bytes: bytes, tmp_path: Path) -> None:
    path = tmp_path / "part-x-1-0.wt"
    chance = random.Random(3)
    some = False
    for turn in range(60):
        n = (
            len(part_bytes)
            if turn == 0
            else chance.randrange(parts.HEADER.size, len(part_bytes) + 1)
        )
        content = bytearray(part_bytes[:n])
        if turn and chance.random() < 0.5:
            content[chance.randrange(parts.HEADER.size, len(content) + 1) - 1] ^= 0x10
        path.write_bytes(bytes(content))
        try:
            whole = parts.read_part(path, loops=True)
        except TraceError:
            continue
        totals = parts.read_part(path, loops=True, rows=False)
        assert totals.rows is None
        assert totals.totals == whole.totals
        assert totals.totals.operations == int(whole.columns["count"].sum())
        assert totals.damage == whole.damage
        assert list(totals.files.texts) == list(whole.files.texts)
        some |= whole.totals.operations > 0
    assert some


def test_any_flipped_byte_is_noticed_or_harmless(part_bytes: bytes, tmp_path: Path) -> None:
    path = tmp_path / "part-x-1-0.wt"
    chance = random.Random(7)
    for _ in range(300):
        content = bytearray(part_bytes)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(content))
        try:
            trace = read_trace(tmp_path)
        except TraceError:
            continue
        assert (trace.folds.count >= 1).all()


@given(st.binary(max_size=400))
@settings(max_examples=500, deadline=None)
def test_the_decoder_takes_any_bytes(payload: bytes) -> None:
    need("libwavetank-trace-decode.so")
    for content in (payload, b"G" + payload, b"G\x0c\x02\x01\x03\x01\x01\x00" + payload):
        with contextlib.suppress(DamagedRowsError):
            decode_rows(content)


def test_rows_damaged_behind_their_checksum_are_left_out(part_bytes: bytes, tmp_path: Path) -> None:
    import zlib

    path = tmp_path / "part-x-1-0.wt"
    chance = random.Random(11)
    for _ in range(200):
        content = bytearray(part_bytes)
        at = parts.HEADER.size
        while at < len(content):  # damage a payload and make its checksum fit again
            _, _, length, _ = parts.BLOCK_HEADER.unpack_from(content, at)
            start = at + parts.BLOCK_HEADER.size
            for _ in range(3):
                content[start + chance.randrange(length)] = chance.randrange(256)
            struct.pack_into(
                "<I", content, at + 12, zlib.crc32(bytes(content[start : start + length]))
            )
            at = start + length
        path.write_bytes(bytes(content))
        try:
            read_trace(tmp_path)
        except TraceError:
            continue


IRREGULAR = """
import os, random
chance = random.Random(5)
fd = os.open("data.bin", os.O_CREAT | os.O_WRONLY)
for _ in range(20000):
    os.pwrite(fd, bytes(chance.randrange(1, 4000)), chance.randrange(1 << 30))
"""


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 20000 irregular writes."""
    need("libwavetank-trace-openmpi.so")
    where = tmp_path_factory.mktemp("long")
    with pytest.MonkeyPatch.context() as monkeypatch:
        run_traced([sys.executable, "-c", IRREGULAR], where, monkeypatch)
    return where / "run.trace"


def block_lengths(content: bytes) -> list[int]:
    at, lengths = parts.HEADER.size, []
    while at < len(content):
        lengths.append(parts.BLOCK_HEADER.unpack_from(content, at)[2])
        at += parts.BLOCK_HEADER.size + lengths[-1]
    return lengths


def test_blocks_are_small_and_their_headers_cost_little(long_trace: Path) -> None:
    content = next(long_trace.glob("part-*.wt")).read_bytes()
    lengths = block_lengths(content)
    # 8 KiB, and the group of 1024 rows that takes the block past it: rows of under 16 bytes here.
    assert max(lengths) < (8 << 10) + 1024 * 16
    assert len(lengths) * parts.BLOCK_HEADER.size < len(content) / 100


@pytest.mark.parametrize("place", [0.5, 0.9])
def test_damage_costs_only_what_comes_after_it(
    long_trace: Path, tmp_path: Path, place: float
) -> None:
    whole = read_trace(long_trace)
    assert texts(whole.notes, "lost") == ()
    folder = tmp_path / "t"
    shutil.copytree(long_trace, folder)
    path = next(folder.glob("part-*.wt"))
    content = bytearray(path.read_bytes())
    at = int(len(content) * place)
    content[at : at + 5] = bytes(byte ^ 0xFF for byte in content[at : at + 5])
    path.write_bytes(bytes(content))
    left = read_trace(folder)
    n_whole, n_left = int(whole.folds.count.sum()), int(left.folds.count.sum())
    assert n_whole >= 20000
    lost_at_most = max(block_lengths(next(long_trace.glob("part-*.wt")).read_bytes()))
    assert n_whole * (place - 0.05) - lost_at_most / 4 <= n_left < n_whole
    assert any("damaged" in sentence for sentence in texts(left.notes, "lost"))


def test_a_part_cut_between_two_blocks_is_known_by_the_index(
    long_trace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    shutil.copytree(long_trace, folder)
    path = next(folder.glob("part-*.wt"))
    content = path.read_bytes()
    path.write_bytes(content[: parts.HEADER.size])
    assert any(
        "its end is lost" in sentence for sentence in texts(read_trace(folder).notes, "lost")
    )


def test_only_asked_for_is_a_damaged_trace_modelled(long_trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    shutil.copytree(long_trace, folder)
    path = next(folder.glob("part-*.wt"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 5000])
    main = "from wavetank.cli.main import main; main()"
    model = ["-c", main, "model", str(folder), "-o", str(tmp_path / "m.json")]

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *model, *options],
            stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip

    refused = run()
    assert refused.returncode == 1
    assert "cut short" in refused.stdout
    assert "--allow-damaged" in refused.stdout
    assert not (tmp_path / "m.json").exists()
    allowed = run("--allow-damaged")
    assert allowed.returncode == 0, allowed.stdout
    assert (tmp_path / "m.json").exists()
    assert "cut short" in allowed.stdout and "Phases" in allowed.stdout
