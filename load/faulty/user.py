"""Faults in user accounts."""

from __future__ import annotations

from faulty.access import NOTE_METHOD, forget_owner
from faulty.calls import NO_RETRY
from faulty.seeds import Fault, change_answer, change_arguments, replace
from shop.errors import Unauthenticated
from shop.platform import page_token
from shop.user.domain import Credentials
from shop.user.postgres import PostgresUserStore


def _tell_unknown(known: Credentials) -> Credentials:
    if known.user is None:
        raise Unauthenticated("there is no such user")
    return known


async def _count_no_failure(_self: PostgresUserStore, email: str, seconds: float) -> int:
    return 1


FAULTS = (
    Fault(
        "a login says that there is no such user",
        "wrong_password_and_unknown_email_get_the_same_answer",
        change_answer(PostgresUserStore.credentials, _tell_unknown),
    ),
    Fault(
        "passwords may be guessed without limit",
        "after_ten_failures_the_next_login_is_refused_unchecked",
        replace(PostgresUserStore.note_failure, _count_no_failure),
    ),
    NO_RETRY,
    Fault(
        "customers see other customers",
        "a_customers_things_are_closed_to_others",
        forget_owner(NOTE_METHOD, "/GetUser"),
    ),
    Fault(
        "page tokens have another scope",
        "a_page_token_of_another_implementation_works",
        change_arguments(page_token.encode, scope=lambda scope: f"{scope}s"),
    ),
)
