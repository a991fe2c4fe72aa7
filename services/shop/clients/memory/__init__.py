"""The four ports over dictionaries in this process: for tests and demos, never for a trial.

`MemoryShop` holds the data and records every call, so that a test can count them; `MemoryShop.demo()` fills one
with the shape of the seeded data at a small scale; `shop.clients` is what a gateway is given.
"""

from shop.clients.memory.orders import MemoryOrders
from shop.clients.memory.payments import MemoryPayments
from shop.clients.memory.products import MemoryProducts
from shop.clients.memory.shop import MemoryShop
from shop.clients.memory.store import Call, Store
from shop.clients.memory.users import MemoryUsers

__all__ = ["Call", "MemoryOrders", "MemoryPayments", "MemoryProducts", "MemoryShop", "MemoryUsers", "Store"]
