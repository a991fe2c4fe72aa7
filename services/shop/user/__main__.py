"""The user service as a process: `python -m shop.user`."""

import os
import sys

from shop.platform.lifecycle import launch
from shop.user.bootstrap import serve

if __name__ == "__main__":
    sys.exit(launch(serve, os.environ))
