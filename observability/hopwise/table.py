"""Where each command of `hopwise` is: the one table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that belong together.

    Attributes:
        title: Title in the help.
        commands: By name, where each command is: a function, or a `Typer` that has a command of this name; and what it
            does, if the help of all commands says so.
    """

    title: str
    commands: Mapping[str, tuple[str, str]]


def _of(app: str, names: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys(names.split(), (app, ""))


GROUPS = {
    "traces": Group(
        "Traces of any services",
        {
            "budget": ("hops.commands.budget:budget", "Print the hop budget of each trace: its tree, and its parts"),
            "compare-traces": (
                "hops.commands.compare_traces:compare_traces",
                "Say which operations of two sets of traces differ, and in which part",
            ),
            "check": ("hops.commands.check:check", "Hold traces against limits of operations and parts; for CI"),
            "what-if": (
                "hops.commands.what_if:what_if",
                "Predict p50 and p99 if a part took longer, less, or was gone",
            ),
            "rows": ("hops.commands.budget:rows", "Write the hop budgets of a large file of traces as Parquet"),
            "report": ("hops.commands.report:report_command", "Rebuild the report of a results folder"),
        },
    ),
    "measure": Group(
        "Measure a shop, or with load a target of your own",
        _of(
            "experiment.cli:app",
            "bench compare load ladder rtt rates isolate studies sweep stress overload connections watch chaos soak "
            "compare-runs decide trace parity audit",
        ),
    ),
    "run": Group("Run it", _of("mesh.cli:app", "up status down topologies manifests compose")),
    "prove": Group(
        "Prove figures",
        {
            **_of("experiment.cli:app", "prove conformance"),
            **_of("chaos.prove_sagas:app", "prove-sagas"),
            **_of("chaos.prove_cache:app", "prove-cache"),
            **_of("chaos.prove_fairness:app", "prove-fairness"),
            **_of("fuzz.__main__:app", "fuzz"),
            **_of("hops.commands.benchmark:benchmark", "benchmark"),
            **_of("hops.commands.benchmark:benchmark_budgets_command", "benchmark-budgets"),
        },
    ),
}
"""The groups of commands, by name."""

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.commands.items()}
"""All of them."""


OF_SETS = frozenset({"compare-traces", "check", "what-if"})
"""Commands for sets of traces, whose figures take less than those of runs."""


def extra_of(name: str) -> str:
    """The extra of the package that has what a command imports beside what the trace tools do."""
    if name in OF_SETS:
        return "sets"
    return "analysis" if COMMANDS[name][0].startswith("hops.") else "shop"
