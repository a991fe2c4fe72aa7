"""Which updates reached the watchers during a trial, and which updates in the shop's database did not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import psycopg

from hops.analysis.cost import WATCHERS
from hops.budget.parts import budgets_of
from hops.run.rows import UPDATES, WATCHED, hops_frame, read_rows
from hops.traces.jaeger import read_traces
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime

POSITIONS = "SELECT user_id, last_position FROM shop_notification.mailbox"
TRACES_S = 20.0
"""Seconds that the last spans of updates may take to reach Jaeger."""


def read_updates(
    system: Runtime, folder: Path, before: Mapping[int, int]
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Reads which updates reached the watchers and, from the shop's database, which updates should have reached them.

    Args:
        before: The position of each customer's newest notification before the wait.

    Returns:
        Rows of `hops.run.rows.OBSERVED`, and the generator's account of the watchers.

    Raises:
        HopsError: The traces could not be read.
    """
    account = json.loads((folder / "watchers.json").read_text(encoding="utf-8"))
    arrived, after = read_rows(folder / "updates.jsonl", UPDATES), positions(system)
    trace_ids = [(context or "").split("-")[1] if context else "" for context in arrived["traceparent"]]
    traces = read_traces(system.ports.url("jaeger-query-http"), filter(None, trace_ids), patience_s=TRACES_S)
    budgets = {one.trace_id: one for one in budgets_of(traces.values())[0] if one.quality.complete}
    came = {(user, position) for user, position in arrived.select("user_id", "position").iter_rows()}
    rows: list[tuple[object, ...]] = [
        (*row, False, trace_id, trace_id in budgets, budgets[trace_id].gap_ns if trace_id in budgets else 0)
        for row, trace_id in zip(
            arrived.select("user_id", "position", "created_ns", "arrived_ns", "again").iter_rows(),
            trace_ids,
            strict=True,
        )
    ]
    rows += [
        (user, position, 0, 0, False, True, "", False, 0)
        for user in account["users"]
        for position in range(before.get(user, 0) + 1, after.get(user, 0) + 1)
        if (user, position) not in came
    ]
    of_watchers = {name: account[name] for name in ("protocol", "longest_reconnect_s", "opened_s", "open_s")}
    of_watchers |= {"reconnects": sum(account["reconnects"].values())}
    of_watchers |= {"bytes": account["bytes_in"] + account["bytes_out"]}
    frames = {"updates": pl.DataFrame(rows, schema=WATCHED, orient="row"), "update_hops": hops_frame(budgets.values())}
    return frames, {WATCHERS: of_watchers}


def positions(system: Runtime) -> dict[int, int]:
    """Reads the position of each customer's newest notification."""
    with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
        return {int(user): int(position) for user, position in connection.execute(POSITIONS).fetchall()}
