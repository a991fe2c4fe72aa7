"""The accounts' use cases behind the port of their clients, for adapters that serve the port in this process."""

from __future__ import annotations

from shop.clients.ports import Page
from shop.user.domain import Address, NewUser, User, UserChange
from shop.user.service import UserService


class LocalUserClient:
    """`shop.clients.ports.UserClient` without a protocol in between.

    Args:
        service: What does the work.
    """

    def __init__(self, service: UserService) -> None:
        self._service = service
        self.login = service.login
        self.get_user = service.get_user
        self.batch_get_users = service.batch_get_users
        self.delete_user = service.delete_user

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        page = await self._service.list_users(page_size=page_size, page_token=page_token)
        return Page(tuple(page.users), page.next_page_token)

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        return await self._service.create_user(NewUser(email, name, address), password)

    async def update_user(self, user_id: int, *, name: str | None = None, address: Address | None = None) -> User:
        return await self._service.update_user(user_id, UserChange(name=name, address=address))
