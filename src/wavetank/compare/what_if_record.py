"""What a comparison says of variants of an application: one knob turned each, beside the application as it is."""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record
from wavetank.kernel.document.variant import Variant
from wavetank.measure.statistics import Estimate


class Gain(Record):
    """A variant beside the application as it is, on the same cluster with the same mapping."""

    configuration: str = Field(description="of the application as it is")
    variant_configuration: str
    cluster: str
    cluster_title: str
    mapping: str
    before: str | None = Field(
        default=None,
        description="of a layout: the knob's value on this cluster; None: as the certificate says",
    )
    before_s: Estimate = Field(description="I/O time of the application as it is")
    after_s: Estimate = Field(description="I/O time of the variant")
    change_percent: Estimate = Field(
        description="of the I/O time; below 0 the variant is faster. values hold the medians' change alone"
    )
    clear: bool = Field(
        description="the two are told apart, by the decisions for all pairs of the report together"
    )
    ties_with: tuple[str, ...] = Field(
        description="other variants that are faster than the application here, and cannot be told apart from this one"
    )


class Unmeasured(Record):
    """Where a variant has no result."""

    cluster: str = Field(description="of a layout it may be the turned one")
    mapping: str
    reason: str


class VariantGains(Record):
    """A variant: what it changes, and what that gains where."""

    application: str = Field(description="the variant's name in the campaign")
    certificate: Variant
    gains: tuple[Gain, ...]
    not_measured: tuple[Unmeasured, ...] = ()

    def change_on(self, gain: Gain) -> str:
        """The change on one cluster for people: "stripe size 64 KiB -> 1 MiB"."""
        certificate = self.certificate
        if gain.before is None:
            return certificate.words()
        return f"{certificate.knob} {gain.before} -> {certificate.after}"


class NotApplying(Record):
    """A knob that was not turned."""

    setting: str
    reason: str


class BestGain(Record):
    """The change that shortens the I/O time most."""

    application: str = Field(description="the variant's name in the campaign")
    configuration: str = Field(description="of the application as it is")


class WhatIf(Record):
    """All variants of one application."""

    application: str
    variants: tuple[VariantGains, ...]
    not_applying: tuple[NotApplying, ...]
    best: BestGain | None = Field(
        description="by the medians, of those that are told apart from the application; None where none is"
    )
    best_on_first: BestGain | None = Field(
        description="the same on the configuration that ranks first"
    )
