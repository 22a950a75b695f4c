"""Where the time goes, as plain rows: what the terminal, CSV and JSON show."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.use_parts import Part, calls_words, parts_of, share, shares_words
from wavetank.units import format_duration

COLUMNS = (
    "application", "cluster", "mapping", "part", "ph_id", "time_s", "client_cpu", "client_network_in",
    "client_network_out", "server_cpu", "server_network_in", "server_network_out", "disk_read", "disk_write",
    "disk_busy", "machine_cpu", "other_cores", "waiting", "in_flight", "call_s", "readings", "bottleneck", "also",
    "sentence",
)  # fmt: skip
SHOWN_COLUMNS = (
    "application", "cluster", "mapping", "part", "time", "client CPU", "its network in / out", "server CPU",
    "its network in / out", "disk read / write", "this machine's CPU", "waiting", "calls", "what took the time",
)  # fmt: skip


def use_rows(comparison: Comparison) -> Rows:
    """Use of resources in each part of each configuration's time, and the bottleneck by it; shares of 1."""
    rows: list[list[Cell]] = []
    shown = []
    for each in comparison.configurations:
        if each.use is None:
            continue
        for part in parts_of(each):
            rows.append([each.application, each.cluster, each.mapping, *_cells(part)])
            if part.shown:
                shown.append(
                    [each.application, each.cluster_title, each.mapping, *_shown_cells(part)]
                )
    n_unknown = sum(each.use is None for each in comparison.configurations)
    notes = [
        "Shares of the limit in force, of the busiest node, while the part was under way. Waiting: no limit explains it."
    ]
    if n_unknown:
        notes.append(f"Not known of {n_unknown} configurations.")
    return Rows("Where the time goes", COLUMNS, rows, SHOWN_COLUMNS, shown, " ".join(notes))


def _cells(part: Part) -> list[Cell]:
    use = part.use
    also = "" if part.of is None else "; ".join(part.of.bottleneck.also)
    return [
        part.words, part.ph_id, part.time_s,
        share(use, "processors", "compute"), share(use, "network in", "compute"), share(use, "network out", "compute"),
        share(use, "processors", "io"), share(use, "network in", "io"), share(use, "network out", "io"),
        share(use, "disk read", "compute", "io"), share(use, "disk write", "compute", "io"),
        share(use, "disk busy", "compute", "io"), share(use, "processors", "machine"),
        None if use is None else use.other_cores, None if use is None else use.waiting,
        None if use is None else use.in_flight, None if use is None else use.call_s,
        None if use is None else use.n_readings, part.bottleneck_name, also, part.bottleneck,
    ]  # fmt: skip


def _shown_cells(part: Part) -> list[str]:
    use = part.use
    return [
        part.words,
        "-" if part.time_s is None else format_duration(part.time_s),
        shares_words(share(use, "processors", "compute")),
        shares_words(share(use, "network in", "compute"), share(use, "network out", "compute")),
        shares_words(share(use, "processors", "io")),
        shares_words(share(use, "network in", "io"), share(use, "network out", "io")),
        shares_words(
            share(use, "disk read", "compute", "io"), share(use, "disk write", "compute", "io")
        ),
        shares_words(share(use, "processors", "machine")),
        shares_words(None if use is None else use.waiting),
        calls_words(use),
        part.bottleneck,
    ]
