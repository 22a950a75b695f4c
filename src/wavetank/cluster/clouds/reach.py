"""Waits until hosts that were made can be used: ssh answers, their own end is scheduled, their first start went well."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

from wavetank.cluster.clouds.engine import Clock
from wavetank.cluster.clouds.user_data import HAS_END, READY
from wavetank.cluster.host import on_all
from wavetank.cluster.remote.host import SshHost
from wavetank.errors import ProviderError, RemoteCommandError

log = logging.getLogger(__name__)

ANSWERS_WITHIN = timedelta(minutes=10)
STARTED_WITHIN_S = 1800  # packages of a file system and disks of some TB
TRY_EVERY_S = 5.0
# cloud-init's own words on what failed; with its status 2 (22.3 and later) something else than the script did
WAIT = f"if command -v cloud-init >/dev/null; then cloud-init status --wait >/dev/null; fi; test -e {READY}"
LAST_WORDS = "tail -n 15 /var/log/cloud-init-output.log 2>/dev/null"


def wait_ready(hosts: Mapping[str, SshHost], clock: Clock) -> None:
    """Wait for all hosts at once.

    Raises:
        ProviderError: one does not answer, has no end scheduled, or could not be made ready; with its last words.
    """
    deadline = clock.now() + ANSWERS_WITHIN

    def wait(host: SshHost) -> str | None:
        while True:
            try:
                host.run(["true"], timeout_s=60)
                break
            except RemoteCommandError as error:
                if clock.now() > deadline:
                    return (
                        f"{host.name} ({host.address}) does not answer ssh: {error.stderr_tail}. "
                        "Does cloud.ssh_from include this machine?"
                    )
            clock.sleep(TRY_EVERY_S)
        return _started(host)

    failures = [each for each in on_all(hosts.values(), wait) if each is not None]
    if failures:
        raise ProviderError("\n  ".join(failures))
    log.info("%d hosts answer, end themselves at the ttl, and are ready", len(hosts))


def _started(host: SshHost) -> str | None:
    try:
        host.run(["sh", "-c", WAIT], timeout_s=STARTED_WITHIN_S)
    except RemoteCommandError as error:
        return f"{host.name}: its first start failed: {_last_words(host) or error.stderr_tail}"
    try:
        host.run(["sh", "-c", HAS_END], timeout_s=60)
    except RemoteCommandError:
        return (
            f"{host.name} has no end scheduled, so it would run, and cost, for ever: it is not used"
        )
    return None


def _last_words(host: SshHost) -> str:
    try:
        return host.run(["sh", "-c", LAST_WORDS], timeout_s=60).stdout.strip()
    except RemoteCommandError:
        return ""
