"""wavetank: test a scale model of a parallel application's I/O on virtual clusters."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("wavetank")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"
