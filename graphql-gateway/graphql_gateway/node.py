"""Relay's Node: everything that can be fetched by its global identifier."""

from __future__ import annotations

import strawberry


@strawberry.interface(description="Something that can be fetched by its global identifier.")
class Node:
    """What `Query.node` can return."""

    id: strawberry.ID
