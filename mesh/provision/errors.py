"""What can go wrong during set-up; a SetupError is shown to the user as it is, without a traceback."""

from __future__ import annotations


class SetupError(Exception):
    """Set-up cannot continue; the message names the step, the cause, and what to do.

    All that fetches, builds or starts something raises this error: a registry does not answer, bytes differ from their
    pinned digest, a compiler or another program fails.
    """


class StepError(SetupError):
    """A command failed, took too long, or fell silent.

    Attributes:
        cause: The cause in one line: the command's last line of output, if the command ended by itself.
    """

    def __init__(self, message: str, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


class StoppedError(Exception):
    """Set-up was stopped: by the user, or because another step failed."""
