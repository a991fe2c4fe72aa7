"""A variable's value lies in the environment or in a file, and never in both."""

from __future__ import annotations

from pathlib import Path

import pytest

from shop.platform.config import ConfigError, ServiceConfig, value_of

URL = "postgresql://shop_order:hush@db.example:5432/shop"


def test_a_file_stands_for_the_value(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    env = {"SHOP_COMPONENT": "order", "SHOP_DATABASE_URL_FILE": str(tmp_path / "url")}
    assert ServiceConfig.from_env(env).database_url == URL
    (tmp_path / "pool").write_text("3\n")
    assert ServiceConfig.from_env(env | {"SHOP_DATABASE_POOL_FILE": str(tmp_path / "pool")}).database_pool == 3
    assert value_of({"SHOP_DATABASE_URL": URL}, "SHOP_DATABASE_URL") == URL
    assert value_of({"SHOP_DATABASE_URL": ""}, "SHOP_DATABASE_URL") is None


@pytest.mark.parametrize(
    ("content", "more", "why"),
    [
        (None, {}, "SHOP_DATABASE_URL_FILE: cannot read .*url: No such file"),
        (b"\xff", {}, "url is not text in UTF-8"),
        (URL.encode(), {"SHOP_DATABASE_URL": URL}, "SHOP_DATABASE_URL and SHOP_DATABASE_URL_FILE are both set"),
        (b"mysql://me:hush@host/db", {}, "SHOP_DATABASE_URL is not valid"),
    ],
)
def test_what_cannot_be_read_is_named_without_what_is_in_it(
    tmp_path: Path, content: bytes | None, more: dict[str, str], why: str
) -> None:
    if content is not None:
        (tmp_path / "url").write_bytes(content)
    env = {"SHOP_COMPONENT": "order", "SHOP_DATABASE_URL_FILE": str(tmp_path / "url"), **more}
    with pytest.raises(ConfigError, match=why) as refusal:
        ServiceConfig.from_env(env)
    assert "hush" not in str(refusal.value)
