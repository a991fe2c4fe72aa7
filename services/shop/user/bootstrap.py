"""Wires the user service: database, cache, password hashes, tokens, use cases, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from shop.contract.calls import USER
from shop.platform.access.guesses import count_failure, count_sign_up
from shop.platform.access.jwt import TokenSigner
from shop.platform.cache.opening import behind_cache
from shop.platform.config import EDGE_MARK, ConfigError, ServiceConfig, require_setting
from shop.platform.database.store import OpenStore, in_postgres
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Offer, run_servers
from shop.user.cached import CachedUserStore
from shop.user.passwords import Argon2Passwords
from shop.user.ports import UserStore
from shop.user.postgres import PostgresUserStore
from shop.user.service import UserService
from shop.values.user import User

OPEN_STORE = in_postgres(PostgresUserStore)


@asynccontextmanager
async def bootstrap(
    config: ServiceConfig, runtime: Runtime = BARE, open_store: OpenStore[UserStore] = OPEN_STORE
) -> AsyncIterator[UserService]:
    """Opens what accounts need and yields their use cases. Raises `ConfigError`, or `StartError` for the database."""
    signer = _signer(require_setting(config.jwt_private_key_file, "SHOP_JWT_PRIVATE_KEY_FILE", "keys/jwt-private.pem"))
    async with (
        open_store(config, runtime) as store,
        behind_cache(config, runtime, store, User, CachedUserStore) as accounts,
    ):
        with closing(Argon2Passwords()) as passwords:
            yield UserService(accounts, passwords, signer, page_token_key=config.page_token_key)


def offer(service: UserService) -> Offer:
    return Offer(
        USER,
        service,
        around={
            "CreateUser": lambda metadata: count_sign_up(metadata.get(EDGE_MARK)),
            "Login": lambda metadata: count_failure(metadata.get(EDGE_MARK)),
        },
    )


async def serve(config: ServiceConfig, runtime: Runtime, open_store: OpenStore[UserStore] = OPEN_STORE) -> None:
    async with bootstrap(config, runtime, open_store) as service:
        await run_servers(config, offer(service), runtime)


def _signer(path: str) -> TokenSigner:
    try:
        return TokenSigner(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"SHOP_JWT_PRIVATE_KEY_FILE: cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"SHOP_JWT_PRIVATE_KEY_FILE: {path} is not an Ed25519 private key in PEM form") from error
