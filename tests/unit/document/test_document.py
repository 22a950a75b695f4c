"""Documents and specifications: written whole, read with every finding, never half."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

from wavetank.document import Document, Record, check_writable, provenance, sha256_of, write_whole
from wavetank.errors import DocumentError, SpecError
from wavetank.specification import read_yaml
from wavetank.units import Size


class Note(Document):
    kind: ClassVar[str] = "note"

    text: str


class Shelf(Record):
    name: str
    width: Size = 0
    boards: int = 1


def yaml_error(tmp_path: Path, text: str) -> str:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(SpecError) as caught:
        read_yaml(tmp_path / "s.yaml", Shelf, "shelf")
    return str(caught.value)


def test_a_document_comes_back_as_it_was_written(tmp_path: Path) -> None:
    note = Note(provenance=provenance(seed=3), text="ünïcode")
    note.write(tmp_path / "n.json")
    assert Note.read(tmp_path / "n.json") == note
    assert json.loads((tmp_path / "n.json").read_text())["schema"] == "wavetank.note/1"


def test_provenance_says_command_host_time_and_the_hashes_of_inputs(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"abc")
    made = provenance([tmp_path / "in"])
    # SHA-256 of "abc": FIPS 180-2, appendix B.1.
    assert made.inputs[0].sha256.startswith("ba7816bf8f01cfea414140de5dae2223")
    assert made.command and made.host.n_cpus >= 1 and made.created_utc.endswith("+00:00")


def test_a_folder_s_hash_changes_with_a_file_s_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = sha256_of(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert sha256_of(tmp_path) != before


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DocumentError, match="cannot write"):
        write_whole(tmp_path / "folder" / "missing" / "n.json", "new")
    (tmp_path / "n.json").mkdir()  # a directory where the file should go
    with pytest.raises(DocumentError, match="cannot write"):
        write_whole(tmp_path / "n.json", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "n.json"]


def test_all_findings_of_a_specification_are_reported_with_their_places(tmp_path: Path) -> None:
    message = yaml_error(tmp_path, "nam: a\nwidth: 3 elephants\nboards: many\n")
    for part in (
        "nam: no such key",
        "name: this key is required",
        "width: '3 elephants'",
        "'many'",
    ):
        assert part in message


def test_a_wrong_value_is_quoted(tmp_path: Path) -> None:
    assert "boards: 'few' is no whole number" in yaml_error(tmp_path, "name: a\nboards: few\n")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    message = yaml_error(tmp_path, "name: a\nname: b\n")
    assert "'name' stands twice" in message
    assert "line 2" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "is empty"), ("- a\n- b\n", "not a list"), ("name: [", "not valid YAML")],
)
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in yaml_error(tmp_path, text)


def test_a_yaml_file_cannot_make_python_objects(tmp_path: Path) -> None:
    assert "not valid YAML" in yaml_error(tmp_path, "name: !!python/object/apply:os.getcwd []\n")


def test_a_missing_file_is_said_without_errno(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"cannot read shelf file .*none.yaml: No such file"
    ) as caught:
        read_yaml(tmp_path / "none.yaml", Shelf, "shelf")
    assert "Errno" not in str(caught.value)


def test_a_binary_file_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="not a text file"):
        Note.read(tmp_path / "n.json")


def test_an_output_is_checked_before_the_work_and_nothing_is_made(tmp_path):
    check_writable(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DocumentError, match="no directory"):
        check_writable(tmp_path / "none" / "new.json")
    with pytest.raises(DocumentError, match="is a directory"):
        check_writable(tmp_path)


def test_a_named_pipe_is_written_into_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_device_stays_one_and_a_full_one_is_an_error() -> None:
    write_whole(Path("/dev/null"), "content")
    with pytest.raises(DocumentError, match="No space left"):
        write_whole(Path("/dev/full"), "content")
    assert Path("/dev/null").is_char_device() and Path("/dev/full").is_char_device()


def test_a_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("before")
    link.symlink_to(target.name)
    write_whole(link, "after")
    assert link.is_symlink() and target.read_text() == "after"
