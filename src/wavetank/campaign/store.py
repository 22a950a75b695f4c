"""The results of a campaign, kept as they end: a folder with one SQLite database.

Each measurement is committed when it ends, so that nothing finished is ever lost. One process at a
time writes (a lock on the folder that dies with its owner); any number read.

The folder: ``store.sqlite``, ``campaign.yaml``, ``comparison.json``,
``applications/<name>.kernel.json`` and ``.model.json``, ``clusters/<name>.yaml``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from wavetank.campaign.kept import has_table, kept_texts, packed
from wavetank.compare.comparison import Comparison
from wavetank.document import Document
from wavetank.errors import MeasurementError
from wavetank.measure.characterisation import Characterisation
from wavetank.measure.perform import RawOutput
from wavetank.measure.result import Measurement
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.model.document.model import Model

DocumentT = TypeVar("DocumentT", bound=Document)

DATABASE = "store.sqlite"
COMPARISON = "comparison.json"
SPEC = "campaign.yaml"


@dataclass(frozen=True)
class Key:
    """What makes a measurement the same as one that is done already."""

    kernel_sha256: str
    cluster_key: str
    mapping: str
    cache: str
    repetition: int


@dataclass(frozen=True)
class Failure:
    """A part of the plan that was tried and failed. ``mapping`` "*": the whole cluster."""

    application: str
    cluster: str
    mapping: str
    reason: str


@dataclass(frozen=True)
class Entry:
    """A measurement as the store lists it."""

    number: int
    finished_utc: str
    spent_s: float
    measurement: Measurement
    has_raw_output: bool


class Store:
    """An open campaign folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    def done(self) -> set[Key]:
        """Everything that is finished."""
        rows = self._connection.execute(
            "SELECT kernel_sha256, cluster_key, mapping, cache, repetition FROM measurement"
        )
        return {Key(*row) for row in rows}

    def add(
        self,
        measurement: Measurement,
        key: Key,
        spent_s: float,
        raw: RawOutput | None = None,
        model: Model | None = None,
    ) -> None:
        """Commit a finished measurement.

        Args:
            measurement: the document.
            key: under which it counts as done.
            spent_s: wall time that it took with its preparation, for estimates.
            raw: what its programs wrote, kept compressed; None when that is not known.
            model: of the trace, where it was the application itself.

        Raises:
            MeasurementError: the disk is full or the store is damaged.
        """
        statements: list[tuple[str, tuple[object, ...]]] = [
            (
                "INSERT INTO measurement (application, kernel_sha256, cluster, cluster_key, mapping, "
                "cache, repetition, finished_utc, spent_s, document) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (
                    measurement.application, key.kernel_sha256, measurement.cluster,
                    key.cluster_key, key.mapping, key.cache, key.repetition, _now(), spent_s,
                    measurement.to_json(),
                ),
            )
        ]  # fmt: skip
        if raw is not None:
            statements.append(
                (
                    "INSERT INTO raw_output SELECT max(id),?,? FROM measurement",
                    (packed(raw.stdout), packed(raw.stderr)),
                )
            )
        if model is not None:
            statements.append(
                (
                    "INSERT INTO own_model SELECT max(id),? FROM measurement",
                    (packed(model.to_json()),),
                )
            )
        self._write_all(statements)

    def add_failure(self, failure: Failure, repetition: int | None = None) -> None:
        """Record what failed; it is tried again the next time."""
        self._write(
            "INSERT INTO failure (application, cluster, mapping, repetition, failed_utc, reason) "
            "VALUES (?,?,?,?,?,?)",
            (
                failure.application, failure.cluster, failure.mapping, repetition, _now(),
                failure.reason,
            ),
        )  # fmt: skip

    def forget_failures(self) -> None:
        """Start a new attempt: what failed before is tried again."""
        self._write("DELETE FROM failure", ())
        self._write("DELETE FROM missed", ())

    def add_missed(self, key: Key) -> None:
        """Record a measurement that failed and that a search goes on without, until it is tried again."""
        self._write(
            "INSERT OR REPLACE INTO missed VALUES (?,?,?,?,?)",
            (key.kernel_sha256, key.cluster_key, key.mapping, key.cache, key.repetition),
        )

    def missed(self) -> set[Key]:
        """What failed in the last attempt and a search went on without."""
        if not has_table(self._connection, "missed"):  # made before there were searches
            return set()
        return {Key(*row) for row in self._connection.execute("SELECT * FROM missed")}

    def clear(self) -> None:
        """Forget every result."""
        for table in (
            "measurement",
            "failure",
            "missed",
            "deployment",
            "characterisation",
            "raw_output",
            "own_model",
            "together",
            "beside",
            "held",
        ):  # leases are facts, not results
            self._write(f"DELETE FROM {table}", ())  # noqa: S608 - names from the line above

    def add_deployment(self, cluster_key: str, cluster: str, up_s: float) -> None:
        """Record how long a cluster took to come up."""
        self._write_all(
            [
                (
                    "INSERT OR REPLACE INTO deployment VALUES (?,?,?)",
                    (cluster_key, cluster, up_s),
                ),
                (
                    "INSERT INTO beside (cluster_key, what, seconds) VALUES (?,'deployment',?)",
                    (cluster_key, up_s),
                ),
            ]
        )

    def add_disturbed(self, cluster_key: str, spent_s: float) -> None:
        """Record the wall time of a measurement that is made again, because other work disturbed it."""
        self._write(
            "INSERT INTO beside (cluster_key, what, seconds) VALUES (?,'disturbed',?)",
            (cluster_key, spent_s),
        )

    def add_held(self, cluster_key: str, seconds: float) -> None:
        """Add to the time for which a cluster was held."""
        self._write(
            "INSERT INTO held VALUES (?,?) "
            "ON CONFLICT (cluster_key) DO UPDATE SET seconds = seconds + excluded.seconds",
            (cluster_key, seconds),
        )

    def held_s(self) -> dict[str, float]:
        """Cluster key -> seconds for which it was held, from bringing it up until it was down."""
        return dict(self._connection.execute("SELECT cluster_key, seconds FROM held"))

    def add_characterisation(self, cluster_key: str, found: Characterisation) -> None:
        """Keep what a cluster's storage can do."""
        self._write(
            "INSERT OR REPLACE INTO characterisation VALUES (?,?)", (cluster_key, found.to_json())
        )

    def characterisations(self) -> dict[str, Characterisation]:
        """Cluster key -> what its storage can do, where that was measured.

        Raises:
            MeasurementError: a row is damaged.
        """
        rows = self._connection.execute("SELECT cluster_key, document FROM characterisation")
        return {
            key: self._parse(f"the characterisation of {key[:12]}", text, Characterisation)
            for key, text in rows
        }

    def add_together(
        self, measurement: TogetherMeasurement, key: str, cluster_key: str, spent_s: float
    ) -> None:
        """Commit a finished run of several groups.

        Raises:
            MeasurementError: the disk is full or the store is damaged.
        """
        self._write(
            "INSERT OR REPLACE INTO together VALUES (?,?,?,?,?)",
            (key, cluster_key, _now(), spent_s, measurement.to_json()),
        )

    def together(self) -> dict[str, TogetherMeasurement]:
        """Key -> run of several groups, in the order in which they were made.

        Raises:
            MeasurementError: a row is damaged.
        """
        rows = self._together_rows("key, document")
        return {
            key: self._parse(f"run {key[:12]}", text, TogetherMeasurement) for key, text in rows
        }

    def together_spent_s(self) -> dict[str, list[float]]:
        """Cluster key -> wall times of its runs of several groups, seconds."""
        spent: dict[str, list[float]] = {}
        for key, seconds in self._together_rows("cluster_key, spent_s"):
            spent.setdefault(key, []).append(seconds)
        return spent

    def _together_rows(self, columns: str) -> list[tuple[Any, Any]]:
        if not has_table(self._connection, "together"):  # made before there were such runs
            return []
        rows = f"SELECT {columns} FROM together ORDER BY rowid"  # noqa: S608 - names of this class
        return self._connection.execute(rows).fetchall()

    def lease(self, cluster: str) -> None:
        """Note that a cluster is being brought up for this campaign."""
        self._write("INSERT OR REPLACE INTO lease VALUES (?)", (cluster,))

    def release(self, cluster: str) -> None:
        """Note that a cluster of this campaign is down."""
        self._write("DELETE FROM lease WHERE cluster = ?", (cluster,))

    def leases(self) -> tuple[str, ...]:
        """Clusters that a run of this campaign brought up and never took down."""
        return tuple(name for (name,) in self._connection.execute("SELECT cluster FROM lease"))

    def is_leased(self, cluster: str) -> bool:
        """Whether a run of this campaign brought the cluster up and never took it down."""
        found = self._connection.execute("SELECT 1 FROM lease WHERE cluster = ?", (cluster,))
        return found.fetchone() is not None

    def measurements(self) -> list[Measurement]:
        """All measurements in the order in which they were made.

        Raises:
            MeasurementError: a row is damaged.
        """
        return [document for _, document in self.keyed_measurements()]

    def keyed_measurements(self) -> list[tuple[Key, Measurement]]:
        """All measurements with their keys, in the order in which they were made.

        Raises:
            MeasurementError: a row is damaged.
        """
        rows = self._connection.execute(
            "SELECT id, document, kernel_sha256, cluster_key, mapping, cache, repetition "
            "FROM measurement ORDER BY id"
        )
        return [(Key(*row[2:]), self._parse(f"row {row[0]}", row[1], Measurement)) for row in rows]

    def entries(self) -> list[Entry]:
        """Every measurement with the number that it has in the store, in the order of their ends.

        Raises:
            MeasurementError: a row is damaged.
        """
        rows = self._connection.execute(
            "SELECT measurement.id, finished_utc, spent_s, document, raw_output.measurement_id "
            "FROM measurement LEFT JOIN raw_output ON measurement.id = raw_output.measurement_id "
            "ORDER BY measurement.id"
            if has_table(self._connection, "raw_output")
            else "SELECT id, finished_utc, spent_s, document, NULL FROM measurement ORDER BY id"
        )
        return [
            Entry(
                number, finished, spent, self._parse(f"row {number}", text, Measurement), bool(raw)
            )
            for number, finished, spent, text, raw in rows
        ]

    def raw_output(self, number: int) -> RawOutput:
        """What the programs of a measurement wrote.

        Args:
            number: of the measurement in the store.

        Raises:
            MeasurementError: there is no such measurement, or nothing was kept of it.
        """
        stdout, stderr = kept_texts(
            self._connection, self.folder / DATABASE, "raw_output", ("stdout", "stderr"), number
        )
        return RawOutput(stdout, stderr)

    def own_model(self, number: int) -> Model:
        """The model of the trace of a measurement of the application itself.

        Args:
            number: of the measurement in the store.

        Raises:
            MeasurementError: there is no such measurement, or it is one of a kernel.
        """
        (text,) = kept_texts(
            self._connection, self.folder / DATABASE, "own_model", ("document",), number
        )
        return self._parse(f"model {number}", text, Model)

    def failures(self) -> list[Failure]:
        """What failed in the last attempt."""
        rows = self._connection.execute(
            "SELECT DISTINCT application, cluster, mapping, reason FROM failure ORDER BY id"
        )
        return [Failure(*row) for row in rows]

    def deployments_s(self) -> dict[str, float]:
        """Cluster key -> seconds that it took to come up, the last time."""
        return dict(self._connection.execute("SELECT cluster_key, up_s FROM deployment"))

    def beside_s(self) -> dict[str, float]:
        """Cluster key -> seconds of all its deployments, and of measurements that were made again."""
        return dict(
            self._connection.execute(
                "SELECT cluster_key, sum(seconds) FROM beside GROUP BY cluster_key"
            )
        )

    def n_disturbed(self) -> int:
        """Measurements that were made again because other work disturbed them."""
        rows = self._connection.execute("SELECT count(*) FROM beside WHERE what = 'disturbed'")
        n: int = rows.fetchone()[0]
        return n

    def spent_s(self) -> dict[str, list[float]]:
        """Cluster key -> wall times of its measurements, seconds."""
        spent: dict[str, list[float]] = {}
        for key, seconds in self._connection.execute(
            "SELECT cluster_key, spent_s FROM measurement"
        ):
            spent.setdefault(key, []).append(seconds)
        return spent

    def spent_by_key(self) -> dict[Key, float]:
        """Measurement -> wall time that it took with its preparation, seconds."""
        rows = self._connection.execute(
            "SELECT kernel_sha256, cluster_key, mapping, cache, repetition, spent_s FROM measurement"
        )
        return {Key(*row[:5]): row[5] for row in rows}

    def last_finished_utc(self) -> str | None:
        """When the last measurement ended; None when there is none."""
        found = self._connection.execute("SELECT max(finished_utc) FROM measurement").fetchone()
        last: str | None = found[0]
        return last

    def comparison(self) -> Comparison:
        """The comparison that the campaign's last run left.

        Raises:
            MeasurementError: there is none, or it is damaged.
        """
        return Comparison.read(self.folder / COMPARISON)

    def kernel_path(self, application: str) -> Path:
        """Where an application's kernel is kept."""
        return self.folder / "applications" / f"{file_stem(application)}.kernel.json"

    def model_path(self, application: str) -> Path:
        """Where an application's model is kept, if one was named."""
        return self.folder / "applications" / f"{file_stem(application)}.model.json"

    def own_run_path(self, application: str, cluster: str, mapping: str) -> Path:
        """Where the model of an application's own run on a cluster is kept."""
        name = file_stem(f"{application}.{cluster}.{mapping}")
        return self.folder / "applications" / f"{name}.own-run.json"

    def cluster_path(self, cluster: str) -> Path:
        """Where a cluster's specification is kept."""
        return self.folder / "clusters" / f"{file_stem(cluster)}.yaml"

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        self._write_all([(statement, values)])

    def _write_all(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        """All of some statements, or none."""
        try:
            with self._connection:
                for statement, values in statements:
                    self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise MeasurementError(
                f"cannot write to {self.folder / DATABASE}: {error}. Is the disk full?"
            ) from error

    def _parse(self, what: str, document: str, kind: type[DocumentT]) -> DocumentT:
        try:
            body = json.loads(document)
            body.pop("schema")
            return kind.model_validate(body)
        except (ValueError, KeyError) as error:  # pydantic's and json's are ValueErrors
            raise MeasurementError(
                f"{what} in {self.folder / DATABASE} is damaged: {error}"
            ) from error


def file_stem(name: str) -> str:
    """A file name out of a title: letters, digits, dot, dash; never empty, never hidden."""
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    return kept.lstrip(".-") or "unnamed"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
