"""Published studies measured again, and each of their statements judged: prints the tables of docs/papers.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace as Record
from typing import Any

import yaml
from judge import Verdict, judge, read_comparison, selects, title_of

from wavetank.units import format_rate

STUDIES = Path(__file__).parent / "studies"


def arguments() -> argparse.Namespace:
    names = sorted(each.parent.name for each in STUDIES.glob("*/statements.yaml"))
    parser = argparse.ArgumentParser(prog="benchmarks/papers/run", description=__doc__)
    parser.add_argument(
        "study", nargs="?",
        help=f"{', '.join(names)}, or a folder with statements.yaml; without it: what follows from the models of all",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, help="folder of the results [papers-STUDY]")
    parser.add_argument(
        "--clusters",
        type=Path,
        help="folder of cluster files called as the study's, in their place",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the plan; start nothing")
    parser.add_argument(
        "--fresh", action="store_true", help="forget the results that the folder holds"
    )
    parser.add_argument(
        "--judge-only", action="store_true", help="judge what the folder holds; measure nothing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of Markdown")
    asked = parser.parse_args()
    asked.studies = [asked.study] if asked.study else names
    return asked


def main() -> int:
    asked = arguments()
    status = 0
    for name in asked.studies:
        folder = STUDIES / name if (STUDIES / name).is_dir() else Path(name)
        if not (folder / "statements.yaml").is_file():
            print(f"there is no study {name}: {folder} has no statements.yaml", file=sys.stderr)
            return 2
        study = yaml.safe_load((folder / "statements.yaml").read_text())
        results = asked.results or Path(f"papers-{study['paper']}")
        if asked.study and not asked.judge_only:
            status = measure(study, folder, results, asked)
            if asked.dry_run:
                return status
        comparison = read_comparison(results) if asked.study else None
        verdicts = judge(study, folder, comparison)
        if not asked.study:
            verdicts = [each for each in verdicts if each.statement["says"]["claim"] == "rows"]
        rows = [] if comparison is None else ratios(study, comparison)
        if asked.json:
            print(
                json.dumps(
                    {"statements": [_body(each) for each in verdicts], "ratios": rows}, indent=1
                )
            )
        else:
            report(study, verdicts, rows)
        status = max(
            status, 0 if asked.study or all(each.word == "holds" for each in verdicts) else 1
        )
    return status


def measure(study: dict[str, Any], folder: Path, results: Path, asked: argparse.Namespace) -> int:
    """Measure a study, or go on where it ended; the exit status of wavetank."""
    if "campaign" in study:
        command = ["run", str(campaign_file(folder / study["campaign"], results, asked.clusters))]
    elif "interfere" in study:
        command = ["interfere", str(folder / study["interfere"])]
    else:
        return 0
    options = [
        option
        for option in ("--dry-run", "--fresh")
        if getattr(asked, option[2:].replace("-", "_"))
    ]
    words = [sys.executable, "-m", "wavetank", *command, "-o", str(results), *options]
    process = subprocess.Popen(words, stdout=None if asked.dry_run else sys.stderr)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # it is wavetank's too, which takes its cluster down
            continue


def campaign_file(path: Path, results: Path, clusters: Path | None) -> Path:
    """The study's campaign, or a copy beside the results in which clusters of another folder take the place of its own."""
    if clusters is None:
        return path
    campaign = yaml.safe_load(path.read_text())
    found = {name: clusters.resolve() / Path(name).name for name in campaign["clusters"]}
    missing = [name for name, file in found.items() if not file.is_file()]
    if len(missing) == len(found):
        raise SystemExit(f"{clusters} has none of the study's cluster files: {', '.join(found)}")
    if missing:
        print(f"left out, as {clusters} has none: {', '.join(missing)}", file=sys.stderr)
    campaign["clusters"] = [str(file) for name, file in found.items() if name not in missing]
    for application in campaign["applications"]:
        application["model"] = str((path.parent / application["model"]).resolve())
    copy = results.with_name(f"{results.name}.campaign.yaml")
    copy.write_text(yaml.safe_dump(campaign, sort_keys=False))
    return copy


def ratios(study: dict[str, Any], comparison: Record) -> list[dict[str, Any]]:
    """A row for each configuration with a counterpart on the baseline: its rate, its multiple and the published one."""
    base = comparison.baseline
    return [
        {
            "application": each.application,
            "cluster": each.cluster,
            "title": title_of(comparison, each.cluster),
            "mapping": each.mapping,
            "rate": vars(each.rate_bytes_per_s),
            "times": None if each.against is None else vars(each.against.times_as_fast),
            "published": 1.0 if each.cluster == base else published(study, each, base),
            "waits_for": None if each.use is None else each.use.whole.bottleneck.name,
            "guests": (vars(each.limits).get("hypervisor") or "").split(" (")[0],
            "comparable": all(phase.comparable for phase in each.phases),
        }
        for application in dict.fromkeys(each.application for each in comparison.configurations)
        for each in comparison.configurations
        if each.application == application and base and (each.cluster == base or each.against)
    ]


def published(study: dict[str, Any], place: Record, baseline: str) -> float | None:
    """How many times the baseline's rate the paper gives a configuration; 1 where it sees no gain; None: it says nothing."""
    for statement in study["statements"]:
        says = statement["says"]
        ends = {"better": ("these", "those"), "no gain": ("after", "before")}.get(says["claim"])
        if ends is None or says.get("by", "time") != "time":
            continue
        this, base = says[ends[0]], says[ends[1]]
        if place.application not in says.get("applications", (place.application,)):
            continue
        if selects(this, place) and base.get("clusters") == [baseline]:
            if says["claim"] == "no gain":
                return 1.0
            if "times" in says:
                return float(says["times"])
    return None


def report(study: dict[str, Any], verdicts: list[Verdict], rows: list[dict[str, Any]]) -> None:
    """Print Markdown: verdicts, rates against the baseline, and what is not as in the paper."""
    print(f"## {study['paper']}: {study['title']}\n\n{study['reference']}.\n")
    print("| published | where | verdict | here |\n|---|---|---|---|")
    for each in verdicts:
        why = f" *Why:* {each.why}." if each.why else ""
        here = f"{each.here}.{why}" if each.here else why.strip()
        print(
            f"| {each.statement['quote']} | {each.statement['source']} | **{each.word}** | {here} |"
        )
    if rows:
        print(
            "\n| application | cluster | mapping | rate | of the baseline | by the paper | what took the time | guests |"
        )
        print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        times = (
            "1"
            if row["times"] is None
            else "{median:.2f} ({low:.2f} to {high:.2f})".format(**row["times"])
        )
        says = "nothing" if row["published"] is None else f"{row['published']:g}"
        rate = format_rate(row["rate"]["median"]) + (
            "" if row["comparable"] else ", not comparable with hardware"
        )
        words = [
            row["application"],
            row["title"],
            row["mapping"],
            rate,
            times,
            says,
            row["waits_for"] or "",
            row["guests"],
        ]
        print(f"| {' | '.join(words)} |")
    words = ("holds", "does not hold", "cannot be told")
    counts = [f"{sum(each.word == word for each in verdicts)} {word}" for word in words]
    print(f"\n{', '.join(counts)}.\n")
    for sentence in study.get("scaled", ()):
        print(f"- Not as in the paper: {sentence}")


def _body(verdict: Verdict) -> dict[str, Any]:
    return {
        "statement": verdict.statement["id"], "verdict": verdict.word,
        "reproduced": verdict.here or None, "why": verdict.why or None,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
