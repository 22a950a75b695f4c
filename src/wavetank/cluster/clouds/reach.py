"""Waits until hosts that were made can be used: ssh answers, their own end is scheduled, their first start went well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from wavetank.cluster.clouds.engine import Clock
from wavetank.cluster.clouds.user_data import HAS_END, READY
from wavetank.cluster.host import on_all
from wavetank.cluster.remote.host import SshHost
from wavetank.errors import ProviderError, RemoteCommandError
from wavetank.steps import Reminder, steps

ANSWERS_WITHIN = timedelta(minutes=10)
STARTED_WITHIN = timedelta(minutes=30)  # packages of a file system and disks of some TB
TRY_EVERY_S = 5.0
ASK_TIMEOUT_S = 60
NO_CONNECTION = 255  # of ssh(1); a command that did not end has no status
LONGEST_LINE = 100

# What cloud-init says while it runs, and then the last lines of what it did. Since 23.4 an error of a stage is the status at once,
# and "extended_status" says whether it still runs. When it is over, our own marker counts: with cloud-init's status 2 something
# else than the script failed.
STARTS = "starts"
LOOK = f"""if command -v cloud-init >/dev/null &&
  cloud-init status --long 2>/dev/null | grep -Eq '^(extended_)?status:.*(running|not run|not started)'; then
  echo {STARTS}
  tail -n 5 /var/log/cloud-init-output.log 2>/dev/null || true
  exit 0
fi
test -e {READY}"""
# cloud-init's own words on what failed
LAST_WORDS = "tail -n 15 /var/log/cloud-init-output.log 2>/dev/null"


@dataclass(frozen=True)
class _Seen:
    """What a host is doing.

    Attributes:
        answers: to ssh.
        is_over: whether its first start is over, well or not.
        said: what it does, or why it cannot be used; empty where it can.
    """

    answers: bool
    is_over: bool
    said: str


def wait_ready(hosts: Mapping[str, SshHost], clock: Clock, cluster: str) -> None:
    """Wait for all hosts at once, and say once a minute what they do.

    Args:
        hosts: by node.
        clock: time.
        cluster: its name.

    Raises:
        ProviderError: one does not answer, has no end scheduled, or could not be made ready; with its last words.
    """
    began = clock.now()
    reminder, answered, failures = Reminder(began), dict[str, datetime](), dict[str, str]()
    waiting = dict(hosts)
    while waiting:
        seen = dict(zip(waiting, on_all(waiting.values(), _look), strict=True))
        now = clock.now()
        for name, host in list(waiting.items()):
            if seen[name].answers:
                answered.setdefault(name, now)
            failure = _failure(host, seen[name], now, began, answered.get(name))
            if failure is not None:
                failures[name] = failure
                steps.info("%s: %s cannot be used", cluster, name)
            elif not seen[name].is_over:
                continue
            else:
                steps.info("%s: %s is ready", cluster, name)
            del waiting[name]
        if waiting and reminder.is_due(now):
            doing = "; ".join(f"{name} {seen[name].said}" for name in waiting)
            steps.info("%s: not ready after %s: %s", cluster, reminder.waited(now), doing)
        if waiting:
            clock.sleep(TRY_EVERY_S)
    if failures:
        raise ProviderError("\n  ".join(failures[name] for name in hosts if name in failures))
    steps.info("%s: all %d instances end themselves at the ttl, and are ready", cluster, len(hosts))


def _failure(
    host: SshHost, seen: _Seen, now: datetime, began: datetime, answered: datetime | None
) -> str | None:
    """Why a host is not waited for any longer."""
    if seen.is_over:
        return seen.said or None
    if answered is None and now - began > ANSWERS_WITHIN:
        return (
            f"{host.name} ({host.address}) {seen.said}. Does cloud.ssh_from include this machine?"
        )
    if answered is not None and now - answered > STARTED_WITHIN:
        minutes = STARTED_WITHIN.seconds // 60
        return f"{host.name}: its first start did not end within {minutes} min: {_last_words(host) or seen.said}"
    return None


def _look(host: SshHost) -> _Seen:
    """What a host does now."""
    try:
        host.run(["true"], timeout_s=ASK_TIMEOUT_S)
    except RemoteCommandError as error:
        return _Seen(answers=False, is_over=False, said=f"does not answer ssh: {_line(error)}")
    try:
        return _started(host)
    except RemoteCommandError as error:
        return _Seen(answers=True, is_over=False, said=f"does not answer now: {_line(error)}")


def _started(host: SshHost) -> _Seen:
    """How far a host's first start is.

    Raises:
        RemoteCommandError: the connection was lost.
    """
    try:
        out = host.run(["sh", "-c", LOOK], timeout_s=ASK_TIMEOUT_S).stdout.splitlines()
    except RemoteCommandError as error:
        if _is_lost(error):
            raise
        said = f"{host.name}: its first start failed: {_last_words(host) or error.stderr_tail}"
        return _Seen(answers=True, is_over=True, said=said)
    if out[:1] == [STARTS]:
        does = next((line for line in reversed(out[1:]) if line.strip()), "starts")
        return _Seen(answers=True, is_over=False, said=_printable(does))
    try:
        host.run(["sh", "-c", HAS_END], timeout_s=ASK_TIMEOUT_S)
    except RemoteCommandError as error:
        if _is_lost(error):
            raise
        said = (
            f"{host.name} has no end scheduled, so it would run, and cost, for ever: it is not used"
        )
        return _Seen(answers=True, is_over=True, said=said)
    return _Seen(answers=True, is_over=True, said="")


def _is_lost(error: RemoteCommandError) -> bool:
    """Whether it was the connection that failed: sshd may start again with its new keys."""
    return error.status in (None, NO_CONNECTION)


def _line(error: RemoteCommandError) -> str:
    """The last line of what a command that failed said."""
    return _printable(error.stderr_tail.rpartition("\n")[2])


def _printable(text: str) -> str:
    """A host's line, as a terminal may have it."""
    return "".join(each for each in text.strip() if each.isprintable())[:LONGEST_LINE]


def _last_words(host: SshHost) -> str:
    try:
        return host.run(["sh", "-c", LAST_WORDS], timeout_s=ASK_TIMEOUT_S).stdout.strip()
    except RemoteCommandError:
        return ""
