"""What measures the shop: span recorders, accounts of their cost, and injected delay.

The shop records spans through `shop.platform.telemetry.recorder.Tracing`. Of the two recorders here, `lean` disturbs
what it measures as little as it can, and `sdk` is the stock OpenTelemetry SDK with an account of its spans.
"""
