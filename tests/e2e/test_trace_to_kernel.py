"""From the real assembler to its kernel, by the commands that a user types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

# What ABySS does with an input file: its stream reads through a buffer of 8191 bytes until a read
# returns 0 (P18 table 3: rs 8191). ceil(size / 8191) reads move data, one more sees the end.
REQUEST_BYTES = 8191


def read_phases(folder: Path) -> dict[str, dict[str, object]]:
    """The phases that read an input file, by the file's name."""
    model = json.loads((folder / "abyss.model.json").read_text())
    names = {file["file_id"]: Path(file["file_name"]).name for file in model["files"]}
    return {
        names[phase["file_id"]]: phase
        for phase in model["phases"]
        if names[phase["file_id"]].startswith("reads") and phase["pattern"][0]["iop_type"] == "read"
    }


@pytest.mark.parametrize(("name", "rank"), [("reads1.fastq", 0), ("reads2.fastq", 1)])
def test_each_input_file_is_one_phase_of_one_rank_with_the_requests_the_program_really_uses(
    assembled: Path, name: str, rank: int
) -> None:
    phase = read_phases(assembled)[name]
    size = (assembled / name).stat().st_size
    assert phase["ph_processid"] == [rank]
    assert [member["rs"] for member in phase["pattern"]] == [REQUEST_BYTES]
    assert [member["disp"] for member in phase["pattern"]] == [REQUEST_BYTES]
    assert phase["ph_weight"] == size
    full_and_short = -(-size // REQUEST_BYTES)
    assert phase["ph_niop"] in (full_and_short, full_and_short + 1)


def test_the_model_holds_the_writes_at_the_end(assembled: Path) -> None:
    model = json.loads((assembled / "abyss.model.json").read_text())
    (contigs,) = [file for file in model["files"] if Path(file["file_name"]).name == "contigs.fa"]
    assert contigs["file_fileaccesstype"] == "W"
    written = sum(
        phase["ph_weight"] for phase in model["phases"] if phase["file_id"] == contigs["file_id"]
    )
    assert written == (assembled / "contigs.fa").stat().st_size


def test_bytes_moved_are_the_same_in_model_and_kernel(assembled: Path) -> None:
    model = json.loads((assembled / "abyss.model.json").read_text())
    kernel = json.loads((assembled / "abyss.kernel.json").read_text())
    assert sum(phase["ph_weight"] for phase in kernel["phases"]) == model["app_st"]


def test_the_nearest_ior_lines_say_that_8191_becomes_8192(assembled: Path) -> None:
    kernel = json.loads((assembled / "abyss.kernel.json").read_text())
    reading = [line for line in kernel["ior"] if " -r " in line["command"]]
    assert reading
    for line in reading:
        assert "-t 8192" in line["command"]
        assert any("8191" in note["text"] for note in line["not_reproduced"])
