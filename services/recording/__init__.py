"""Instruments in the shop: span recorders, accounts of their cost, and injected delay.

The shop records spans through `shop.platform.telemetry.recorder.Tracing`. There are two recorders: `lean` disturbs the
measurement as little as it can, and `sdk` is the stock OpenTelemetry SDK with an account of its spans.
"""
