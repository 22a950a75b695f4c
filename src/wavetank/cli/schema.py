"""``wavetank schema``: the JSON Schema of every file that wavetank writes or reads."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wavetank.nearest import did_you_mean

# name -> (module, class or function). Documents first, in the order of the work, then what people write.
SCHEMAS: dict[str, tuple[str, str]] = {
    "trace": ("wavetank.trace.index", "TraceIndex"),
    "model": ("wavetank.model.document.model", "Model"),
    "kernel": ("wavetank.kernel.document.kernel", "Kernel"),
    "replay": ("wavetank.kernel.results.result", "ReplayRun"),
    "cluster": ("wavetank.cluster.state", "ClusterState"),
    "bill": ("wavetank.cluster.clouds.bill", "ClusterBill"),
    "measurement": ("wavetank.measure.result", "Measurement"),
    "comparison": ("wavetank.compare.comparison", "Comparison"),
    "baseline": ("wavetank.compare.baseline", "Baseline"),
    "report": ("wavetank.report.document", "Report"),
    "tables": ("wavetank.cli.table_schema", "schema"),
    "characterisation": ("wavetank.measure.characterisation", "Characterisation"),
    "cluster-spec": ("wavetank.cluster.spec", "ClusterSpec"),
    "campaign-spec": ("wavetank.campaign.spec", "CampaignSpec"),
    "together": ("wavetank.measure.together_result", "TogetherMeasurement"),
    "interfere-spec": ("wavetank.interfere.spec", "InterfereSpec"),
    "price-table": ("wavetank.cost.prices", "PriceTable"),
    "site-prices": ("wavetank.cost.site_prices", "SitePrices"),
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a file."""
    from wavetank.document import Document

    module, class_name = SCHEMAS[name]
    record = getattr(importlib.import_module(module), class_name)
    if name == "tables":  # which are no document
        made: dict[str, Any] = record()
        return made
    if issubclass(record, Document):
        found: dict[str, Any] = record.json_schema()
        return found
    schema: dict[str, Any] = record.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"wavetank.{name}"
    return schema


def schema_text(name: str) -> str:
    """The published file's text."""
    return json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n"


if TYPE_CHECKING:
    _Names = click.Choice[str]
else:  # of click before 8.2, which Debian 13 has, it takes no type
    _Names = click.Choice


class _File(_Names):
    """A file's name; a wrong one is refused with those near it, not with all."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself."""
        if value not in SCHEMAS:
            self.fail(
                f"no file is called {value!r}.{did_you_mean(value, SCHEMAS)} 'wavetank schema' lists all",
                param,
                ctx,
            )
        return value


@click.command(name="schema")
@click.argument("name", type=_File(list(SCHEMAS)), metavar="[NAME]", required=False)
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write all schemas to this folder, NAME.schema.json each.",
)
def command(name: str | None, folder: Path | None) -> None:
    """Print the JSON Schema of a file that wavetank writes or reads.

    Without a NAME: the names of all files.

    Example: wavetank schema model > model.schema.json
    """  # fmt: skip
    if folder is not None:
        from wavetank.document import make_folder, write_whole

        make_folder(folder)
        for known in [name] if name else SCHEMAS:
            write_whole(folder / f"{known}.schema.json", schema_text(known))
        return
    if name is None:
        for known in SCHEMAS:
            click.echo(known)
        return
    click.echo(schema_text(name), nl=False)
