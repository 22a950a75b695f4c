"""Which tests run when: the one table from paths to tiers, and which tiers test what changed.

``pytest --tier NAME`` runs the tests of one tier, and ``--tier full`` those of ``test`` too; without it pytest runs what it is asked for.
A new test lands in a tier by its folder. Rows name files only where a folder holds tests of two tiers.
"""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# Paths below tests/ and the tier of their tests. The last row that matches decides.
OF_TESTS = (
    ("*", "test"),
    ("contract/*", "full"),
    ("contract/test_cluster_contract.py", "test"),
    ("contract/test_host_contract.py", "test"),
    ("contract/test_cluster_run_contract.py", "test"),
    ("contract/test_cluster_killed.py", "test"),
    ("contract/test_nfs_mount.py", "test"),
    ("contract/test_service_nfs_attacks.py", "test"),
    ("contract/test_manila.py", "manila"),
    ("contract/clouds/test_aws_*", "aws"),
    ("contract/clouds/test_openstack_*", "openstack"),
    ("e2e/*", "full"),
    ("e2e/test_bad_input.py", "test"),
    ("e2e/test_measure_to_report.py", "test"),
    ("e2e/test_trace_to_kernel.py", "test"),
    ("e2e/test_packages_in_roots.py", "packages"),
    ("native/test_installed_package.py", "full"),
    ("native/test_replay_deaths.py", "full"),
    ("native/test_tracer_sanitized.py", "full"),
    ("unit/docs/test_book.py", "full"),
    ("unit/report/page/test_report_html_size_all.py", "full"),
    ("unit/service/test_service_kill_all.py", "full"),
)

# Kinds of clusters, as parameters of tests, that the tier "test" leaves to "full".
OF_FULL = frozenset({
    "null-existing", "local-cephfs", "local-gateway", "local-moosefs", "local-orangefs", "vm-nfs",
})  # fmt: skip

# Sources and the tier that tests them beside "test".
OF_SOURCES = (
    ("src/wavetank/cluster/clouds/aws/*", "aws"),
    ("src/wavetank/cluster/clouds/openstack/*", "openstack"),
    ("src/wavetank/cluster/clouds/*", "aws"),
    ("src/wavetank/cluster/clouds/*", "openstack"),
    ("src/wavetank/cluster/*", "full"),
    ("src/wavetank/service/*", "full"),
    ("src/wavetank/service/*", "manila"),
    ("packaging/manila/*", "manila"),
    ("packaging/*", "packages"),
    ("pyproject.toml", "packages"),
    ("native/*", "full"),
    ("book/*", "full"),
    ("examples/*", "full"),
    ("docs/*", "full"),
    *((f"src/wavetank/{room}/*", "full") for room in ("campaign", "interfere", "report", "trace", "kernel", "measure")),
)  # fmt: skip

TIERS = tuple(dict.fromkeys(tier for _, tier in OF_TESTS))


def tier_of(path: Path) -> str:
    """The tier of a file of tests."""
    name = path.relative_to(TESTS).as_posix()
    return next(tier for pattern, tier in reversed(OF_TESTS) if fnmatch(name, pattern))


def runs(path: Path, tier: str) -> bool:
    """Whether ``--tier`` runs tests of a file."""
    return tier_of(path) in ({"test", "full"} if tier == "full" else {tier})


def runs_item(item: pytest.Item, tier: str) -> bool:
    """Whether ``--tier`` runs a test, by its parameters; that its file is of the tier is known."""
    if tier != "test" or not hasattr(item, "callspec"):
        return True
    return not any(
        isinstance(value, str) and value in OF_FULL for value in item.callspec.params.values()
    )


def rows_without_tests() -> list[str]:
    """Rows of the table that no file of tests matches any more."""
    names = [path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")]
    return [row for row, _ in OF_TESTS if not any(fnmatch(name, row) for name in names)]


def asked_for() -> dict[str, list[str]]:
    """Tiers beside "test" that test what changed, with the files that ask for them.

    What changed is what differs from the commit that ``WAVETANK_BASE`` names, else from where this branch left the one that it
    follows, else from the commit before. Without git nothing is known to have changed.
    """
    tiers: dict[str, list[str]] = {}
    for path in _changed():
        for pattern, tier in OF_SOURCES:
            if fnmatch(path, pattern):
                tiers.setdefault(tier, []).append(path)
        if path.startswith("tests/") and (path.endswith(".py") or path.count("/") > 1):
            tier = tier_of(TESTS.parent / path)
            if tier != "test":
                tiers.setdefault(tier, []).append(path)
    return {tier: tiers[tier] for tier in TIERS if tier in tiers}


def in_words(tiers: dict[str, list[str]]) -> list[str]:
    """A line for each tier that the change asks for."""
    return [
        f"make test-{tier}: {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
        for tier, paths in tiers.items()
    ]


def _changed() -> list[str]:
    bases = [os.environ.get("WAVETANK_BASE"), _git("merge-base", "HEAD", "@{upstream}"), "HEAD~1"]
    base = next(base.strip() for base in bases if base)
    tracked = _git("diff", "--name-only", base)
    return tracked.splitlines() + _git("ls-files", "--others", "--exclude-standard").splitlines()


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails or is missing."""
    try:
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=TESTS.parent, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
