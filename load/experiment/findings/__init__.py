"""The page of findings: which runs its figures come from, how it is written, and how `make findings` rebuilds it."""
