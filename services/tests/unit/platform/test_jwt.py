"""Tokens: whom they identify, what they allow, and every way in which they are wrong."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from shop.contract.calls import Access
from shop.errors import NotFound, PermissionDenied, Unauthenticated, no_such
from shop.platform.access.jwt import Principal, TokenSigner, TokenVerifier, bearer
from shop.platform.access.rules import _CALLER, Authenticator, Caller


@pytest.mark.parametrize("principal", [Principal("customer", 17), Principal("partner", 1)])
def test_token_stands_for_its_principal(keys: Any, principal: Principal) -> None:
    token = TokenSigner(keys.private_pem).sign(principal)
    assert TokenVerifier(keys.public_pem).verify(token) == principal


def test_claims_are_those_of_the_contract(keys: Any) -> None:
    token = TokenSigner(keys.private_pem, clock=lambda: 1_700_000_000.9).sign(Principal("customer", 17), ttl_s=60)
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims == {
        "iss": "hopwise",
        "sub": "users/17",
        "role": "customer",
        "iat": 1_700_000_000,
        "exp": 1_700_000_060,
    }
    assert jwt.get_unverified_header(token)["alg"] == "EdDSA"


def test_expired_token_says_so(keys: Any) -> None:
    token = TokenSigner(keys.private_pem, clock=lambda: time.time() - 7200).sign(Principal("customer", 17))
    with pytest.raises(Unauthenticated, match="expired"):
        TokenVerifier(keys.public_pem).verify(token)


@pytest.mark.parametrize(
    "change",
    [
        *({"sub": sub} for sub in ("admins/1", "users/0", "users/1/2", "partners/17", None)),
        *({"role": role} for role in ("partner", "admin", ["customer"], None)),
        *({"exp": expires} for expires in (10**400, None)),
        *({"iss": "other"}, {"iat": None}),
    ],
)
def test_token_with_wrong_claims_is_refused(keys: Any, change: dict[str, Any]) -> None:
    now = int(time.time())
    claims = {"iss": "hopwise", "sub": "users/17", "role": "customer", "iat": now, "exp": now + 60} | change
    claims = {name: value for name, value in claims.items() if value is not None}
    key = load_pem_private_key(keys.private_pem, None)
    token = jwt.encode(claims, key, algorithm="EdDSA")  # type: ignore[arg-type]
    with pytest.raises(Unauthenticated):
        TokenVerifier(keys.public_pem).verify(token)


def test_the_clock_that_signs_may_be_ahead(keys: Any) -> None:
    token = TokenSigner(keys.private_pem, clock=lambda: time.time() + 60).sign(Principal("customer", 17))
    assert TokenVerifier(keys.public_pem).verify(token) == Principal("customer", 17)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "ä.b.c", "\ud800", "." * 5000])
def test_rubbish_is_refused(keys: Any, token: str) -> None:
    with pytest.raises(Unauthenticated):
        TokenVerifier(keys.public_pem).verify(token)


def test_token_of_another_key_or_algorithm_is_refused(keys: Any) -> None:
    other = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    verifier = TokenVerifier(keys.public_pem)
    claims = {"iss": "hopwise", "sub": "users/1", "role": "customer", "iat": 1, "exp": 2**33}
    forged = [
        TokenSigner(other).sign(Principal("customer", 17)),
        jwt.encode(claims, "secret" * 8, algorithm="HS256"),
        jwt.encode(claims, None, algorithm="none"),
    ]
    for token in forged:
        with pytest.raises(Unauthenticated):
            verifier.verify(token)


def test_key_of_another_kind_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(ValueError, match="Ed25519"):
        TokenSigner(private)
    with pytest.raises(ValueError, match="Ed25519"):
        TokenVerifier(public)


@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER  abc "])
def test_bearer_gives_the_token(header: str) -> None:
    assert bearer(header) == "abc"


def test_customers_act_for_themselves_and_partners_for_all() -> None:
    partner, inside, nobody = Caller(Principal("partner", 1)), Caller(None, internal=True), Caller(None)
    customer, other = Caller(Principal("customer", 17)), Caller(Principal("customer", 18))
    missing = no_such("order", 5)
    for allowed in (customer, partner, inside):
        allowed.require_owner(17)
        allowed.require_visible(17, missing)
    for refused in (other, nobody):
        with pytest.raises(PermissionDenied):
            refused.require_owner(17)
        with pytest.raises(NotFound, match="there is no order 5"):
            refused.require_visible(17, missing)
    for allowed in (partner, inside):
        allowed.require_partner()
    for refused in (customer, nobody):
        with pytest.raises(PermissionDenied):
            refused.require_partner()
    assert customer.customer_id() == 17
    for refused in (partner, inside, nobody):
        with pytest.raises(PermissionDenied):
            refused.customer_id()


def test_a_verified_token_is_remembered_until_it_expires(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.time()]
    token = TokenSigner(keys.private_pem).sign(Principal("customer", 17), ttl_s=60)
    verifier = TokenVerifier(keys.public_pem, clock=lambda: now[0])
    read, decode = [], jwt.decode
    monkeypatch.setattr(jwt, "decode", lambda *args, **kwargs: read.append(args[0]) or decode(*args, **kwargs))
    assert {verifier.verify(token) for _ in range(3)} == {Principal("customer", 17)}
    assert read == [token]
    now[0] += 61
    # Its signature and times are checked again; by the real clock, the token is still valid.
    assert verifier.verify(token) == Principal("customer", 17)
    assert read == [token, token]


def test_a_token_that_is_remembered_does_not_let_another_in(keys: Any) -> None:
    token = TokenSigner(keys.private_pem).sign(Principal("customer", 17))
    verifier = TokenVerifier(keys.public_pem)
    verifier.verify(token)
    with pytest.raises(Unauthenticated):
        verifier.verify(token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB"))


def test_only_the_tokens_used_last_are_remembered(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    signer, verifier = TokenSigner(keys.private_pem), TokenVerifier(keys.public_pem, capacity=2)
    first, second, third = (signer.sign(Principal("customer", number)) for number in (1, 2, 3))
    for token in (first, second, first, third):
        verifier.verify(token)
    read, decode = [], jwt.decode
    monkeypatch.setattr(jwt, "decode", lambda *args, **kwargs: read.append(args[0]) or decode(*args, **kwargs))
    for token in (first, third, second):
        verifier.verify(token)
    assert read == [second]


def test_no_token_stays_in_memory(keys: Any) -> None:
    token = TokenSigner(keys.private_pem).sign(Principal("customer", 17))
    verifier = TokenVerifier(keys.public_pem)
    authenticator = Authenticator(verifier)
    authenticator.admit(Access.CALLER, f"Bearer {token}", None)
    held = repr([vars(verifier), vars(authenticator), _CALLER.get()])
    assert "Principal(kind='customer', id=17, " in held
    assert not any(part in held for part in token.split("."))
