"""One canonical form of an e-mail address, on which Python and PostgreSQL agree; everything else is refused."""

from __future__ import annotations

import contextlib
import sys

import psycopg
import pytest

from conforming import words
from shop.contract.ports import UserClient
from shop.errors import InvalidArgument
from shop.user.domain import canonical_email
from shop.values.user import Address

ADDRESS = Address("Ada", "Street 1", "Berlin", "10115", "DE")


@pytest.fixture(scope="module")
def characters() -> list[str]:
    """Every Unicode character, without surrogates."""
    return [chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


@pytest.fixture(scope="module")
def disputed(shop_url: str, characters: list[str]) -> list[str]:
    """The characters that Python and the database convert to lower case differently."""
    # Each character is converted alone: the result for a letter may depend on its neighbours.
    with contextlib.closing(psycopg.connect(shop_url)) as admin:
        rows = admin.execute("SELECT c, lower(c) FROM unnest(%s::text[]) AS c", [characters]).fetchall()
    return [one for one, lower in rows if lower != one.lower()]


def test_the_canonical_form_is_the_database_s_own(
    admin: psycopg.Connection, characters: list[str], disputed: list[str]
) -> None:
    assert disputed, "were there none, any character could be let in"
    admitted = []
    for character in characters:
        with contextlib.suppress(InvalidArgument):
            admitted.append(canonical_email(f"{character}x@example.com", "email"))
    assert len(admitted) == len(range(ord("!"), ord("~") + 1)) - 1, "printable ASCII but the @"
    assert admin.execute("SELECT a FROM unnest(%s::text[]) AS a WHERE a <> lower(a)", [admitted]).fetchall() == []


async def test_a_character_beyond_ascii_is_the_caller_s_error(user: UserClient, disputed: list[str]) -> None:
    for character in [*disputed, "ü", "\u200b", "\uff41"]:
        for email in (f"{character}x@example.com", f"x@{character}.example"):
            with pytest.raises(InvalidArgument, match=words("printable ASCII")) as refusal:
                await user.create_user(email=email, name="Ada", address=ADDRESS, password="correct horse")
            assert refusal.value.field.endswith("email")
            with pytest.raises(InvalidArgument) as refusal:
                await user.login(email, "correct horse")
            assert refusal.value.field.endswith("email")
