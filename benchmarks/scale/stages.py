"""Stages of the benchmark of many files that no command of its own does, each as a process.

stages.py plan KERNEL FILE             the text that the replay's ranks read
stages.py campaign KERNEL MODEL FOLDER a campaign that measured the kernel, as `wavetank report` takes it (not timed)
"""

from __future__ import annotations

import sys
from pathlib import Path

from wavetank.campaign.results_folder import write_store
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.model import Model

EXAMPLES = Path(__file__).parents[2] / "tests" / "unit" / "report" / "fixtures"


def write_plan(kernel: Path, plan: Path) -> None:
    """Lower a kernel."""
    plan.write_text(lower(Kernel.read(kernel)))


def make_campaign(kernel: Path, model: Path, folder: Path) -> None:
    """Measurements are those of the tests' example; the model and the kernel are real."""
    sys.path.insert(0, str(EXAMPLES))
    from campaign_examples import make_campaign as example

    read = Model.read(model)
    example(folder, [read], clusters=("nfs", "gluster-1"))
    with write_store(folder) as store:
        Kernel.read(kernel).write(store.kernel_path(read.application))


def main() -> None:
    """Do one stage."""
    stage, *paths = sys.argv[1:]
    files = [Path(path) for path in paths]
    if stage == "plan":
        write_plan(*files)
    elif stage == "campaign":
        make_campaign(*files)
    else:
        raise SystemExit(f"no stage is called {stage}")


if __name__ == "__main__":
    main()
