"""Experiments: topologies of the shop under identical load.

Each folder imports only from folders below it:

- `cli`: the command line, `python -m experiment`.
- `make`: the targets of make and their settings, from the table of commands.
- `kinds`: the kinds of experiments, each with its arms and its command.
- `commands`: the other commands, and what commands share.
- `runner`: runs a plan, trial after trial.
- `faults`: faults in a running topology. `own_target`: targets other than the shop.
- `trial`: one trial, from a fresh system to its rows.
- `parity`: checks whether the answers of all topologies match the data.
- `generator`: the load generator as a process, and its tapes.
- `plan`: the plan of an experiment.
- `results`: the folders of results.
"""
