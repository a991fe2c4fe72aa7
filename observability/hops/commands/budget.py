"""`python -m hops budget`: the hop budget of single traces."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import asdict

from hops.budget.parts import Budget, budget_of_tree
from hops.errors import HopsError, NotEnoughDataError
from hops.tables.trace import trace_table
from hops.terminal.console import terminal
from hops.terminal.render import rendered
from hops.terminal.trace import trace_tree
from hops.traces import jaeger, otlp
from hops.traces.span import Span
from hops.traces.tree import Quality, grow

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def budget(
    trace_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRACE_ID]...", help="Trace ids, 32 hex digits each (default: all in the file)."),
    ] = None,
    jaeger_url: Annotated[
        str | None,
        typer.Option("--jaeger", metavar="URL", help="Address of Jaeger's query API, such as http://127.0.0.1:18072."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--otlp", metavar="FILE", help="OTLP JSON file to read.")] = None,
    patience: Annotated[float, typer.Option(help="Seconds to wait for late spans.", min=0)] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Print the hop budget of each trace: its tree, and a table that adds up."""
    wanted = trace_ids or []
    if (jaeger_url is None) == (file is None):
        raise typer.BadParameter("give either --jaeger URL or --otlp FILE")
    if jaeger_url is not None and not wanted:
        raise typer.BadParameter("--jaeger needs at least one TRACE_ID")
    try:
        if jaeger_url is not None:
            fetched = jaeger.read_traces(jaeger_url, wanted, patience_s=patience)
            traces, missing = fetched.traces, fetched.missing
        else:
            assert file is not None
            traces, missing = _from_file(file, wanted)
        if missing:
            raise NotEnoughDataError(f"no trace {', '.join(missing)} in {jaeger_url or file}")
        if not traces:
            raise NotEnoughDataError(f"no spans in {jaeger_url or file}")
        _print_budgets(traces, as_json)
    except (HopsError, OSError, UnicodeDecodeError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error


def rows(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="OTLP JSON, one document a line, each trace on one line.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where hops.parquet and calls.parquet go.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one for each core).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the hop budgets of all traces in a file as rows, however many there are."""
    from hops.run.bulk import write_rows  # rows are Parquet, for which one trace needs no library

    try:
        made = write_rows(file, out, processes=processes)
    except (HopsError, OSError, UnicodeDecodeError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps({"budgets": made.budgets, "gap_ns": made.gap_ns, "quality": asdict(made.quality)}))
    else:
        print(f"{made.budgets} hop budgets in {out}; largest budget imbalance: {made.gap_ns} ns")
        print(_defects(made.quality), end="")


def _from_file(file: Path, wanted: list[str]) -> tuple[dict[str, list[Span]], list[str]]:
    by_id: dict[str, list[Span]] = defaultdict(list)
    for span in otlp.read_file(file):
        by_id[span.trace_id].append(span)
    ids = [trace_id.lower() for trace_id in wanted] or list(by_id)
    return {one: by_id[one] for one in ids if one in by_id}, [one for one in ids if one not in by_id]


def _print_budgets(traces: dict[str, list[Span]], as_json: bool) -> None:
    console = terminal()
    documents: list[dict[str, Any]] = []
    for trace_id, spans in traces.items():
        tree = grow(spans)
        result = budget_of_tree(tree)
        if result is None:
            raise NotEnoughDataError(f"trace {trace_id} has no root span, so it has no end-to-end time to split")
        if as_json:
            documents.append(_as_document(result))
            continue
        console.print(trace_tree(tree), soft_wrap=True)
        console.print()
        title = f"Hop budget of {result.journey}, trace {trace_id}"
        console.print(rendered([trace_table(title, result.parts, result.crossings)]))
        console.print(_defects(result.quality))
    if as_json:
        print(json.dumps(documents, indent=2, ensure_ascii=False))


def _as_document(one: Budget) -> dict[str, Any]:
    return {
        "trace_id": one.trace_id,
        "journey": one.journey,
        "channel": one.channel,
        "total_ns": one.total_ns,
        "parts_ns": dict(sorted(one.parts.items(), key=lambda item: -item[1])),
        "crossings": dict(one.crossings),
        "quality": asdict(one.quality),
    }


def _defects(quality: Quality) -> str:
    counts = {name: n for name, n in asdict(quality).items() if n and name not in ("traces", "spans")}
    if not counts:
        return f"{quality.spans} spans, no defect.\n"
    return f"{quality.spans} spans; " + ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items()) + ".\n"
