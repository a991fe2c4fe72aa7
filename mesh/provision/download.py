"""`python download.py ADDRESS FILE`: downloads a file and prints how much of it has arrived.

It is a separate program because a process can be ended at any time, even while it looks up a host name.
"""

from __future__ import annotations

import http.client
import sys
import urllib.error
import urllib.request
from pathlib import Path

CHUNK = 1 << 18
MB = 1e6


def main(address: str, file: str) -> str | None:
    """Downloads a file; returns the reason for a failure, in one line, or None.

    The address begins with https:// or http://. The first line is printed when the server has answered.
    """
    done = 0
    try:
        with urllib.request.urlopen(address) as answer, Path(file).open("wb") as out:  # noqa: S310
            size = answer.length or 0
            while True:
                print(f"{done / MB:.1f} of {(size or done) / MB:.1f} MB", flush=True)
                chunk = answer.read1(CHUNK)
                if not chunk:
                    break
                done += out.write(chunk)
    except urllib.error.HTTPError as error:
        return f"the server answers {error.code} {error.reason}"
    except (http.client.HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return f"the connection fails: {getattr(reason, 'strerror', '') or reason}"
    return f"the connection ended after {done:,} of {size:,} bytes" if done < size else None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
