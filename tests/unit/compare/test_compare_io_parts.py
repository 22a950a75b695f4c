"""What a row says of the I/O time's parts, and of what may be in caches."""

import pytest
from compare_fakes import configuration

from wavetank.compare.io_parts import io_parts, not_on_disk_words


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (None, None),
        (0, None),
        (512, "up to 512 bytes not on disk"),
        (209_715_200, "up to 210 MB not on disk"),
    ],
)
def test_what_may_be_in_caches_is_said_in_words(left, words):
    each = configuration("nfs", [1.0]).model_copy(update={"not_on_disk_bytes": left})
    assert not_on_disk_words(each) == words


def test_parts_that_are_not_known_are_missing():
    each = configuration("nfs", [1.0])
    assert dict(io_parts(each)) == {"data": None, "metadata": None, "flush": None}
    timed = each.model_copy(update={"flush_time_s": each.io_time_s})
    assert dict(io_parts(timed))["flush"] == each.io_time_s
