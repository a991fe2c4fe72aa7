"""Variables of the environment whose values may lie in files, as secrets are mounted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def value_of(env: Mapping[str, str], name: str) -> str | None:
    """Returns what a variable says, or the file that `NAME_FILE` names.

    Args:
        env: The variables; empty ones count as absent.
        name: Name of the variable.

    Returns:
        The value, without the blanks and line ends around a file's; None if neither is given.

    Raises:
        ValueError: Both are given, or the file cannot be read.
    """
    file = env.get(f"{name}_FILE")
    if not file:
        return env.get(name) or None
    if env.get(name):
        raise ValueError(f"{name} and {name}_FILE are both set; set one of them")
    try:
        return Path(file).read_text().strip() or None
    except OSError as error:
        raise ValueError(f"{name}_FILE: cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ValueError(f"{name}_FILE: {file} is not text in UTF-8") from None
