"""What a command imports: small logs are read in great numbers, a process each, and imports are most of its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waiting import HANG_S

LOG = Path(__file__).parents[1] / "data" / "darshan" / "ior_seq_fpp_posix_1m.darshan"
PROGRAM = """
import json, os, sys
from wavetank.cli.main import main
try:
    main()
except SystemExit as end:
    status = end.code
built = [
    name
    for module in list(sys.modules.values())
    if module.__name__.startswith("wavetank.")
    for name, one in vars(module).items()
    if isinstance(one, type) and one.__dict__.get("__pydantic_complete__")
]
print(json.dumps({"status": status, "modules": list(sys.modules), "built": built, "environment": dict(os.environ)}), file=sys.stderr)
"""
NEVER = {
    "pandas",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "scipy",
    "darshan",
    "yaml",
    "asyncio",
    "numpy.ma",
}
OF_OTHERS = {  # native traces, other logs, logs without DXT; stages behind the model; how pydantic looks for plugins
    "wavetank.trace.part",
    "wavetank.trace.index",
    "wavetank.trace.importers.strace",
    "wavetank.model.counters.trace",
    "wavetank.kernel.document.kernel",
    "wavetank.cluster",
    "wavetank.campaign",
    "rich.console",
    "importlib.metadata",
}


def after(*arguments: object, **environment: str) -> dict[str, Any]:
    """What a process has imported at its end, and which classes of pydantic it has built."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, timeout=HANG_S, env={**os.environ, **environment}, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    assert found["status"] == 0, done.stderr
    return found


@pytest.mark.parametrize("command", ["model", "summary"])
def test_a_log_is_shown_without_what_it_does_not_need(command):
    found = after(command, LOG)
    assert not (NEVER | OF_OTHERS) & set(found["modules"])
    assert "numpy" in found["modules"]


def test_a_model_is_made_without_validators():
    assert after("model", LOG)["built"] == []


def test_help_needs_no_arrays_and_no_documents():
    assert not (NEVER | OF_OTHERS | {"numpy", "pydantic"}) & set(after("--help")["modules"])


def test_programs_that_a_command_starts_have_the_threads_that_the_user_wants(monkeypatch):
    variable = "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(variable, raising=False)
    assert variable not in after("summary", LOG)["environment"]
    assert after("summary", LOG, **{variable: "3"})["environment"][variable] == "3"
