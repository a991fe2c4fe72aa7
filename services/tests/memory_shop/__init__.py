"""The four ports over dictionaries in this process.

`MemoryShop` holds the data and records every call, so that a test can count them; `MemoryShop.demo()` fills one
with the shape of the seeded data at a small scale; its `clients` are what a gateway is given.
"""

from memory_shop.shop import MemoryShop

__all__ = ["MemoryShop"]
