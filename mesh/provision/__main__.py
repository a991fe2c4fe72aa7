"""`python3 -m provision STEP`: one step of set-up; the Makefile knows when each step is due."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older interpreter gets as far as this line, and a clear message
    version = ".".join(map(str, sys.version_info[:3]))
    sys.exit(
        f"error: Python 3.11 to 3.14 is needed, and {sys.executable} is {version}. "
        "Name another interpreter with `make PYTHON=/path/to/python3 …`."
    )

from provision.all_steps import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
