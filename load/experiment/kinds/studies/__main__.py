"""Writes the verdicts of runs into the page about studies; see `experiment.kinds.studies.page`."""

from __future__ import annotations

import sys
from pathlib import Path

from experiment.errors import UsageError
from experiment.kinds.studies.page import write

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("give the folders of runs of `make studies`, such as results/20261129T010000Z-studies")
    try:
        write([Path(argument) for argument in sys.argv[1:]])
    except UsageError as error:
        sys.exit(str(error))
