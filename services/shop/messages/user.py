"""Converts the messages of accounts to value types and back, for the server and its clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from shop.messages.shared import masked
from shop.stubs import address_pb2
from shop.stubs import user_pb2 as pb
from shop.values.user import Address, LoginResult, User

CHANGEABLE = ("name", "address")


class UserChange(TypedDict):
    """What an update changes of a user; None for what stays as it is."""

    name: str | None
    address: Address | None


def address_message(address: Address) -> address_pb2.Address:
    return address_pb2.Address(
        recipient=address.recipient,
        street=address.street,
        city=address.city,
        postal_code=address.postal_code,
        country_code=address.country_code,
    )


def address_from(message: address_pb2.Address) -> Address:
    return Address(message.recipient, message.street, message.city, message.postal_code, message.country_code)


def user_message(user: User) -> pb.User:
    return pb.User(id=user.id, email=user.email, name=user.name, address=address_message(user.address))


def user_from(message: pb.User) -> User:
    return User(message.id, message.email, message.name, address_from(message.address))


def change_from(message: pb.User, mask: Iterable[str]) -> UserChange:
    """Returns the fields of a user that an update changes.

    Raises:
        InvalidArgument: The mask is empty or names another field.
    """
    paths = masked(mask, CHANGEABLE)
    return UserChange(
        name=message.name if "name" in paths else None,
        address=address_from(message.address) if "address" in paths else None,
    )


def login_message(result: LoginResult) -> pb.LoginResponse:
    return pb.LoginResponse(token=result.token, user=user_message(result.user))


def login_from(message: pb.LoginResponse) -> LoginResult:
    return LoginResult(message.token, user_from(message.user))
