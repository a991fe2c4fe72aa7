"""The payment service as a process: `python -m shop.payment`."""

import os
import sys

from shop.payment.bootstrap import serve
from shop.platform.lifecycle import launch

if __name__ == "__main__":
    sys.exit(launch(serve, os.environ))
