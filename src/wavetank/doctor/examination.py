"""What this machine can do: each ability found by trying it where that is cheap, never by a version alone.

Reads the machine, changes nothing that outlives a check.
"""

from __future__ import annotations

from dataclasses import replace

from wavetank.doctor import clusters, software
from wavetank.doctor.finding import Finding
from wavetank.packages import as_here


def examine() -> list[Finding]:
    """All findings, by area, areas in the order of the work."""
    findings = [
        *software.native_parts(),
        *software.launchers(),
        *software.slurm(),
        *clusters.privileges(),
        *clusters.kernel(),
        *clusters.guests(),
        *clusters.file_systems(),
        *software.programs(),
        *software.importers(),
    ]
    areas = list(dict.fromkeys(finding.area for finding in findings))
    findings = [replace(finding, remedy=as_here(finding.remedy)) for finding in findings]
    return sorted(findings, key=lambda finding: areas.index(finding.area))


def can_work(findings: list[Finding]) -> bool:
    """Whether the tool can do anything of use here: trace a program, or at least replay a kernel."""
    return any(
        f.state != "missing" and f.ability in ("tracer", "replay program")
        for f in findings
        if f.area == "trace and replay"
    )
