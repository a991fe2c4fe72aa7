"""Experiments: topologies of the shop under identical load.

Each folder imports only from those below it:

- `cli`, `commands`: what `python -m experiment` can do.
- `runner`: runs a plan, trial after trial.
- `capacity`: sweep and stress. `proofs`: whether the instrument finds a known delay and survives a kill.
- `trial`: one trial, from a fresh system to its rows.
- `parity`: whether all topologies answer as the data says.
- `generator`: the load generator as a process, and its tapes.
- `plan`: what an experiment will do.
- `results`: the folders that it leaves.
"""
