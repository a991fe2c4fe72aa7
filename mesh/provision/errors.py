"""What can go wrong during set-up.

SetupError    shown to the user as it is, without a traceback
"""

from __future__ import annotations


class SetupError(Exception):
    """Set-up cannot go on; the message names the step, the cause, and what to do."""
