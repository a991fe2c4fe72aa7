"""The product service as a process: `python -m shop.product`."""

import os
from functools import partial

from shop.clients.protocol_by_address import import_clients
from shop.platform.process.lifecycle import launch, leave
from shop.platform.serve import import_adapters
from shop.product.bootstrap import serve

if __name__ == "__main__":
    leave(launch(serve, os.environ, partial(import_adapters, "product"), import_clients))
