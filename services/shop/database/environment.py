"""Reads the variables of commands for the database; secrets in a command line would be visible to other users."""

from __future__ import annotations

import json
from collections.abc import Mapping

from shop.database.schemas import MONITOR, SCHEMAS
from shop.platform.config import require_setting, value_of


def admin_url_of(env: Mapping[str, str]) -> str:
    """Returns the URL of `SHOP_ADMIN_URL`, or raises `ConfigError`."""
    return variable(env, "SHOP_ADMIN_URL", "postgresql://admin:password@host:5432/postgres")


def passwords_of(env: Mapping[str, str]) -> dict[str, str]:
    """Returns the passwords of `SHOP_ROLE_PASSWORDS` by role; raises `ValueError` if one is missing."""
    example = json.dumps({schema.name: "…" for schema in SCHEMAS})
    text = variable(env, "SHOP_ROLE_PASSWORDS", example)
    try:
        given = json.loads(text)
        roles = [*(schema.name for schema in SCHEMAS), *([MONITOR] if MONITOR in given else [])]
        return {role: str(given[role]) for role in roles}
    except (ValueError, TypeError, KeyError):
        # The text contains passwords, so the message does not repeat it.
        raise ValueError(f"SHOP_ROLE_PASSWORDS is not valid; valid: {example}") from None


def variable(env: Mapping[str, str], name: str, example: str) -> str:
    """Returns the value of a variable, or of the file that `NAME_FILE` names; raises `ConfigError` if it is absent."""
    return require_setting(value_of(env, name), name, example)
