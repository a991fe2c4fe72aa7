"""Faults of the GraphQL gateway."""

from __future__ import annotations

import sys

from strawberry.dataloader import DataLoader

from faulty.access import CALLED, forget_owner, note
from faulty.seeds import Fault, change_arguments, replace, seed_all
from shop.platform.access.rules import Caller
from shop.platform.graphql.cost import max_cost
from shop.platform.graphql.documents import Documents, PreparedDocument
from shop.platform.telemetry.trace_context import trace_headers

find, require_partner = Documents.find, Caller.require_partner


async def _trust_hash(
    self: Documents, text: str | None, sha256: str | None, address: str | None = None
) -> PreparedDocument:
    return await find(self, text, sha256 if text is None else None, address)


NOTE_DOCUMENT = change_arguments(Documents.find, text=note)

FAULTS = (
    Fault(
        "items are read one by one",
        "order_history_makes_three_calls_of_which_two_run_at_the_same_time",
        change_arguments(DataLoader.__init__, max_batch_size=lambda _size: 1),
    ),
    Fault("customers see other customers' orders", "another_customer_may_not", forget_owner(NOTE_DOCUMENT, "order(id")),
    Fault(
        "documents may cost anything",
        "documents_above_a_limit_are_refused_before_anything_runs",
        replace(max_cost, lambda operation, *, is_partner: sys.maxsize),
    ),
    Fault(
        "a hash may belong to another text", "a_hash_of_another_text_is_refused", replace(Documents.find, _trust_hash)
    ),
    Fault(
        "customers may ship orders",
        "partners_only",
        seed_all(
            NOTE_DOCUMENT,
            replace(
                Caller.require_partner,
                lambda self: None if "updateOrderStatus" in CALLED.get() else require_partner(self),
            ),
        ),
    ),
    Fault(
        "callees do not get the trace",
        "callees_get_the_callers_span",
        replace(trace_headers, lambda span: {} if span is not None else trace_headers(None)),
    ),
)
