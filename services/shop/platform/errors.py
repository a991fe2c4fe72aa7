"""What can go wrong in the platform itself, besides the errors that clients see (`shop.errors`).

ValueError
└── ConfigError        a variable of the environment is missing or not valid
RuntimeError
└── StartError         the process cannot start
DeadlineExceeded
└── BodyTimeout        a request's body did not arrive in time
"""

from __future__ import annotations

from shop.errors import DeadlineExceeded


class ConfigError(ValueError):
    """A variable of the environment is missing or not valid; the message names it and the valid values."""


class StartError(RuntimeError):
    """The process needs something at its start that it cannot get; the message says what, and what to do."""


class BodyTimeout(DeadlineExceeded):
    """The body did not arrive in time, for which HTTP has a status of its own: 408."""
