"""The four services over their stores in memory, in this process.

`MemoryShop` records every call, so that a test can count them; `MemoryShop.demo()` has data of the seeded shape at a
small scale; its `clients` are what a gateway is given.
"""

from memory_shop.data import Data
from memory_shop.shop import MemoryShop

__all__ = ["Data", "MemoryShop"]
