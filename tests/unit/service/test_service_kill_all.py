"""The process is killed at every point of its stories, before and after every commit and everything that lasts."""

from __future__ import annotations

import pytest
import test_service_kill
import test_service_own_servers
from service_fakes import see_all_is_as_wanted
from service_killing import DONE, KILLED, ended


@pytest.mark.parametrize(
    ("story", "see"),
    [
        (test_service_kill.run, see_all_is_as_wanted),
        (test_service_own_servers.story, test_service_own_servers.see_one_is_there),
    ],
    ids=["spaces", "servers of their own"],
)
def test_a_kill_at_any_point_is_made_good_by_the_next_process(tmp_path, story, see):
    whole = tmp_path / "whole"
    whole.mkdir()
    n = story(whole)
    see(whole)
    assert n > test_service_kill.N_POINTS
    for point in range(1, n + 1):
        folder = tmp_path / str(point)
        folder.mkdir()
        assert ended(lambda: story(folder, point)) == KILLED, point  # noqa: B023 - called at once
        assert ended(lambda: story(folder)) == DONE, point  # noqa: B023
        see(folder)
