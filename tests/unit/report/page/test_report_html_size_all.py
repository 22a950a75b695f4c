"""The size of a report's HTML file, with all its plots drawn."""

from __future__ import annotations

import campaign_examples

from wavetank.report.gather import read_folder
from wavetank.report.page.html import render


def test_a_thousand_measurements_stay_below_three_megabytes(tmp_path) -> None:
    # 2 mappings x 3 repetitions x 167 clusters = 1002 measurements, in 167 surroundings
    clusters = [f"cluster-{n:03d}" for n in range(167)]
    campaign_examples.make_campaign(tmp_path, clusters=clusters)
    text = render(read_folder(tmp_path))
    assert len(text) < 3_000_000
    assert "All 1,002 measurements" in text
