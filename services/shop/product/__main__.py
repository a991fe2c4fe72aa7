"""The product service as a process: `python -m shop.product`."""

import os
import sys

from shop.platform.lifecycle import launch
from shop.product.bootstrap import serve

if __name__ == "__main__":
    sys.exit(launch(serve, os.environ))
