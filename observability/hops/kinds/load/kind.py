"""Loading a target that is not the shop, among the kinds of experiments."""

from __future__ import annotations

from hops.report.view import Kind

KIND = Kind("How long do its customers wait, and is one target faster than the others?")
