"""What a campaign keeps of its clusters: what they cost in time beside measurements, and what is to be taken down."""

from __future__ import annotations

from wavetank.campaign.database import Database
from wavetank.measure.characterisation import Characterisation


class ClusterRecords(Database):
    """Deployments, disturbances, times held, characterisations and leases, each by cluster."""

    def add_deployment(self, cluster_key: str, up_s: float) -> None:
        """Record how long a cluster took to come up."""
        self._write(
            "INSERT INTO beside (cluster_key, what, seconds) VALUES (?,'deployment',?)",
            (cluster_key, up_s),
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

    def deployments_s(self) -> dict[str, list[float]]:
        """Cluster key -> seconds that each of its deployments took to come up."""
        found: dict[str, list[float]] = {}
        rows = "SELECT cluster_key, seconds FROM beside WHERE what = 'deployment' ORDER BY id"
        for key, seconds in self._connection.execute(rows):
            found.setdefault(key, []).append(seconds)
        return found

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

    def lease(self, cluster: str) -> None:
        """Note that a cluster is being brought up for this campaign."""
        self._write("INSERT OR REPLACE INTO lease VALUES (?)", (cluster,))

    def release(self, cluster: str) -> None:
        """Note that a cluster of this campaign is down."""
        self._write("DELETE FROM lease WHERE cluster = ?", (cluster,))

    def leases(self) -> tuple[str, ...]:
        """Clusters that a run of this campaign brought up and never took down."""
        return tuple(name for (name,) in self._connection.execute("SELECT cluster FROM lease"))
