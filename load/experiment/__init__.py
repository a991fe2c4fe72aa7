"""Experiments: topologies of the shop under identical load.

Each folder imports only from those below it:

- `cli`: what `python -m experiment` can do.
- `make`: what make's targets are and take, from the table of commands.
- `kinds`: the kinds of experiments, each with its arms and its command.
- `commands`: the other commands, and what commands share.
- `runner`: runs a plan, trial after trial.
- `capacity`: what loads topologies step by step. `proofs`: whether the instrument finds a known delay and survives a
  kill.
- `trial`: one trial, from a fresh system to its rows.
- `parity`: whether all topologies answer as the data says.
- `generator`: the load generator as a process, and its tapes.
- `plan`: what an experiment will do.
- `results`: the folders that it leaves.
"""
