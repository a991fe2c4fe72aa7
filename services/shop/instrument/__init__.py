"""How spans are recorded and exported: the instrument's part of the shop's processes, behind one small interface.

`shop.instrument.tracing` is the interface. Behind it are `lean`, which disturbs what it measures as little as it can,
and `sdk`, the stock OpenTelemetry SDK, which is what most services have. Whoever copies the shop needs the latter only.
"""
