"""What ``wavetank trace`` tells of a run is what reading its trace tells, although it reads no rows."""

from pathlib import Path

import pytest
from tracer_run import need

from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.reader import read_trace

SCRIPTS = {
    # 300 operations that fold, and 40 files
    "files": "for i in $(seq 40); do echo $i > f$i; done; dd if=/dev/zero of=big bs=4096 count=300 2>/dev/null; cat f7 f7",
    "links": "echo a > a; ln -s a l; cat l; ln a h; cat h; mv h g; cat g; mkdir d; ls d",
    # Its last operations are in a tail.
    "killed": "echo a > a; exec 5> b; echo x >&5; echo y >&5; kill -9 $$",
    "nothing": "true",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trace_without_its_rows_is_the_same_trace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    captured = trace(["sh", "-c", SCRIPTS[name]], tmp_path / "run.trace", CaptureOptions())
    whole = read_trace(tmp_path / "run.trace", loops=True)
    told = captured.trace
    assert len(told.folds) == 0
    assert captured.n_operations == int(whole.folds.count.sum())
    assert captured.n_operations > 0 or name == "nothing"
    assert told.n_folds == whole.n_folds
    assert told.files == whole.files
    assert told.ranks == whole.ranks
    recorded = told.elapsed_s if told.elapsed_s is not None else captured.index.elapsed_s
    assert recorded == whole.elapsed_s
    assert texts(told.notes, "lost") == texts(whole.notes, "lost")
    assert captured.index.n_files == len({file.path for file in whole.files})
    assert [file.path for file in captured.index.files] == list(
        dict.fromkeys(file.path for file in whole.files)
    )
