"""The services over their stores in memory, in this process.

`MemoryShop` records every call, so that a test can count them; its `clients` are the clients for a gateway.
`Data.demo()` is data like the seed's at a small scale.
"""

from memory_shop.data import Data
from memory_shop.shop import MemoryShop

__all__ = ["Data", "MemoryShop"]
