"""Measuring one TCP stream between two nodes with iperf3.

Reads the JSON of iperf 3.12, of which this is a part:
``{"end": {"sum_received": {"bytes": 67108864, "bits_per_second": 995432101.2}}}``
"""

from __future__ import annotations

import json
import time

from wavetank.cluster.host import Host
from wavetank.errors import ClusterError, MeasurementError, RemoteCommandError
from wavetank.measure.characterisation import NetworkRate

SECONDS = 2
"""Long enough for the burst of a token bucket (4 ms at its rate) not to count."""
LISTEN_TIMEOUT_S = 60.0
# Not a daemon of the cluster, whose end would be a finding: it ends by itself, after one stream or two minutes.
SERVE = 'timeout 120 iperf3 --server --one-off --bind "$1" --port "$2" </dev/null >/dev/null 2>&1 &'


def has_iperf(host: Host) -> bool:
    """Whether iperf3 can be run on a node."""
    try:
        host.run(["iperf3", "--version"])
    except RemoteCommandError:
        return False
    return True


def stream_rate(sender: Host, receiver: Host, port: int) -> NetworkRate:
    """Rate of one stream, as received.

    Raises:
        RemoteCommandError: the nodes do not reach each other.
        MeasurementError: iperf3's output is not as expected.
    """
    receiver.run(["sh", "-c", SERVE, "sh", receiver.address, str(port)])
    client = [
        "iperf3", "--client", receiver.address, "--port", str(port), "--time", str(SECONDS), "--json",
    ]  # fmt: skip
    rate = _rate_when_it_listens(sender, client)
    return NetworkRate(sender=sender.name, receiver=receiver.name, bytes_per_s=rate)


def read_iperf(text: str) -> float:
    """Received bytes per second in iperf3's JSON.

    Raises:
        MeasurementError: it is not iperf3's JSON, or it failed.
    """
    try:
        return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 8
    except (ValueError, KeyError, TypeError) as error:
        raise MeasurementError(
            f"cannot read iperf3's output: {error!r} in {text[:200]!r}"
        ) from error


def _rate_when_it_listens(sender: Host, argv: list[str]) -> float:
    """A server that does not listen yet is tried again: iperf3 says so by its status, or only in its JSON.

    Sample (3.12, status 0): ``{"end": {}, "error": "unable to connect to server: Connection refused"}``.
    """
    deadline = time.monotonic() + LISTEN_TIMEOUT_S
    while True:
        try:
            return read_iperf(sender.run(argv).stdout)
        except (ClusterError, MeasurementError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)
