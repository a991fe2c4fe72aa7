"""The order service as a process: `python -m shop.order`."""

import os

from shop.order.bootstrap import import_more, serve
from shop.platform.process.lifecycle import launch, leave

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_more))
