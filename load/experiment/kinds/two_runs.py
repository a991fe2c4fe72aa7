"""`make compare-runs a=RUN b=RUN`: compares two results folders."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from experiment.arguments import choice, choices, percentage
from experiment.commands.options import (
    DOUBTFUL,
    UNCHECKED,
    console,
    is_doubtful,
    is_strict,
    reported_errors,
)
from experiment.errors import UsageError
from experiment.results.folder import RESULTS, find_run
from hops.conclusions.wording import mark_lines
from hops.elements.markdown import markdown
from hops.kinds.two_runs.analysis import (
    KNOWN_METRICS,
    WATCHED,
    RunsComparison,
    Threshold,
    compare_runs,
    list_watched,
    regressions,
)
from hops.kinds.two_runs.tables import runs_sections, runs_view
from hops.run.files import MANIFEST, SUMMARY, read_run
from hops.run.rows import write_whole
from mesh.description.options import Json, takes_settings

SLOWER = 4
"""Exit code if a figure is shown to be worse by more than the threshold."""


@takes_settings("compare-runs")
def command(
    *,
    a: str,
    b: str,
    threshold: str | None,
    metrics: str | None,
    allow_wrong: str,
    out: str | None,
    strict: str | None,
    as_json: Json = False,
) -> None:
    with reported_errors():
        if not a:
            raise UsageError("give the baseline run, such as a=20260102T030405Z-compare")
        limit = checked_threshold(threshold, metrics)
        # A device would be replaced by a file.
        if out and (not Path(out).parent.is_dir() or (Path(out).exists() and not Path(out).is_file())):
            raise UsageError(f"out={out} is not a file in an existing folder: give a file, such as out=change.md")
        allowed, ends_noisy = choice("allow-wrong", allow_wrong, ("yes", "no")) == "yes", is_strict(strict)
        folders = [find_run(RESULTS, run, name, (MANIFEST, SUMMARY)) for name, run in (("a", a), ("b", b))]
        if folders[0] == folders[1]:
            raise UsageError(f"a and b are both the run {folders[0].name}: give two different runs")
        first, second = (read_run(folder) for folder in folders)
        comparison = compare_runs(first, second, limit)
        if out:
            title, *_ = mark_lines(comparison["verdict"], ["Two runs compared"])
            text = markdown(title, [], runs_sections(comparison))
            write_whole(Path(out), lambda scratch: scratch.write_text(text, encoding="utf-8"))
        if as_json:
            typer.echo(json.dumps(comparison, indent=2, ensure_ascii=False, allow_nan=False))
        else:
            console().print(runs_view(comparison))
        code = exit_code(comparison, strict=ends_noisy, allow_wrong=allowed)
        if code == UNCHECKED:
            typer.echo("error: the threshold cannot be checked: none of the metrics has an interval.", err=True)
        if code:
            raise SystemExit(code)


def exit_code(comparison: RunsComparison, *, strict: bool, allow_wrong: bool) -> int:
    """Returns the exit code.

    It is 3 if the figures must not be trusted, and 4 if a figure is worse by more than the threshold. It is 1 if the
    threshold could not be checked, and 0 otherwise.

    Args:
        allow_wrong: Whether to judge figures even if they must not be trusted.
    """
    if is_doubtful(comparison["verdict"], strict=strict) and not allow_wrong:
        return DOUBTFUL
    if regressions(comparison, "shown"):
        return SLOWER
    rows = list_watched(comparison)
    # A check without figures must not count as passed.
    if comparison["threshold"] is not None and all(row["regression"] == "unknown" for row in rows):
        return UNCHECKED
    return 0


def checked_threshold(given: str | None, metrics: str | None) -> Threshold | None:
    """Reads a threshold such as `10%`, and the names of metrics; raises UsageError if one is invalid."""
    if not given:
        if metrics:
            raise UsageError("metrics= needs a threshold: add threshold=10%")
        return None
    share = percentage("threshold", given, 0, 10_000, "10%")
    return Threshold(share, tuple(choices("metrics", metrics, KNOWN_METRICS)) if metrics else WATCHED)
