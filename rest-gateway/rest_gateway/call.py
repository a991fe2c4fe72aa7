"""One request as the resources see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope

from shop.errors import Unauthenticated
from shop.platform.auth import Principal


class Call(Request):
    """A request: its headers are looked up in one step, and who sent it is known where the route asks for it.

    Args:
        scope: The ASGI scope.
        receive: Gives the body.
        path_values: What stands in the path for each parameter of the route's template.
    """

    def __init__(self, scope: Scope, receive: Receive, path_values: Mapping[str, Any]) -> None:
        super().__init__(scope, receive)
        self.path_values = path_values
        self.principal: Principal | None = None

    def header(self, name: bytes) -> str | None:
        """Returns a header's value; the first of a repeated header counts.

        Args:
            name: The header in lower case.
        """
        for key, value in self.scope["headers"]:
            if key == name:
                found: bytes = value
                return found.decode("latin-1")
        return None

    def caller(self) -> Principal:
        """Returns who calls.

        Raises:
            Unauthenticated: The route lets everybody in, so nobody asked.
        """
        if self.principal is None:
            raise Unauthenticated("this needs a token: send the header Authorization: Bearer <token>")
        return self.principal

    def may_see(self, user_id: int) -> bool:
        """Tells whether the caller may see what belongs to a user: the user itself, or a partner."""
        caller = self.caller()
        return caller.kind == "partner" or caller.id == user_id
