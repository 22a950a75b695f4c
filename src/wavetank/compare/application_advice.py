"""Advice on the application: what its I/O shows by itself, beside what was measured of those phases."""

from __future__ import annotations

from wavetank.compare.comparison import Advice
from wavetank.compare.configuration import Configuration
from wavetank.compare.storage_advice import CACHED_PERCENT, FULL_PERCENT
from wavetank.findings.all_findings import all_findings
from wavetank.findings.finding import Finding
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import format_rate

_MOST_PHASES = 12
"""Of a finding, told with their rates."""


def application_advice(application: str, kernel: Kernel, best: Configuration) -> tuple[Advice, ...]:
    """A piece of advice for each finding on the kernel.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        best: the configuration that ranks first.
    """
    findings = all_findings(kernel)
    return tuple(
        Advice(
            about="application",
            application=application,
            sentence=_sentence(finding, best),
            evidence=_evidence(finding, best),
            severity=finding.severity,
            paste=finding.paste,
        )
        for finding in findings
    )


def _sentence(finding: Finding, best: Configuration) -> str:
    """The finding with its remedy; of small requests, what the measurement says of the remedy."""
    remedy = "" if finding.remedy is None else f" {finding.remedy}"
    usage = best.usage_percent
    if finding.kind != "small-requests" or usage is None:
        return f"{finding.sentence}{remedy}"
    if usage.median > CACHED_PERCENT:
        return f"{finding.sentence} {best.cluster_title} is faster than its storage with them: page caches take part of the bytes."
    used = f"{usage.median:.0f} % of its"
    if usage.median >= FULL_PERCENT:
        return (
            f"{finding.sentence} The storage of {best.cluster_title} reaches {used} peak all the same: "
            "fewer requests would gain little there."
        )
    return (
        f"{finding.sentence}{remedy} {best.cluster_title} reaches {used} storage's peak with them."
    )


def _evidence(finding: Finding, best: Configuration) -> tuple[str, ...]:
    """What was measured of the finding's phases."""
    phases = [phase for phase in best.phases if phase.ph_id in finding.ph_ids]
    told = tuple(
        f"phase {phase.ph_id} ({phase.operation}, {phase.file_name}): {phase.iops.median:.0f} operations/s give "
        f"{format_rate(phase.rate_bytes_per_s.median)} on {best.cluster_title}"
        for phase in phases[:_MOST_PHASES]
    )
    more = len(phases) - len(told)
    return (*told, f"and {more} more phases") if more > 0 else told
