"""How much ranks on this machine have moved."""

import shutil
import subprocess

from waiting import HANG_S, until
from wavetank.kernel.execution.moved import Moved

SIZE = 100_000
SCRIPT = 'read -r line; printf %s "$line" >/dev/null; echo moved; read -r end'


def test_bytes_of_ranks_are_counted_and_of_nothing_else(tmp_path):
    rank, other = tmp_path / "wavetank-replay-test", tmp_path / "wavetank-other"
    for program in (rank, other):
        program.symlink_to(shutil.which("sh"))
    word = f"--plan={tmp_path}/plan.txt"
    told: list[int] = []
    moved = Moved(word, told.append)
    started = [
        subprocess.Popen([program, "-c", SCRIPT, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for program, name in ((rank, word), (rank, "--plan=/another"), (other, word))
    ]  # fmt: skip
    try:
        for process in started:
            process.stdin.write("x" * SIZE + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "moved\n"
        until(lambda: moved.look() or (told and told[-1] >= 2 * SIZE))
        assert told[-1] < 3 * SIZE
    finally:
        for process in started:
            process.communicate("end\n", timeout=HANG_S)
    n = len(told)
    until(lambda: moved.look() or len(told) > n)
    assert told[-1] >= told[n - 1]  # what has ended still counts
