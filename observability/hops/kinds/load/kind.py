"""Loading a target that is not the shop, among the kinds of experiments."""

from __future__ import annotations

from hops.kinds.compare.terminal import compare
from hops.report.view import Kind

KIND = Kind("How long do customers of these targets wait, and is one of them faster?", compare, traced=False)
