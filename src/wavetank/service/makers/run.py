"""Scripts on servers: what they could not do is told in a sentence that a tenant may read."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.cluster.facade import Finished, Host
from wavetank.errors import RemoteCommandError, ServiceError

TIMEOUT_S = 1800.0
LOOK_TIMEOUT_S = 45.0  # whoever adds a server waits for the look at it
NOT_MOUNTED = 4
"""Exit status of scripts: the device is no mounted file system. An empty mount point would look like lost data."""


def do(
    server: Host,
    what: str,
    script: str,
    words: list[str],
    stdin: str = "",
    timeout_s: float = TIMEOUT_S,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a script on a server.

    Raises:
        ServiceError: it failed. A tenant may read it.
    """
    try:
        argv = ["sh", "-c", script, "sh", *words]
        return server.run(argv, timeout_s=timeout_s, stdin=stdin, env=env)
    except RemoteCommandError as error:
        how = "it took too long" if error.status is None else f"status {error.status}"
        said = error.stderr_tail.splitlines()[-1:] or [how]
        if error.status == NOT_MOUNTED:
            said = ["a device of its spaces is not mounted. Mount it"]
        raise ServiceError(f"server {server.name} cannot {what}: {said[0]}") from error
