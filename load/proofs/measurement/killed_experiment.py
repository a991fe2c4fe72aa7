"""The experiment that `make prove-resume` kills: `python -m proofs.measurement.killed_experiment NAME`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from experiment.commands.options import reported_errors
from experiment.plan.resume import take_up
from experiment.results.folder import RESULTS
from experiment.runner import run_trials
from hops.run.files import SUMMARY, read_run, write_summary
from mesh.description.ports import load_ports


def main(name: str) -> None:
    """Resumes an experiment by its name until it is complete, with its figures."""
    with reported_errors():
        folder, plan = take_up(RESULTS, name, "proof")

        def conclude() -> Path:
            # Imported here, so that kills hit trials instead of a second of imports.
            from hops.kinds import analyse

            write_summary(analyse(read_run(folder.path), name=plan.name), folder.path / SUMMARY)
            return folder.publish(latest=False)

        run_trials(plan, folder, load_ports(os.environ), conclude=conclude)


if __name__ == "__main__":
    main(sys.argv[1])
