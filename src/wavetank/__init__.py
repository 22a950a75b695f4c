"""wavetank: test a scale model of a parallel application's I/O on virtual clusters."""

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: its library takes as long to import as the whole of ``wavetank --help``."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see above

    try:
        return version("wavetank")
    except PackageNotFoundError:  # imported from a source tree that was never installed
        return "0+unknown"
