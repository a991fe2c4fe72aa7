"""Bodies of users and their sessions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from shop.platform.rest.fields import NO_NUL, Address, Change, Id, NextPageToken, Received, Sent, absent

Email = Annotated[
    str,
    Field(
        min_length=3,
        max_length=254,
        pattern=r"^[^@\s\x00]+@[^@\s\x00]+$",
        description="E-mail address, unique among the users.",
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="Name of the user.")]
Password = Annotated[
    str,
    Field(min_length=8, max_length=128, pattern=NO_NUL, description="Only its argon2id hash is stored."),
]

_ADDRESS: dict[str, Any] = {
    "recipient": "Ada Example",
    "street": "Example Street 17",
    "city": "Springfield",
    "postal_code": "10017",
    "country_code": "DE",
}
_USER: dict[str, Any] = {"id": 17, "email": "user17@example.com", "name": "Ada Example", "address": _ADDRESS}


class PostalAddress(Sent):
    """Where parcels of a user go."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ADDRESS]})

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: Annotated[str, Field(description="ISO 3166-1 alpha-2 code.")]


class User(Sent):
    """A customer of the shop."""

    model_config = ConfigDict(json_schema_extra={"examples": [_USER]})

    id: Id
    email: str
    name: str
    address: PostalAddress


class UserPage(Sent):
    """A page of users by ascending id, or those asked for by `ids` in that order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"users": [_USER], "next_page_token": ""}]})

    users: list[User]
    next_page_token: NextPageToken


class NewUser(Received):
    """A user to add."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "email": "ada@example.com",
                    "name": "Ada Example",
                    "address": _ADDRESS,
                    "password": "correct horse battery",
                }
            ]
        }
    )

    email: Email
    name: Name
    address: Address
    password: Password


class UserChange(Change):
    """The fields of a user to change; those left out stay as they are. An address is replaced as a whole."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "examples": [{"address": _ADDRESS}]})

    name: Annotated[Name, Field(default_factory=absent)]
    address: Annotated[Address, Field(default_factory=absent)]


class Credentials(Received):
    """Who logs in."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"email": "user17@example.com", "password": "hopwise-demo"}]}
    )

    email: Email
    password: Password


class Session(Sent):
    """What a successful login gives."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "eyJhbGciOi...", "user": _USER}]})

    token: Annotated[str, Field(description="Send it as `Authorization: Bearer <token>`; it is valid for one hour.")]
    user: User
