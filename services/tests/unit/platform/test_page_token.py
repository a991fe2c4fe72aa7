"""Page tokens: they decode to what was encoded, and made-up ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.errors import InvalidPageToken
from shop.platform.page_token import decode, encode

IDS = st.integers(min_value=1, max_value=2**63 - 1)


@given(scope=st.text(), after=IDS)
def test_token_leads_back_to_its_id(scope: str, after: int) -> None:
    assert decode(encode(scope, after), scope) == after


@given(token=st.text(min_size=1), scope=st.text())
def test_made_up_token_is_refused(token: str, scope: str) -> None:
    with pytest.raises(InvalidPageToken) as refusal:
        decode(token, scope)
    assert refusal.value.field == "page_token"


@given(
    after=IDS, position=st.integers(0, 26), letter=st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi0123456789-_")
)
def test_changed_token_is_refused(after: int, position: int, letter: str) -> None:
    token = encode("ListUsers", after)
    changed = token[:position] + letter + token[position + 1 :]
    # The last letter has bits that no byte uses.
    if changed != token and position < 26:
        with pytest.raises(InvalidPageToken):
            decode(changed, "ListUsers")


def test_token_is_bound_to_scope_and_key() -> None:
    token = encode("ListProducts:c0001", 7, key=b"one")
    for scope, key in (("ListProducts:c0002", b"one"), ("ListProducts:c0001", b"two")):
        with pytest.raises(InvalidPageToken):
            decode(token, scope, key=key)


def test_a_signed_id_that_no_row_can_have_is_refused() -> None:
    with pytest.raises(InvalidPageToken):
        decode(encode("ListUsers", 2**63), "ListUsers")
