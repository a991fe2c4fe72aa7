"""The notification service as a process: `python -m shop.notification`."""

import os

from shop.notification.bootstrap import import_more, serve
from shop.platform.process.lifecycle import launch, leave

if __name__ == "__main__":
    leave(launch(serve, os.environ, import_more))
