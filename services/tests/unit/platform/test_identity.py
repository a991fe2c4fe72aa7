"""The caller's identity, from the sidecar's header about the client's certificate; malformed headers yield none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.errors import PermissionDenied
from shop.platform.access.identity import caller_identity
from shop.platform.access.rules import Access, Authenticator, gateway_authenticator, is_internal
from shop.platform.config import ConfigError, ServiceConfig

EDGE = "spiffe://cluster.local/ns/default/sa/edge"
ORDER = "spiffe://cluster.local/ns/default/sa/order"
BY = "By=spiffe://cluster.local/ns/default/sa/product"
HASH = "Hash=" + "0f" * 32


def element(uri: str) -> str:
    """Returns the header that a sidecar writes for a certificate."""
    return f'{BY};{HASH};Subject="";URI={uri}'


@pytest.mark.parametrize(
    ("header", "identity"),
    [
        (element(ORDER), ORDER),
        (f"URI={ORDER}", ORDER),
        (f'URI="{ORDER}"', ORDER),
        (f"{element(EDGE)},{element(ORDER)}", ORDER),
        (f"{element(EDGE)}, {element(ORDER)}", ORDER),
        # Separators inside quotes are part of a value.
        (f'Subject="CN=a,URI={EDGE};O=b";URI={ORDER}', ORDER),
        (f'URI={ORDER};Subject="CN=a,URI={EDGE}"', ORDER),
        (rf'Subject="\",URI={EDGE}";URI={ORDER}', ORDER),
        (rf'URI={ORDER};Subject="\\"', ORDER),
        # A name that only resembles the right name, and parts that do not identify the caller.
        (f"uri={ORDER}", None),
        (f"DNS={ORDER};{BY}", None),
        (f"{BY};{HASH}", None),
        # The last element counts, even if an earlier one has an identity.
        (f"{element(ORDER)},{BY};{HASH}", None),
        (f"{element(ORDER)},", None),
        # Several URIs, in any form, do not yield an identity.
        (f"URI={EDGE};URI={ORDER}", None),
        (f"URI={ORDER};{HASH};URI={ORDER}", None),
        (element(f"{ORDER} {EDGE}"), None),
        # Malformed headers have no identity.
        *[(header, None) for header in ("", ",", ";", "URI", "URI=", "=", ORDER, f'URI="{ORDER}', f'URI={ORDER}"')],
        *[(header, None) for header in (f'URI="{ORDER}"x', f'Subject="CN=a;URI={ORDER}', rf'Subject="\";URI={ORDER}')],
        *[(header, None) for header in (f"URI = {ORDER}", f";URI={ORDER}", f"URI={ORDER};", f"{HASH};;URI={ORDER}")],
        *[(header, None) for header in (f"URI={ORDER}\n", f"U\u0130RI={ORDER}")],
        # These are not identities of a workload.
        *[(f"URI=spiffe://{name}", None) for name in ("cluster.local", "cluster.local/", "/ns/default")],
        *[(f"URI=spiffe://cluster.local/ns/{at}", None) for at in ("/edge", "default/sa/ed%67e", "default/sa/edge?x")],
        *[(f"URI=spiffe://{at}/ns/default/sa/edge", None) for at in ("Cluster.local", "user@cluster.local")],
        ("URI=https://cluster.local/ns/default/sa/edge", None),
    ],
)
def test_header_has_one_identity_or_none(header: str, identity: str | None) -> None:
    assert caller_identity(header) == identity


@given(st.text(alphabet='UURI=;,"\\ bspiffe:/.é\x00', max_size=80))
def test_no_header_raises_and_only_the_last_element_counts(text: str) -> None:
    caller_identity(text)
    after = caller_identity(f"{text},URI={ORDER}")
    # Either the text is malformed, for example by an open quote, or the last element counts.
    assert after in (None, ORDER)


@pytest.mark.parametrize("part", ['"', "\\", "URI=", ";", ",", "URI=a;", "URI=a,", 'S="\\"', " ", "a"])
def test_long_hostile_header_is_read_to_its_end(part: str) -> None:
    # The header is as long as a proxy allows; with a regular expression that backtracks, this would never end.
    assert caller_identity(part * (60_000 // len(part))) is None


def test_gateway_trusts_nobody_inside() -> None:
    with pytest.raises(PermissionDenied):
        Authenticator(None, EDGE).admit(Access.INTERNAL, None, element(ORDER))
    assert not is_internal()


@pytest.mark.parametrize("identity", ["edge", "spiffe://cluster.local", "spiffe://cluster.local/ns/default/sa/edge/"])
def test_wrong_identity_of_the_edge_is_named_with_a_valid_one(keys: object, identity: str) -> None:
    config = ServiceConfig(
        component="rest-gateway",
        jwt_public_key_file=str(keys.public_file),  # type: ignore[attr-defined]
        edge_identity=identity,
    )
    with pytest.raises(
        ConfigError, match=r"SHOP_EDGE_IDENTITY is .*; valid: a SPIFFE ID, such as spiffe://cluster\.local/"
    ):
        gateway_authenticator(config)
