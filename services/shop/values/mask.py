"""Update masks: the names of the fields to change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shop.errors import InvalidArgument


def check_mask(mask: Iterable[str], valid: Sequence[str]) -> frozenset[str]:
    """Returns the fields that an update changes, which are the names in its mask.

    Raises:
        InvalidArgument: The mask is empty, or names a field that is not valid.
    """
    paths = frozenset(mask)
    if not paths or not paths <= frozenset(valid):
        raise InvalidArgument(f"update_mask must name at least one of: {', '.join(valid)}", field="update_mask")
    return paths
