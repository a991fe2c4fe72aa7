"""The order service as a process: `python -m shop.order`."""

import os
import sys

from shop.order.bootstrap import serve
from shop.platform.lifecycle import launch

if __name__ == "__main__":
    sys.exit(launch(serve, os.environ))
