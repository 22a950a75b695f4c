"""KVM is what a guest that boots by it says, not what /dev/kvm says: with a program in QEMU's place."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from waiting import HANG_S
from wavetank.cli.doctor import command
from wavetank.cluster.guests import hypervisors, kvm_probe, qemu
from wavetank.doctor import examination
from wavetank.errors import ProviderError


class Probe:
    """A probe by a shell script in place of QEMU, which notes how often it ran."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.program = folder / "qemu-system-x86_64"
        self.ran = folder / "ran"
        for name in ("vmlinuz", "busybox"):
            (folder / name).write_bytes(name.encode())
        monkeypatch.setattr(qemu, "find_program", lambda _name: str(self.program))

    def of(
        self, script: str, timeout_s: float = HANG_S, boot_id: Path = kvm_probe.BOOT_ID
    ) -> str | None:
        self.program.write_text(f'#!/bin/sh\necho "$@" >>{self.ran}\n{script}\n')
        self.program.chmod(0o755)
        return kvm_probe.reason_against(
            self.folder / "vmlinuz",
            self.folder / "busybox",
            self.folder / "cache",
            timeout_s,
            boot_id,
        )

    @property
    def times(self) -> int:
        return len(self.ran.read_text().splitlines())


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probe:
    return Probe(tmp_path, monkeypatch)


def test_a_guest_that_boots_is_believed_and_asked_once_after_each_start_of_the_machine(
    probe: Probe, tmp_path: Path
) -> None:
    assert probe.of("echo '[    0.1] noise'; echo 'wavetank: booted'; exit 1") is None
    assert probe.of("exit 1") is None  # as kept
    assert probe.times == 1
    assert "-accel kvm" in probe.ran.read_text()
    (tmp_path / "boot_id").write_text("another start")
    assert probe.of("exit 1", boot_id=tmp_path / "boot_id") is not None
    assert probe.times == 2


def test_a_guest_that_ends_before_it_has_booted_is_said_with_its_last_line(probe: Probe) -> None:
    reason = probe.of("echo 'KVM: entry failed, hardware error 0x7'; echo; exit 1")
    assert reason is not None
    assert reason.what.endswith(
        "ended with status 1 before it had booted (last on its console - KVM: entry failed, hardware error 0x7)"
    )
    assert reason.remedy == "use a machine that is no guest itself"


def test_a_guest_that_hangs_is_ended_and_said(probe: Probe) -> None:
    reason = probe.of("exec sleep 1000", timeout_s=0.0)
    assert reason is not None
    assert "did not boot within 0 s (last on its console - nothing)" in reason.what


@pytest.mark.parametrize(
    "script",
    [
        "echo 'Could not access KVM kernel module: Device or resource busy'; exit 1",
        "echo 'cannot set up guest memory: Cannot allocate memory'; exit 1",
        "kill -KILL $$",
    ],
    ids=["busy", "memory", "killed"],
)
def test_a_failure_that_may_pass_is_said_and_not_kept(probe: Probe, script: str) -> None:
    assert "this may pass" in str(probe.of(script))
    assert probe.of("echo 'wavetank: booted'") is None
    assert probe.times == 2


def test_what_was_forgotten_is_asked_again(probe: Probe, tmp_path: Path) -> None:
    assert "use a machine" in str(probe.of("exit 1"))
    kvm_probe.forget(tmp_path / "cache")
    assert probe.of("echo 'wavetank: booted'") is None
    assert probe.times == 2
    kvm_probe.forget(tmp_path / "no-cache")
    (tmp_path / "other" / "kvm-probe.json" / "in").mkdir(parents=True)
    with pytest.raises(ProviderError, match="to ask KVM again"):
        kvm_probe.forget(tmp_path / "other")


def test_the_doctor_forgets_where_it_is_told_to_and_not_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did: list[str] = []
    monkeypatch.setattr(kvm_probe, "forget", lambda: did.append("forgot"))
    monkeypatch.setattr(examination, "examine", lambda: did.append("examined") or [])
    monkeypatch.setattr(examination, "can_work", lambda _findings: True)
    for words in ([], ["--again"]):
        assert CliRunner().invoke(command, words).exit_code == 0
    assert did == ["examined", "forgot", "examined"]


def test_where_nothing_can_be_kept_nothing_is_claimed(probe: Probe, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert "is not known" in str(probe.of("echo 'wavetank: booted'"))


def test_kvm_that_answers_is_not_taken_where_no_guest_boots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hypervisors, "_against_taps", lambda: None)
    monkeypatch.setattr(qemu, "reason_against", lambda: None)
    monkeypatch.setattr(hypervisors.uml, "reason_against", lambda: "no user-mode-linux: get it")
    monkeypatch.setattr(hypervisors, "against_kvm", lambda: None)
    monkeypatch.setattr(
        hypervisors, "against_its_guests", lambda: "a guest did not boot: use another"
    )
    choice = hypervisors.choose(None)
    assert isinstance(choice, hypervisors.Choice)
    assert choice.hypervisor == "tcg"
    assert "no kvm: a guest did not boot" in choice.why
    monkeypatch.setattr(hypervisors, "against_its_guests", lambda: None)
    assert hypervisors.choose(None) == hypervisors.Choice("kvm", "the best there is")
