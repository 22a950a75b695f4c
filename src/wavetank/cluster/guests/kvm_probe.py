"""Whether KVM runs kernels of distributions here: a guest that boots within a bounded time says so, and nothing else does.

In machines that are guests themselves /dev/kvm may answer, and run one instruction, and hang with such a kernel.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import signal
import subprocess
from pathlib import Path

from wavetank.cluster.guests import qemu
from wavetank.cluster.guests.qemu import CACHE, archive
from wavetank.cluster.needs import Lack
from wavetank.document import write_whole
from wavetank.errors import ProviderError, WavetankError

log = logging.getLogger(__name__)

PROBE_S = 60.0
"""A kernel boots by KVM in about a second; the rest is for a machine with much other work."""
MEMORY_MIB = 256
BOOTED = "wavetank: booted"
KEPT = "kvm-probe.json"
PASSING = (os.strerror(errno.EBUSY), os.strerror(errno.ENOMEM), os.strerror(errno.EAGAIN))
"""What QEMU says of a failure that may have passed when it is asked again. Sample (QEMU 7.2):
``Could not access KVM kernel module: Device or resource busy``."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
INIT = f"""#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox echo '{BOOTED}' >/dev/console
/bin/busybox reboot -f
"""


def reason_against(
    image: Path,
    busybox: Path,
    cache: Path = CACHE,
    timeout_s: float = PROBE_S,
    boot_id: Path = BOOT_ID,
) -> Lack | None:
    """Why no guest boots by KVM, with what to do; None where one did. Tried once after each start of this machine.

    A failure that may pass (the device is busy, memory is short) is not kept, and is tried again by whoever asks next.

    Args:
        image: of the kernel.
        busybox: a static one.
        cache: where the initial root and the answer are kept.
        timeout_s: within which the guest has to boot.
        boot_id: says which start of this machine it is.
    """
    kept = cache / KEPT
    asked = {"boot": boot_id.read_text().strip(), "image": str(image), "size": image.stat().st_size}
    with contextlib.suppress(OSError, ValueError):
        answer = json.loads(kept.read_text())
        if answer["asked"] == asked:
            return None if answer["reason"] is None else Lack(*answer["reason"])
    log.info("booting a guest by KVM, to see whether it does: %g s at most", timeout_s)
    initial_root = cache / f"kvm-probe-{hashlib.sha256(busybox.read_bytes()).hexdigest()[:16]}.cpio"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_whole(initial_root, _initial_root(busybox))
        reason, passes = _boot(image, initial_root, timeout_s)
        if not passes:
            write_whole(kept, json.dumps({"asked": asked, "reason": reason}))
    except (OSError, WavetankError) as error:
        return Lack(f"whether /dev/kvm runs guests is not known ({error})", "run with sudo")
    return reason


def forget(cache: Path = CACHE) -> None:
    """Forget the answer, so that whoever asks next boots a guest again.

    Raises:
        ProviderError: it cannot be removed.
    """
    try:
        (cache / KEPT).unlink(missing_ok=True)
    except OSError as error:
        raise ProviderError(
            f"cannot remove {cache / KEPT} to ask KVM again: {error.strerror}. Run with sudo"
        ) from error


def _initial_root(busybox: Path) -> bytes:
    return archive(
        [
            *((name, 0o40755, b"") for name in ("bin", "dev")),
            ("bin/busybox", 0o100755, busybox.read_bytes()),
            ("init", 0o100755, INIT.encode()),
        ]
    )


def _boot(image: Path, initial_root: Path, timeout_s: float) -> tuple[Lack | None, bool]:
    """Boot; the guest ends with this process, whatever that dies of.

    Returns:
        Why it did not boot, with what to do; None where it did. Then whether that may pass.
    """
    words = qemu.start(
        with_kvm=True, processors=1, memory_mib=MEMORY_MIB, image=image, initial_root=initial_root
    )
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    late = False
    with process:
        try:
            said, _ = process.communicate(timeout=timeout_s)
            did = f"ended with status {process.returncode} before it had booted"
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            said, _ = process.communicate()
            did = f"did not boot within {timeout_s:g} s"
        except BaseException:
            process.kill()
            raise
    lines = said.decode(errors="replace").split("\n")
    if any(BOOTED in line for line in lines):
        return None, False
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    # whoever is short of memory ends programs by this signal; ours comes where the time is over
    killed = process.returncode == -signal.SIGKILL and not late
    passes = killed or any(sign in line for line in lines for sign in PASSING)
    remedy = (
        "this may pass, so ask again later" if passes else "use a machine that is no guest itself"
    )
    return Lack(
        f"/dev/kvm is there, but a guest {did} (last on its console - {last})", remedy
    ), passes
