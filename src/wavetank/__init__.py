"""wavetank: test a scale model of a parallel application's I/O on virtual clusters.

The public interface is what ``__all__`` names: docs/reference/python.md. Each name is imported when it is asked for, since
what it needs takes longer to import than the whole of ``wavetank --help``. The wheel has a stub beside this file, for type
checkers: packaging/public-names.pyi. In the source tree it would make one cycle of imports of all modules.
"""

__version__ = "0.1.0.dev0"

_HOME = {
    "Campaign": "interface.campaign",
    "Column": "interface.table",
    "Figure": "interface.figure",
    "Kernel": "interface.kernel",
    "Model": "interface.model",
    "Table": "interface.table",
    "Trace": "interface.trace",
    "WavetankError": "errors",
    "open_campaign": "interface.campaign",
    "open_kernel": "interface.kernel",
    "open_model": "interface.model",
    "open_trace": "interface.trace",
}
__all__ = ["__version__", *_HOME]  # noqa: PLE0604 - names of _HOME are texts


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - see above

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
