"""Variants in the page, Markdown, CSV and JSON."""

import html
import json
import re

import campaign_examples
import pytest

from wavetank.compare.what_if import what_if_advice
from wavetank.compare.what_if_record import (
    BestGain,
    Gain,
    NotApplying,
    Unmeasured,
    VariantGains,
    WhatIf,
)
from wavetank.kernel.document.variant import ChangedPhase, CheckedFile, Variant
from wavetank.measure.statistics import change_percent, estimate
from wavetank.report.gather import read_folder
from wavetank.report.page import text_formats
from wavetank.report.page.html import render

pytestmark = pytest.mark.usefixtures("undrawn")

CERTIFICATE = Variant(
    setting="request-size=1MiB", knob="request size", before="8,191 B", after="1 MiB", calls=246, new_calls=2,
    rank_bytes=(1_000_000, 1_000_000),
    phases=(
        ChangedPhase(
            ph_ids=(1, 2), new_ph_ids=(1, 2), operations="read", new_operations="read", calls=246,
            new_calls=2, bytes=2_000_000,
        ),
    ),
    files=(
        CheckedFile(
            name="reads1.fastq", new_names=("reads1.fastq",), read_bytes=1_000_000, written_bytes=0, regions="equal"
        ),
    ),
    notes=("The 738 seeks stay.",),
)  # fmt: skip


def variants_of(comparison, factor, clear):
    """A variant of the first application that takes so much of its time on every configuration."""
    name = comparison.configurations[0].application
    ours = [each for each in comparison.configurations if each.application == name]
    gains = tuple(
        Gain(
            configuration=each.id, variant_configuration=f"{each.id}+", cluster=each.cluster,
            cluster_title=each.cluster_title, mapping=each.mapping, before_s=each.io_time_s,
            after_s=estimate([factor * value for value in each.io_time_s.values]),
            change_percent=change_percent(
                each.io_time_s.values, [factor * value for value in each.io_time_s.values]
            ),
            clear=clear, ties_with=(),
        )
        for each in ours
    )  # fmt: skip
    best = BestGain(application=f"{name} [x]", configuration=ours[0].id) if clear else None
    return WhatIf(
        application=name,
        variants=(
            VariantGains(
                application=f"{name} [x]", certificate=CERTIFICATE, gains=gains,
                not_measured=(Unmeasured(cluster="other", mapping="1PxCN", reason="its disk is full"),),
            ),
        ),
        not_applying=(NotApplying(setting="aggregators", reason="it moves no data by MPI-IO"),),
        best=best,
        best_on_first=best,
    )  # fmt: skip


@pytest.fixture
def campaign(tmp_path):
    comparison = campaign_examples.make_campaign(tmp_path)
    found = variants_of(comparison, 0.5, clear=True)
    advice = (*what_if_advice(found), *comparison.advice)
    comparison.model_copy(update={"what_if": (found,), "advice": advice}).write(
        tmp_path / "comparison.json"
    )
    return read_folder(tmp_path)


def test_the_page_shows_gains_certificates_and_reasons(campaign):
    text = html.unescape(re.sub(r"<[^>]*>", "", render(campaign))).replace("\N{MINUS SIGN}", "-")
    assert "request size 8,191 B -> 1 MiB gains most: on" in text
    assert "What if: one knob turned" in text
    assert "-50.0 %" in text
    assert "246 -> 2" in text and "The 738 seeks stay." in text
    assert "it moves no data by MPI-IO" in text and "its disk is full" in text


def test_other_formats_have_the_same_tables(campaign):
    markdown = text_formats.markdown(campaign).replace("\\", "")
    assert "What each variant changes" in markdown and "Knobs that were not turned" in markdown
    assert "request-size=1MiB" in text_formats.csv_text(campaign)
    tables = [
        part["tables"] for part in json.loads(text_formats.json_text(campaign))["applications"]
    ]
    gains = [row for each in tables for row in each.get("what-if", [])]
    assert gains and all(row["change_percent"] == pytest.approx(-50) for row in gains)
    (certificate,) = [row for each in tables for row in each.get("what-if-certificates", [])]
    assert certificate["new_calls"] == 2


def test_a_report_without_variants_has_no_such_tables(tmp_path):
    campaign_examples.make_campaign(tmp_path)
    assert "What if" not in render(read_folder(tmp_path))


def test_what_is_not_told_apart_is_called_no_gain(tmp_path):
    comparison = campaign_examples.make_campaign(tmp_path)
    found = variants_of(comparison, 0.99, clear=False)
    (advice,) = what_if_advice(found)
    assert advice.sentence.startswith(
        "None of 1 single change of the application makes its I/O faster"
    )
    assert all("cannot be told apart" in line for line in advice.evidence)
