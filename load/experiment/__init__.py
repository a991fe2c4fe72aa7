"""Experiments: topologies of the shop under identical load.

Each part imports only from the parts below it:

- `cli`: the command line, `python -m experiment`.
- `make`: make's targets and their settings, from the table of commands.
- `kinds`: the kinds of experiments, each with its arms and its command.
- `findings`: the page of findings, written from the results of runs.
- `commands`: the other commands, and the code that commands share.
- `runner`: runs a plan, trial after trial.
- `faults`: faults in a running topology. `own_target`: targets other than the shop.
- `trial`: one trial, from a fresh system to its rows.
- `parity`: checks whether the answers of all topologies match the data.
- `generator`: the load generator as a process, and its tapes.
- `plan`: the plan of an experiment.
- `results`: the folders of results.
"""
