"""wavetank --version: the version, the commit where it is known, and which C parts there are."""

from __future__ import annotations

import click

PARTS = {
    "tracer": "lib/libwavetank-trace.so",
    "tracer for Open MPI": "lib/libwavetank-trace-openmpi.so",
    "tracer for MPICH": "lib/libwavetank-trace-mpich.so",
    "replay": "bin/wavetank-replay-serial",
    "replay for Open MPI": "bin/wavetank-replay-openmpi",
    "replay for MPICH": "bin/wavetank-replay-mpich",
    "nodes": "bin/wavetank-node",
    "NFS mount": "bin/wavetank-nfs-mount",
}


def print_version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print it and end, where it is asked for. Nothing is built by asking."""
    del parameter
    if not asked or context.resilient_parsing:
        return
    from wavetank import __version__, native
    from wavetank.document import tool_commit
    from wavetank.native_build import cache_folder

    click.echo(f"wavetank {__version__}, commit {tool_commit() or 'unknown'}")
    there = {
        name: native.find(part, "be named") for name, part in PARTS.items() if native.built(part)
    }
    if there:
        folders = dict.fromkeys(str(path.parents[1]) for path in there.values())
        click.echo(f"C parts: {', '.join(there)}; in {', '.join(folders)}")
    elif native.builds():
        click.echo(f"C parts: none yet; they are built at first use, into {cache_folder()}")
    else:
        click.echo("C parts: none; run 'make setup' in the source directory")
    context.exit()
