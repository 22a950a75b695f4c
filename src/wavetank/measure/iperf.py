"""Measuring one TCP stream between two nodes with iperf3.

Reads the JSON of iperf 3.12, of which this is a part:
``{"end": {"sum_received": {"bytes": 67108864, "bits_per_second": 995432101.2}}}``
"""

from __future__ import annotations

import json

from wavetank.cluster.host import Host
from wavetank.errors import ClusterError, MeasurementError, RemoteCommandError
from wavetank.measure.characterisation import NetworkRate

SECONDS = 2
"""Long enough for the burst of a token bucket (4 ms at its rate) not to count."""
ATTEMPTS = 20


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
    receiver.start(
        ["iperf3", "--server", "--one-off", "--bind", receiver.address, "--port", str(port)],
        log=f"iperf3-{port}",
    )
    client = [
        "iperf3", "--client", receiver.address, "--port", str(port), "--time", str(SECONDS), "--json",
    ]  # fmt: skip
    text = _run_when_it_listens(sender, client)
    return NetworkRate(sender=sender.name, receiver=receiver.name, bytes_per_s=read_iperf(text))


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


def _run_when_it_listens(sender: Host, argv: list[str]) -> str:
    """A server that does not listen yet is tried again."""
    failure: ClusterError | None = None
    for _ in range(ATTEMPTS):
        try:
            return sender.run(argv).stdout
        except ClusterError as error:
            failure = error
            sender.run(["sleep", "0.1"])
    raise failure or MeasurementError("iperf3 was never tried")
