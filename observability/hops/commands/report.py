"""`python -m hops report` and `benchmark-report`: a run's report from its files, and how long that takes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from hops.errors import HopsError
from hops.run.documents import Summary
from hops.run.files import SUMMARY, read_run

TARGET_S = 60.0
TARGET_MIB = 1536.0
_TOPOLOGIES = ("rest", "graphql", "grpc", "hybrid")
_BLOCKS = 5
_TRACED = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    """What the report of a large run took.

    Args:
        journeys: in the run.
        traces: in the run.
        seconds: from the start of the process to its end.
        peak_mib: most memory of the process, MiB.
        page_mb: size of the page, MB.
    """

    journeys: int
    traces: int
    seconds: float
    peak_mib: float
    page_mb: float


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A results folder.")],
) -> None:
    """Make summary.json, report.html, report.md and csv/ of a run again, from its files."""
    try:
        summary, page = make_report(folder)
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"{page} ({'VALID' if summary['valid'] else 'SUSPECT'}, {page.stat().st_size / 1e6:.1f} MB)")


def make_report(folder: Path) -> tuple[Summary, Path]:
    """Reads a run, analyses it, and writes its summary and report.

    Args:
        folder: of the run.

    Returns:
        The summary, and the page's path.

    Raises:
        HopsError: a file is missing, cut short, or of another schema.
        OSError: the disk is full, or the folder cannot be written.
    """
    from hops.analysis.summary import analyse
    from hops.report import write_report
    from hops.run.files import write_summary

    run = read_run(folder)
    summary = analyse(run, name=run.manifest["name"])
    write_summary(summary, folder / SUMMARY)
    return summary, write_report(run, summary, folder)


def benchmark_report_command(
    journeys: Annotated[int, typer.Option(min=1000, help="In the whole run.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure analysis and report of a large made-up run; fails above 60 s or 1.5 GiB."""
    found = measure_report(journeys)
    if as_json:
        print(json.dumps({**asdict(found), "target_seconds": TARGET_S, "target_mib": TARGET_MIB}))
    else:
        print(
            f"{found.journeys:,} journeys, {found.traces:,} traces: {found.seconds:.1f} s (at most {TARGET_S:.0f}), "
            f"{found.peak_mib:,.0f} MiB (at most {TARGET_MIB:,.0f}), page of {found.page_mb:.1f} MB"
        )
    if found.seconds > TARGET_S or found.peak_mib > TARGET_MIB:
        raise typer.Exit(1)


def measure_report(journeys: int) -> Cost:
    """Times `python -m hops report` as a user runs it, in a process of its own.

    Args:
        journeys: in the whole run, of four topologies and five blocks; one in five is traced.
    """
    from hops.synthetic.run import write_generated_run

    with tempfile.TemporaryDirectory(prefix="hops-report-") as scratch:
        folder = write_generated_run(
            Path(scratch) / "run",
            topologies=_TOPOLOGIES,
            blocks=_BLOCKS,
            journeys_per_trial=journeys // (len(_TOPOLOGIES) * _BLOCKS),
            traced=_TRACED,
        )
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "hops", "report", str(folder)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        seconds = time.monotonic() - began
        run = read_run(folder)
        return Cost(
            journeys=run.journeys.height,
            traces=run.hops["trace_id"].n_unique(),
            seconds=seconds,
            # Of the largest child; on Linux in KiB (getrusage(2)).
            peak_mib=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
            page_mb=(folder / "report.html").stat().st_size / 1e6,
        )
