"""A process that renders charts: a Vega-Lite specification on each line of its input, and an SVG on each of its output.

It ends when its input does. It is run as a file, since importing it as a part of the package would import all of that.
"""

from __future__ import annotations

import json
import sys

import vl_convert

VEGA_LITE = "5.21"


def main() -> None:
    """Renders until the input ends."""
    for line in sys.stdin:
        print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line), vl_version=VEGA_LITE)), flush=True)


if __name__ == "__main__":
    main()
