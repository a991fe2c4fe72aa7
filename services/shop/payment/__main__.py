"""The payment service as a process: `python -m shop.payment`."""

import os

from shop.payment.bootstrap import import_more, serve
from shop.platform.process.lifecycle import launch, leave

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_more))
