"""The kind of experiment that measures one topology."""

from hops.kinds.bench.terminal import bench
from hops.report.view import Kind

KIND = Kind("How long do customers wait, and where?", bench)
