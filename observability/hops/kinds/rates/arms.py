"""The axis of an experiment over rates: journeys a second."""

from __future__ import annotations

from typing import Final

from hops.run.axis import Axis

KIND: Final = "rates"
AXIS = Axis("", lambda manifest, label: manifest["loads"][label]["rate"])
