"""The order service as a process: `python -m shop.order`."""

import os

from shop.clients.connect import import_clients
from shop.order.bootstrap import serve
from shop.platform.process.lifecycle import launch, leave

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_clients))
