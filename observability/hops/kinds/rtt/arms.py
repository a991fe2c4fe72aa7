"""The axis of an experiment over distances: round-trip times."""

from __future__ import annotations

from typing import Final

from hops.run.axis import Axis

KIND: Final = "rtt"
AXIS = Axis("ms", lambda manifest, label: manifest["arms"][label]["rtt_ms"])
