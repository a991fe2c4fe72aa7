"""The use cases of accounts, independent of protocol and database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from msgspec.structs import asdict

from shop.contract.ports import Page
from shop.errors import (
    AlreadyExists,
    InvalidArgument,
    ShopError,
    TooManyRequests,
    Unauthenticated,
    changed_since,
    no_such,
)
from shop.platform import page_token as page_tokens
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.admission import LimitedLock
from shop.platform.deadline import remaining
from shop.platform.validation import between, identifier, identifiers, line, matching, size, text
from shop.user.domain import NewUser, UserChange, canonical_email
from shop.user.ports import PasswordHasher, UserStore
from shop.values.user import Address, LoginResult, User

PAGE_SIZE = 20
MAX_PAGE = 1_000
MAX_FAILED_LOGINS = 10
"""Failed logins allowed for one e-mail address within `TooManyRequests.retry_after_s` seconds."""
_SCOPE = "ListUsers"

_COUNTRY = re.compile(r"[A-Z]{2}")
_COUNTRY_FORM = "an ISO 3166-1 alpha-2 code in capitals, such as DE"


class UserService:
    """The accounts' use cases: the methods of `shop.contract.ports.UserClient`."""

    def __init__(
        self,
        store: UserStore,
        passwords: PasswordHasher,
        signer: TokenSigner,
        *,
        page_token_key: bytes = page_tokens.DEFAULT_KEY,
    ) -> None:
        self._store = store
        self._passwords = passwords
        self._signer = signer
        self._key = page_token_key
        # At each replica, logins with the same e-mail address wait for each other; the table that replicas share has
        # the final count of failures.
        self._logins: WeakValueDictionary[str, LimitedLock] = WeakValueDictionary()

    async def login(self, email: str, password: str) -> LoginResult:
        """Returns a token for the right password; an unknown e-mail gets the same answer as a wrong password."""
        text(email, "email", 3, 254)
        address = canonical_email(email, "email")
        text(password, "password", 8, 128)
        async with self._turn(address):
            known = await self._store.credentials(address)
            if known.failures >= MAX_FAILED_LOGINS:
                raise _too_many()
            matches = await self._passwords.verify(known.password_hash, password)
            # Another replica may have counted failures since; an attempt beyond the limit does not learn its result.
            if known.user is None or not matches:
                if await self._store.note_failure(address, TooManyRequests.retry_after_s) > MAX_FAILED_LOGINS:
                    raise _too_many()
                raise Unauthenticated("e-mail and password do not match")
            if known.failures and not await self._store.forget_failures(address, MAX_FAILED_LOGINS):
                raise _too_many()
        return LoginResult(self._signer.sign(Principal("customer", known.user.id)), known.user)

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[None]:
        # After as many failures, the others would be refused in any case.
        refusal = "too many logins with this e-mail address are being checked; try again in 1 s"
        lock = self._logins.setdefault(address, LimitedLock(MAX_FAILED_LOGINS, refusal))
        with lock.places.hold():
            async with asyncio.timeout(remaining()):
                await lock.acquire()
            try:
                yield
            finally:
                lock.release()

    async def get_user(self, user_id: int) -> User:
        user = await self._store.get(identifier(user_id, "id"))
        if user is None:
            raise no_such("user", user_id)
        return user

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        wanted = identifiers(ids, "ids")
        users = {user.id: user for user in await self._store.batch_get(wanted)}
        return [users[user_id] for user_id in wanted if user_id in users]

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        limit = size(page_size, "page_size", default=PAGE_SIZE, maximum=MAX_PAGE)
        after = page_tokens.decode(page_token, _SCOPE, key=self._key)
        # One user more than the page holds shows whether there is a next page.
        users = await self._store.page(after=after, limit=limit + 1)
        return Page(*page_tokens.cut(users, limit, _SCOPE, key=self._key))

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        text(email, "user.email", 3, 254)
        email = canonical_email(email, "user.email")
        line(name, "user.name", 1, 100)
        _check_address(address)
        text(password, "password", 8, 128)
        password_hash = await self._passwords.hash(password)
        added = await self._store.add(NewUser(email, name, address), password_hash)
        if added is None:
            raise AlreadyExists("a user with this e-mail address exists already", field="user.email")
        return added

    async def update_user(
        self, user_id: int, *, name: str | None = None, address: Address | None = None, expected: User | None = None
    ) -> User:
        identifier(user_id, "user.id")
        change = UserChange(name, address)
        if change == UserChange():
            raise InvalidArgument("update_mask must name at least one of: name, address", field="update_mask")
        if name is not None:
            line(name, "user.name", 1, 100)
        if address is not None:
            _check_address(address)
        if expected is not None:
            _check_expected(expected, user_id)
        user = await self._store.change(user_id, change, expected)
        if user is None:
            raise await self._explain_no_row(user_id, expected)
        return user

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        identifier(user_id, "id")
        if expected is not None:
            _check_expected(expected, user_id)
        if not await self._store.delete(user_id, expected):
            raise await self._explain_no_row(user_id, expected)

    async def _explain_no_row(self, user_id: int, expected: User | None) -> ShopError:
        if expected is not None and await self._store.get(user_id) is not None:
            return changed_since("user", user_id)
        return no_such("user", user_id)


def _too_many() -> TooManyRequests:
    return TooManyRequests(
        f"{MAX_FAILED_LOGINS} logins with this e-mail address have failed; "
        f"try again in {TooManyRequests.retry_after_s // 60} minutes"
    )


def _check_expected(expected: User, user_id: int) -> None:
    """Checks that an expected user can be compared with the row."""
    between(expected.id, "expected.id", user_id, user_id)
    address = {f"address.{name}": value for name, value in asdict(expected.address).items()}
    for field, value in {"email": expected.email, "name": expected.name, **address}.items():
        text(value, f"expected.{field}", 0, 1_000)


def _check_address(address: Address) -> None:
    line(address.recipient, "user.address.recipient", 1, 100)
    line(address.street, "user.address.street", 1, 200)
    line(address.city, "user.address.city", 1, 100)
    line(address.postal_code, "user.address.postal_code", 1, 20)
    matching(address.country_code, "user.address.country_code", _COUNTRY, _COUNTRY_FORM)
