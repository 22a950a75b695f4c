"""Scores findings against labels of logs, ours and Drishti's in the same run.

Reads a folder of Darshan logs and a table of labels; prints precision and recall. A label that is contested is
asked for in the first score alone ("all labels"); in the others naming it is neither right nor wrong. Kinds of findings
that have no label in the table's language (time above POSIX, read back) are not scored, but listed with ``--list``.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.cli.summary_answer import summary_of
from wavetank.errors import WavetankError
from wavetank.findings.finding import Finding

# Labels are those of TraceBench (Egersdoerfer et al., IPDPS 2025); FSY: a flush after each write, IMB: slow ranks.
OURS: Mapping[str, tuple[str, ...]] = {
    "few-aggregators": ("RLIM",), "few-ranks": ("RLIM",), "uneven-bytes": ("RLIM",), "slow-ranks": ("IMB",),
    "posix-without-mpiio": ("MPNM", "SHF"), "same-bytes-by-many-ranks": ("RDA",), "repeated-reads": ("RDA",),
    "header-by-all-ranks": ("RDA",), "many-small-files": ("SML", "HMD"), "small-requests": ("SML",),
    "small-requests-below": ("SML",), "c-streams": ("LLL",), "random-access": ("RMA",), "unaligned-requests": ("MSL",),
    "metadata-only": ("HMD",), "metadata-load": ("HMD",), "flush-after-each-write": ("FSY",),
}  # fmt: skip
DRISHTI: Mapping[str, tuple[str, ...]] = {
    "S01": ("LLL",), "P05": ("SML",), "P06": ("SML",), "P08": ("MSL",), "P09": ("RDA",), "P10": ("RDA",), "P11": ("RMA",),
    "P13": ("RMA",), "P15": ("SML", "SHF"), "P16": ("SML", "SHF"), "P17": ("HMD",), "P18": ("RLIM",), "P19": ("IMB",),
    "P21": ("RLIM",), "P22": ("RLIM",), "M01": ("MPNM",), "M02": ("NC",), "M03": ("NC",), "M08": ("RLIM",),
}  # fmt: skip


@dataclass(frozen=True)
class Labelled:
    """A log with its labels.

    Attributes:
        path: of it.
        labels: that an expert holds.
        contested: further ones that somebody holds.
    """

    path: Path
    labels: frozenset[str]
    contested: frozenset[str]


def labelled_logs(folders: Sequence[Path], table: Path) -> list[Labelled]:
    """The logs that the table names by the first letters of their names."""
    logs = sorted(log for folder in folders for log in folder.glob("*.darshan"))
    found = []
    with table.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            for log in logs:
                if log.name.startswith(row["log"]):
                    labels, contested = (
                        frozenset(row[key].split()) for key in ("labels", "contested")
                    )
                    found.append(Labelled(log, labels, contested))
    return found


def labels_of(finding: Finding) -> tuple[str, ...]:
    """What a finding of ours is in the language of the labels."""
    if finding.kind in ("no-collective-calls", "interleaved-pieces"):
        return ("SML", "SHF", "MPNM" if "POSIX calls" in finding.sentence else "NC")
    return OURS.get(finding.kind, ())


def ours(log: Path) -> tuple[Finding, ...]:
    """Our findings on a log; none where it cannot be read."""
    try:
        summary = summary_of(log)
    except WavetankError as error:
        print(f"{log.name}: {error}", file=sys.stderr)
        return ()
    return () if summary is None else summary.findings


def drishti(program: Path, log: Path) -> frozenset[str]:
    """What Drishti names, by its own table of codes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [program, "--csv", "--export_dir", folder, log], check=False, capture_output=True
        )
        written = next(Path(folder).glob("*.csv"), None)
        if written is None:
            return frozenset()
        (row,) = csv.DictReader(written.read_text().splitlines())
    codes = [code for code, value in row.items() if value == "True"]
    return frozenset(label for code in codes for label in DRISHTI.get(code, ()))


def score(
    named: Sequence[frozenset[str]], logs: Sequence[Labelled], *, contested: bool
) -> tuple[float, float, float]:
    """Precision, recall and F1 over all logs and labels.

    Args:
        named: labels that were named of each log.
        logs: with the labels that are right.
        contested: whether contested labels are right.
    """
    hits = misses = wrong = 0
    for some, log in zip(named, logs, strict=True):
        right = log.labels | log.contested if contested else log.labels
        hits += len(some & right)
        misses += len(right - some)
        wrong += len(some - right - log.contested)
    precision, recall = hits / max(hits + wrong, 1), hits / max(hits + misses, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path, help="of logs")
    parser.add_argument("--labels", type=Path, default=Path(__file__).with_name("labels.tsv"))
    parser.add_argument("--drishti", type=Path, help="its program, in an environment of its own")
    parser.add_argument("--list", action="store_true", help="what was named of each log")
    arguments = parser.parse_args()
    logs = labelled_logs(arguments.folders, arguments.labels)
    begun = time.monotonic()
    findings = [ours(log.path) for log in logs]
    took_s = time.monotonic() - begun
    all_of_ours = [
        frozenset(label for one in each for label in labels_of(one)) for each in findings
    ]
    grave = [
        frozenset(label for one in each if one.severity != "note" for label in labels_of(one))
        for each in findings
    ]
    named = {"ours": all_of_ours, "ours, no notes": grave}
    if arguments.drishti:
        named["Drishti"] = [drishti(arguments.drishti, log.path) for log in logs]
    print(f"{len(logs)} logs, {took_s / max(len(logs), 1):.2f} s each")
    print(f"{'':16}{'all labels':^28}{'without contested ones':^28}")
    print(f"{'':16}{'precision  recall  F1':^28}{'precision  recall  F1':^28}")
    for name, each in named.items():
        both = [score(each, logs, contested=contested) for contested in (True, False)]
        print(f"{name:16}" + "".join(f"{p:13.2f}{r:8.2f}{f:7.2f}" for p, r, f in both))
    for number, log in enumerate(logs):
        missing = log.labels - all_of_ours[number]
        of_drishti = named["Drishti"][number] if "Drishti" in named else frozenset()
        wrong = all_of_ours[number] - log.labels - log.contested
        theirs = (of_drishti & log.labels) - all_of_ours[number]
        if arguments.list or missing or wrong or theirs:
            print(f"{log.path.name}: labels {_text(log.labels)}; missed {_text(missing)}; wrong {_text(wrong)}; "
                  f"found by Drishti alone {_text(theirs)}; Drishti {_text(of_drishti)}")  # fmt: skip
        if arguments.list:
            for one in findings[number]:
                share = "" if one.share_of_time is None else f" [{one.share_of_time:.0%}]"
                print(f"    {one.severity:9}{one.kind}{share}: {one.sentence}")


def _text(labels: frozenset[str]) -> str:
    return " ".join(sorted(labels)) or "-"


if __name__ == "__main__":
    main()
