"""The user service as a process: `python -m shop.user`."""

import os

from shop.platform.process.lifecycle import launch, leave
from shop.user.bootstrap import import_more, serve

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_more))
