"""A browser without a window, as tests of pages drive it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from waiting import HANG_S

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
    "--window-size=1280,1000",
)
browser_is_possible = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (CHROMIUM.exists() and CHROMEDRIVER.exists()),
        reason="needs Chromium and its driver (Debian: chromium, chromium-driver)",
    ),
]


def start(profile: Path) -> Chrome:
    """Start Chromium with a folder of its own; whoever starts it calls ``quit``."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(CHROMEDRIVER)))
    driver.command_executor.client_config.timeout = (
        HANG_S  # its own limits are for machines that are not busy
    )
    driver.set_page_load_timeout(HANG_S)
    driver.set_script_timeout(HANG_S)
    return driver
