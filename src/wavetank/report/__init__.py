"""Reports for people: tables, plots, one HTML file."""

import atexit
import os
import secrets
import shutil
import tempfile
from pathlib import Path

if "MPLCONFIGDIR" not in os.environ:
    # Matplotlib keeps a list of fonts in the home directory, which may be read-only, full or another's.
    # It makes this folder when it is imported; it takes 0.3 s to list the fonts again (measured, 38 fonts).
    _folder = Path(tempfile.gettempdir(), f"wavetank-matplotlib-{secrets.token_hex(8)}")
    os.environ["MPLCONFIGDIR"] = str(_folder)
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
