"""What all tests share: in continuous integration nothing that it must have may be skipped."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

MUST_RUN = {"cluster", "browser", "e2e"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip of a must-run test into a failure where CI is set.

    A test marked ``optional`` covers a program that no Debian package brings; it may be skipped.
    """
    report = yield
    marks = {mark.name for mark in item.iter_markers()}
    if report.skipped and os.environ.get("CI") and marks & MUST_RUN and "optional" not in marks:
        report.outcome = "failed"
        report.longrepr = f"skipped where it must run: {report.longrepr}"
    return report
