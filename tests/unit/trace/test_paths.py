"""What is the application's own file, by its path."""

import re
from pathlib import Path

import pytest

from wavetank.trace.paths import is_kept

FILTER = Path(__file__).parents[3] / "native/tracer/files/filter.c"
OF_THE_TRACER_ALONE = {"/bin/python", "/.pyenv/", "/memfd:wavetank", "/.wavetank-copy."}


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/ompi.node1.0/pid.12/contact.txt",
        "/tmp/prte.node1.12.0/pmix.sys",
        "/tmp/prterun.node1.12.0/pmix-gds-shmem2.node1-0.12",
        "/work/out.locktest.0",
    ],
)
def test_files_that_mpi_libraries_make_for_themselves_are_left_out(path: str) -> None:
    assert not is_kept(path)


@pytest.mark.parametrize("path", ["/work/out.dat", "/tmp/prterunner.txt", "/work/pmix-gds/in"])
def test_files_of_the_application_are_kept(path: str) -> None:
    assert is_kept(path)


def test_importers_leave_out_what_the_tracer_does() -> None:
    found = re.search(r"code_parts\[\] = \{(.*?)\};", FILTER.read_text(), re.DOTALL)
    assert found is not None
    parts = set(re.findall(r'"([^"]+)"', found[1])) - OF_THE_TRACER_ALONE
    assert len(parts) > 10
    assert [part for part in sorted(parts) if is_kept(f"/work/a{part}b")] == []
