"""The product service as a process: `python -m shop.product`."""

import os

from shop.platform.process.lifecycle import launch, leave
from shop.product.bootstrap import import_more, serve

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_more))
