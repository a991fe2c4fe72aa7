"""The order service as a process: `python -m shop.order`."""

import os
from functools import partial

from shop.clients.protocol_by_address import import_clients
from shop.order.bootstrap import serve
from shop.platform.process.lifecycle import launch, leave
from shop.platform.serve import import_adapters

if __name__ == "__main__":
    leave(launch(serve, os.environ, partial(import_adapters, "order"), import_clients))
