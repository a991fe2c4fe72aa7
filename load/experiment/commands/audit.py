"""`audit`: checks the shop's invariants in the running topology, or in the data that a run left behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from experiment.blocks import trial_name
from experiment.commands.options import reported_errors
from experiment.errors import UsageError
from experiment.results.folder import RESULTS, find_run
from experiment.trial.audit import audit, require_marked
from experiment.trial.outcome import JOURNEYS
from hops.gates.trial import NOT_AUDITED
from hops.run.files import TRIALS, Trials, read_document, trial_folder
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.options import Json, takes_settings
from mesh.description.ports import load_ports
from mesh.native.database_run import open_database
from mesh.paths import RunFolder
from mesh.supervisor.running_state import read_state


@takes_settings("audit")
def audit_command(*, run: str, as_json: Json = False) -> None:
    with reported_errors():
        ports = load_ports(os.environ)
        state = None if run else read_state(RunFolder.of(ports.base))
        if state is not None and state.switches["store"] == "memory":
            raise UsageError(f"{state.topology} cannot be audited: {NOT_AUDITED}.")
        trial, journeys = (None, None) if state else _left_by(run or "latest")
        with open_database(ports) as database:
            if trial is not None:
                require_marked(database.admin_url, TRIAL_DATABASE, trial)
            what = (
                f"the data of a run's last trial: {trial}"
                if state is None
                else f"the topology that is up: {state.topology}"
            )
            print(f"Auditing {what}", file=sys.stderr, flush=True)
            sound = audit(database.admin_url, TRIAL_DATABASE, journeys, as_json=as_json)
        if not sound:
            raise SystemExit(1)


def _left_by(run: str) -> tuple[str, Path]:
    """Returns the name of a run's last trial and the file of its journeys; raises UsageError if there are none."""
    folder = find_run(RESULTS, run)
    last = max(read_document(folder / TRIALS, form=Trials)["trials"], key=lambda trial: trial["ended"])
    for gate in last["gates_left_out"]:
        if gate["reason"] == NOT_AUDITED:
            raise UsageError(f"run={run} cannot be audited: {NOT_AUDITED}.")
    of_trial = trial_folder(last["topology"], last["block"])
    return trial_name(folder.name, of_trial.name), folder / of_trial / JOURNEYS
