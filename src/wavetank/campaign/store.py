"""The results of a campaign, kept as they end: a folder with one SQLite database.

Each measurement is committed when it ends, so that nothing finished is ever lost. One process at a
time writes (a lock on the folder that dies with its owner); any number read. What is in the folder
is told by ``database``.
"""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.campaign.cluster_records import ClusterRecords
from wavetank.campaign.database import COMPARISON, DATABASE
from wavetank.campaign.invocations import Invocations, now_utc
from wavetank.campaign.kept import kept_texts, packed
from wavetank.compare.comparison import Comparison
from wavetank.measure.perform import RawOutput
from wavetank.measure.result import Measurement
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.model.document.model import Model


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


class Store(ClusterRecords, Invocations):
    """An open campaign folder: its measurements, and what it keeps of its clusters.

    Why a database and not a file for each measurement: a campaign may be killed at any moment. A measurement, what its
    programs wrote and the model of its trace are one transaction: all of it is there or none, on disk when ``add`` returns.
    SQLite is in Python, needs no server, and leaves one file to copy.

    Why documents are kept whole, as text in a column: a measurement is a document with a version of its own. Columns beside
    it are those that a plan asks for. A new field of a measurement changes no table.

    Why a key and no state of a plan: what is done is known by what was measured (``Key``), and not by how far a
    list was gone through. So a changed campaign.yaml keeps what it still asks for, and nothing is measured twice. The key has
    the hash of the kernel and that of the cluster's specification: another kernel under the same name is another measurement.

    Why failures are rows too, and forgotten by the next run: what failed is to be tried again, and a report of a stopped
    campaign is to say why it is missing. Why one writer, by a lock and not by SQLite's own: two campaigns that take turns at
    a database would measure the same plan at the same time. Readers need no lock of ours, so that a report can be made meanwhile.
    """

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
                    key.cluster_key, key.mapping, key.cache, key.repetition, now_utc(), spent_s,
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
                failure.application, failure.cluster, failure.mapping, repetition, now_utc(),
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
        return {Key(*row) for row in self._connection.execute("SELECT * FROM missed")}

    def clear(self) -> None:
        """Forget every result."""
        for table in (
            "measurement",
            "failure",
            "missed",
            "characterisation",
            "raw_output",
            "own_model",
            "together",
            "beside",
            "held",
        ):  # leases are facts, not results
            self._write(f"DELETE FROM {table}", ())  # noqa: S608 - names from the line above

    def add_together(
        self, measurement: TogetherMeasurement, key: str, cluster_key: str, spent_s: float
    ) -> None:
        """Commit a finished run of several groups.

        Raises:
            MeasurementError: the disk is full or the store is damaged.
        """
        self._write(
            "INSERT OR REPLACE INTO together VALUES (?,?,?,?,?)",
            (key, cluster_key, now_utc(), spent_s, measurement.to_json()),
        )

    def together(self) -> dict[str, TogetherMeasurement]:
        """Key -> run of several groups, in the order in which they were made.

        Raises:
            MeasurementError: a row is damaged.
        """
        rows = self._connection.execute("SELECT key, document FROM together ORDER BY rowid")
        return {
            key: self._parse(f"run {key[:12]}", text, TogetherMeasurement) for key, text in rows
        }

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

    def marks(self) -> tuple[int, ...]:
        """Numbers of which one changes whenever a result is added, all are forgotten, or a run begins or ends."""
        found: list[int] = []
        for table in ("measurement", "failure", "together"):
            query = f"SELECT count(*), ifnull(max(rowid), 0) FROM {table}"  # noqa: S608 - names from the line above
            found += self._connection.execute(query).fetchone()
        query = "SELECT count(*), count(ended_utc) FROM invocation"
        return (*found, *self._connection.execute(query).fetchone())

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
