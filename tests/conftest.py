"""What all tests share: in continuous integration nothing that it must have may be skipped."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tiers

DOES_NOT_APPLY = "does not apply: "
"""Begins the reason of a skip that no package could cure, e.g. shared files on a cluster that has none."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tier``."""
    parser.addoption(
        "--tier", choices=tiers.TIERS, help="run the tests of one tier (tests/tiers.py)"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of other tiers without importing them."""
    tier = config.getoption("--tier")
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if tier and is_test and not tiers.runs(collection_path, tier) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the tier leaves out of a file: other clusters."""
    if tier := config.getoption("--tier"):
        kept: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            (kept if tiers.runs_item(item, tier) else left_out).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which other tiers test what changed."""
    if config.getoption("--tier") == "test" and (asked := tiers.asked_for()):
        terminalreporter.section("what changed is also tested by")
        for line in tiers.in_words(asked):
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where CI is set: there, everything is installed.

    Two kinds of skip stay: tests marked ``optional`` cover a program that no Debian package brings,
    and reasons that begin with ``DOES_NOT_APPLY``.
    """
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        allowed = DOES_NOT_APPLY in reason or item.get_closest_marker("optional") is not None
        if not allowed:
            report.outcome = "failed"
            report.longrepr = f"skipped where it must run: {reason}"
    return report


def pytest_configure() -> None:
    """Let tests interrupt themselves and what they start, also where the run was started in the background.

    A shell starts background programs with SIGINT ignored, ``nohup`` with SIGHUP, and programs inherit it. No test with generated inputs
    depends on how quickly one of them is done: other programs may be at work.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Two ranks of ABYSS-P 2.3.5 that send to each other while both have a message to read wait for ever (seen on a busy
    # machine): its messages of up to 16 KiB are sent without waiting for the other's receive.
    os.environ.setdefault("OMPI_MCA_btl_vader_eager_limit", "32768")
    # Tests start the command line thousands of times: compiling its modules each time would be half of the suite.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Some tests run a part of the suite inside of something, and read what it prints: this run's options are not theirs.
    os.environ.pop("PYTEST_ADDOPTS", None)
    settings.register_profile(
        "no times", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("no times")
    _refuse_two_test_files_of_one_name()
    if rows := tiers.rows_without_tests():
        raise pytest.UsageError(f"tests/tiers.py names {', '.join(rows)}: no such tests")


def _refuse_two_test_files_of_one_name() -> None:
    """Pytest imports one of them only, and says so where both are collected: in a run of all tests."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    if twice := [name for name, count in names.items() if count > 1]:
        raise pytest.UsageError(f"several test files are called {', '.join(twice)}: rename one")
