"""A browser without a window: for pictures of pages, and for tests of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM, CHROMEDRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,1000",
)


def lacking() -> str | None:
    """What is missing for it on this machine, and how to get it; None where nothing is."""
    if not (CHROMIUM.exists() and CHROMEDRIVER.exists()):
        return "needs Chromium and its driver (Debian: chromium, chromium-driver)"
    if find_spec("selenium") is None:
        return "needs the Python package selenium: make setup-test"
    return None


def start(profile: Path, limit_s: float) -> Chrome:
    """Start Chromium; whoever starts it calls ``quit``.

    Args:
        profile: a folder of its own.
        limit_s: ends what hangs: a page that does not load, a script that does not end; seconds.
    """
    from selenium import webdriver  # noqa: PLC0415 - tests and pictures alone need it
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(CHROMEDRIVER)))
    driver.command_executor.client_config.timeout = limit_s  # type: ignore[union-attr]
    driver.set_page_load_timeout(limit_s)
    driver.set_script_timeout(limit_s)
    return driver
