"""The kind of experiment that loads targets other than the shop."""

from hops.report.view import Kind
from hops.terminal.comparison import compare

KIND = Kind("How long do customers of these targets wait, and is one of them faster?", compare, traced=False)
