"""Which tests need a browser."""

from __future__ import annotations

import pytest
from book.browser import lacking

browser_is_possible = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]
