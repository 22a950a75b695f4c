"""The method judged: kernels against the application's own runs on the same clusters.

Method, section 6: error = 100 * |BW_CH - BW_MD| / BW_MD, where BW_MD is what the application itself
reached in a phase. P15 figure 7 compares the times.
"""

from __future__ import annotations

from wavetank.compare.comparison import OwnRunError
from wavetank.compare.configuration import Configuration
from wavetank.compare.metrics import error_percent
from wavetank.errors import ModelError
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.comparison.counterparts import same_phases
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase

SMALLEST_SHARE = 0.01
"""Phases with less than this share of the bytes are left out: their times are noise."""


def own_run_errors(
    configuration: Configuration, kernel: Kernel, own: Model
) -> tuple[OwnRunError, ...]:
    """Errors of the kernel's phases on one configuration.

    Args:
        configuration: where the kernel was measured.
        kernel: of the application.
        own: model of a trace of the application itself on the same cluster with the same mapping.

    Raises:
        ModelError: the run is of another application: phases that carry bytes do not agree.
    """
    measured = {phase.ph_id: phase for phase in configuration.phases}
    errors = []
    for ph_id, ran in match_phases(kernel, own).items():
        if ph_id not in measured:
            continue
        application_s = phase_io_time_s(ran)
        if not application_s:
            continue
        done = measured[ph_id]
        reached = ran.ph_weight / application_s
        errors.append(
            OwnRunError(
                configuration=configuration.id,
                ph_id=ph_id,
                kernel_bytes_per_s=done.rate_bytes_per_s.median,
                application_bytes_per_s=reached,
                error_percent=error_percent(done.rate_bytes_per_s.median, reached),
                kernel_s=done.time_s.median,
                application_s=application_s,
            )
        )
    return tuple(errors)


def match_phases(kernel: Kernel, own: Model) -> dict[int, Phase]:
    """The application's phase for each phase of the kernel that carries bytes.

    Raises:
        ModelError: the run is of another application: it has no such phase.
    """
    total = sum(phase.ph_weight for phase in kernel.phases)
    theirs = same_phases(kernel.phases, own.phases)
    matched = {}
    for phase in kernel.phases:
        if phase.ph_weight < SMALLEST_SHARE * total:
            continue
        ran = theirs.get(phase.ph_id)
        if ran is None:
            raise ModelError(
                f"the own run of {own.application} has no phase like phase {phase.ph_id} of the "
                f"kernel ({phase.pattern[0].iop_type}, {phase.ph_weight} B, ranks "
                f"{', '.join(map(str, phase.ph_processid))}): it is of another application or input"
            )
        matched[phase.ph_id] = ran
    return matched


def phase_io_time_s(phase: Phase) -> float | None:
    """Time that an application spent in a phase's operations, mean over its ranks; None if unknown.

    Not from first start to last end: the application computes between its operations.
    """
    return None if phase.io_time_s is None else phase.io_time_s / phase.ph_np
