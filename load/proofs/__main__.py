"""`python -m proofs`: checks the instrument and the shop where the truth is known, and benchmarks hop budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer

from proofs.budget_speed import benchmark, benchmark_budgets
from proofs.measurement.account import prove_account
from proofs.measurement.delays import prove_delays
from proofs.measurement.queues import prove_queues
from proofs.measurement.resume import prove_resume
from proofs.measurement.seeded_faults import prove_conformance_command
from proofs.measurement.what_if import prove_what_if
from proofs.statistics.commands import app as on_data
from proofs.under_faults.cache import prove_cache
from proofs.under_faults.edge_cache import prove_edge_cache
from proofs.under_faults.fairness import prove_fairness
from proofs.under_faults.sagas import prove_sagas

COMMANDS: Mapping[str, Callable[..., None]] = {
    "delays": prove_delays,
    "what-if": prove_what_if,
    "queues": prove_queues,
    "account": prove_account,
    "resume": prove_resume,
    "conformance": prove_conformance_command,
    "sagas": prove_sagas,
    "cache": prove_cache,
    "edge-cache": prove_edge_cache,
    "fairness": prove_fairness,
    "benchmark": benchmark,
    "benchmark-budgets": benchmark_budgets,
}
"""The commands, in addition to those for proofs on synthetic or recorded data."""

_HELP = "Check the instrument and the shop where the truth is known."
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
app.add_typer(on_data)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)

if __name__ == "__main__":
    app()
