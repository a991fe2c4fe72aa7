"""Faults that `make prove-conformance` puts into copies of our own programs, one each, and the law that each breaks.

A fault is one change of text. It stands for a mistake that somebody who writes a component may make; conformance that
does not notice it would call such a component good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiment.parity import conformance
from experiment.parity.conformance import SUITES

(SET_UP,), (PROCESS, CALLS, SPANS) = conformance.SET_UP, conformance.CONTRACT
(CATALOGUE, STOCK), (PAYMENTS,) = SUITES["product"], SUITES["payment"]
ACCOUNTS, LOGINS, _ = SUITES["user"]
CHECKOUT, ORDERS = SUITES["order"]
(REST,), (GRAPHQL,) = SUITES["rest-gateway"], SUITES["graphql-gateway"]
PLATFORM = "shop/platform"


@dataclass(frozen=True)
class Fault:
    """One fault of one component.

    Attributes:
        component: The component that has it.
        says: What is wrong with the component.
        file: Where it is, in the folder that the packages are copied to.
        before: The text that is replaced; it is there once.
        after: The text in its place.
        suite: File of the law's test.
        law: The law that must fail, as its test is named.
    """

    component: str
    says: str
    file: str
    before: str
    after: str
    suite: str
    law: str


def of(component: str, *rows: tuple[str, str, str, str, str, str]) -> list[Fault]:
    """The faults of one component."""
    return [Fault(component, *row) for row in rows]


FAULTS: Sequence[Fault] = (
    *of(
        "product",
        (
            "a page begins with the last product of the one before",
            "shop/product/postgres.py",
            "category = $3 AND id > $1",
            "category = $3 AND id >= $1",
            CATALOGUE,
            "pages_of_a_category_hold_every_product_once",
        ),
        (
            "a batch comes in the order of the ids",
            "shop/product/service.py",
            "return [products[product_id] for product_id in wanted if product_id in products]",
            "return [products[product_id] for product_id in sorted(products)]",
            CATALOGUE,
            "batch_keeps_the_order_asked_for_and_leaves_unknown_ids_out",
        ),
        (
            "an update empties what it does not name",
            "shop/product/postgres.py",
            "description = coalesce($3, description)",
            "description = coalesce($3, '')",
            CATALOGUE,
            "update_changes_the_named_fields_only",
        ),
        (
            "an update overwrites what the caller has not read",
            "shop/product/postgres.py",
            "$8::text IS NULL",
            "true",
            CATALOGUE,
            "of_four_changes_of_one_state_one_is_made",
        ),
        (
            "more is reserved than there is",
            "shop/product/domain.py",
            "if product.stock < line.quantity:",
            "if product.stock + 1 < line.quantity:",
            STOCK,
            "last_pieces_go_to_exactly_as_many_of_100_rivals",
        ),
        (
            "a reservation that was given back is given out again",
            "shop/product/domain.py",
            'if reservation.state is ReservationState.RELEASED:\n        raise FailedPrecondition(f"reservation '
            "{reservation.id} was released; choose",
            'if False:\n        raise FailedPrecondition(f"reservation {reservation.id} was released; choose',
            STOCK,
            "released_reservation_is_not_reserved_or_confirmed_again",
        ),
        (
            "everybody may add products",
            "shop/product/grpc.py",
            "@admits(Access.PARTNER)\n    async def CreateProduct",
            "@admits(Access.EVERYBODY)\n    async def CreateProduct",
            CALLS,
            "every_method_admits_whom_it_should",
        ),
        (
            "partners may reserve stock",
            "shop/product/grpc.py",
            "@admits(Access.INTERNAL)\n    async def ReserveStock",
            "@admits(Access.PARTNER)\n    async def ReserveStock",
            CALLS,
            "every_method_admits_whom_it_should",
        ),
        (
            "bytes that are no message are the server's fault",
            f"{PLATFORM}/grpc/handlers.py",
            "elif isinstance(error, DecodeError):",
            "elif isinstance(error, KeyError):",
            CALLS,
            "bytes_that_are_no_message_are_refused_by_every_method",
        ),
        (
            "errors belong to another domain",
            f"{PLATFORM}/grpc/errors.py",
            "domain=DOMAIN, metadata",
            'domain="shop", metadata',
            CALLS,
            "errors_have_their_code_and_field",
        ),
        (
            "errors do not name the field",
            f"{PLATFORM}/grpc/errors.py",
            'metadata={"field": error.field} if error.field else {}',
            "metadata={}",
            CALLS,
            "errors_have_their_code_and_field",
        ),
        (
            "the edge's time is not looked at",
            f"{PLATFORM}/grpc/handlers.py",
            "if DEADLINE_HEADER not in metadata:",
            "if True:",
            CALLS,
            "work_ends_with_the_time_that_the_edge_waits",
        ),
        (
            "each call leaves a file open",
            "shop/product/service.py",
            'product = await self._store.get(identifier(product_id, "id"))',
            'self.__dict__.setdefault("kept", []).append(open("/dev/null"))\n'
            '        product = await self._store.get(identifier(product_id, "id"))',
            CALLS,
            "many_calls_and_clients_leave_nothing_open",
        ),
        (
            "the health check does not know the service",
            f"{PLATFORM}/grpc/server.py",
            'for name in ("", *names):',
            'for name in ("",):',
            CALLS,
            "health_and_reflection_name_the_service",
        ),
        (
            "callers of another trust domain are believed",
            f"{PLATFORM}/access/rules.py",
            "if identity is None or not identity.startswith(self._domain):",
            "if identity is None:",
            CALLS,
            "with_certificates_the_identity_tells_inside_from_outside",
        ),
        (
            "calls under way are broken off at the end",
            f"{PLATFORM}/grpc/server.py",
            "GRACE_S = 3.0",
            "GRACE_S = 0.0",
            PROCESS,
            "a_call_under_way_is_answered_although_the_process_stops",
        ),
        (
            "it dies after fifty calls",
            "shop/product/service.py",
            'product = await self._store.get(identifier(product_id, "id"))',
            'self.__dict__.setdefault("calls", []).append(1)\n'
            '        if len(self.__dict__["calls"]) > 50:\n'
            '            __import__("os")._exit(7)\n'
            '        product = await self._store.get(identifier(product_id, "id"))',
            CALLS,
            "many_calls_and_clients_leave_nothing_open",
        ),
        (
            "it does not say that it is about to end",
            f"{PLATFORM}/grpc/server.py",
            "stack.push_async_callback(checks.enter_graceful_shutdown)",
            "pass",
            PROCESS,
            "whoever_watches_its_health_is_told_that_it_stops",
        ),
        (
            "clients keep their connections for ever",
            f"{PLATFORM}/grpc/server.py",
            "if connection_age_s else []",
            "if False else []",
            PROCESS,
            "clients_are_told_to_connect_anew",
        ),
        (
            "spans do not say how long a request was to be delayed",
            f"{PLATFORM}/process/injected_delay.py",
            'ASKED_ATTRIBUTE = "shop.injected_delay_ms"',
            'ASKED_ATTRIBUTE = "shop.delay_ms"',
            SPANS,
            "a_sampled_request_leaves_its_spans_and_an_account",
        ),
        (
            "it leaves a process behind",
            f"{PLATFORM}/process/lifecycle.py",
            "            run(_traced(serve, config))",
            '            __import__("subprocess").Popen(["sleep", "60"])\n            run(_traced(serve, config))',
            SET_UP,
            "answers_until_ctrl_c_and_ends_with_exit_code_0",
        ),
        (
            "it never ends",
            f"{PLATFORM}/process/lifecycle.py",
            "loop.add_signal_handler(number, stop.set)",
            "loop.add_signal_handler(number, str)",
            SET_UP,
            "answers_until_ctrl_c_and_ends_with_exit_code_0",
        ),
        (
            "it does not wait for its standard input",
            f"{PLATFORM}/process/lifecycle.py",
            "sys.stdin.read()",
            "pass",
            PROCESS,
            "waits_for_the_end_of_its_standard_input",
        ),
        (
            "it ends with exit code 143",
            f"{PLATFORM}/process/lifecycle.py",
            '        log.exception("the process failed")\n        return 1\n    return 0',
            '        log.exception("the process failed")\n        return 1\n    return 143',
            SET_UP,
            "answers_until_ctrl_c_and_ends_with_exit_code_0",
        ),
        (
            "a stale socket is in its way",
            f"{PLATFORM}/process/unix_socket.py",
            "if _is_stale(path):",
            "if False:",
            PROCESS,
            "listens_on_a_socket_and_takes_the_place_of_a_stale_one",
        ),
        (
            "any version of the contract is good enough",
            f"{PLATFORM}/config.py",
            '_choice(env, "SHOP_CONTRACT", (CONTRACT,), CONTRACT)',
            "pass",
            SET_UP,
            "speaks_this_version_of_the_contract_and_no_other",
        ),
        (
            "the password stands in the message",
            f"{PLATFORM}/database/pool.py",
            'raise StartError(f"the database at {_place(url)} refuses',
            'raise StartError(f"the database at {url} refuses',
            PROCESS,
            "a_database_that_is_not_there_ends_it_without_a_word_of_the_password",
        ),
        (
            "the account counts nothing",
            "shop/instrument/account.py",
            '"recorded": self.recorded,',
            '"recorded": 0,',
            SPANS,
            "a_sampled_request_leaves_its_spans_and_an_account",
        ),
        (
            "what the caller did wrong is an error of the server",
            f"{PLATFORM}/grpc/handlers.py",
            "        if code in _SERVER_FAULTS:\n            span.set_status",
            "        if True:\n            span.set_status",
            SPANS,
            "a_sampled_request_leaves_its_spans_and_an_account",
        ),
    ),
    *of(
        "user",
        (
            "a login says that there is no such user",
            "shop/user/service.py",
            "            if known.user is None or not matches:",
            "            if known.user is None:\n"
            '                raise Unauthenticated("there is no such user")\n'
            "            if not matches:",
            ACCOUNTS,
            "wrong_password_and_unknown_email_are_told_alike",
        ),
        (
            "passwords may be guessed for ever",
            "shop/user/service.py",
            "MOST_FAILURES = 10\n",
            "MOST_FAILURES = 10_000\n",
            LOGINS,
            "after_ten_failures_nobody_is_told_whether_the_next_would_match",
        ),
        (
            "nobody is told when to come again",
            f"{PLATFORM}/grpc/errors.py",
            "if error.retry_after_s:",
            "if False:",
            CALLS,
            "who_asks_too_often_is_told_when_to_come_again",
        ),
        (
            "customers see other customers",
            "shop/user/grpc.py",
            "        require_owner(request.id)\n        return user_message(",
            "        return user_message(",
            CALLS,
            "what_belongs_to_a_customer_is_nobody_else_s",
        ),
        (
            "page tokens have another scope",
            "shop/user/service.py",
            '_SCOPE = "ListUsers"',
            '_SCOPE = "Users"',
            CALLS,
            "a_page_that_another_implementation_began_goes_on",
        ),
    ),
    *of(
        "order",
        (
            "a key is good for another purchase",
            "shop/order/sagas/checkout.py",
            "if first.request_hash != wanted:",
            "if False:",
            CHECKOUT,
            "the_same_key_with_another_body_is_refused",
        ),
        (
            "a declined card keeps its stock",
            "shop/order/saga.py",
            "Step.AUTHORIZE: (Compensation.VOID_PAYMENT, Compensation.RELEASE_STOCK),",
            "Step.RESERVE: (),",
            CHECKOUT,
            "a_refused_checkout_buys_nothing_and_is_refused_again",
        ),
        (
            "a cancelled order keeps its stock",
            "shop/order/sagas/cancellation.py",
            "                with_retries(lambda: self._product.release_reservation(cancellation.checkout_id)),\n",
            "",
            ORDERS,
            "cancelling_gives_stock_and_money_back",
        ),
        (
            "customers see other customers' orders",
            "shop/order/grpc.py",
            'visible("order", await self._service.get_order(request.id)))\n\n    @admits(Access.PARTNER)',
            "await self._service.get_order(request.id))\n\n    @admits(Access.PARTNER)",
            CALLS,
            "what_belongs_to_a_customer_is_nobody_else_s",
        ),
        (
            "orders are listed oldest first",
            "shop/order/postgres_orders.py",
            "ORDER BY o.id DESC, l.line_number",
            "ORDER BY o.id, l.line_number",
            ORDERS,
            "pages_of_a_user_are_newest_first",
        ),
        (
            "the total forgets quantities",
            "shop/order/domain.py",
            "sum(line.unit_price.amount_minor * line.quantity for line in priced)",
            "sum(line.unit_price.amount_minor for line in priced)",
            CHECKOUT,
            "a_checkout_gives_a_confirmed_order_that_is_paid",
        ),
    ),
    *of(
        "payment",
        (
            "a second capture is refused",
            "shop/payment/postgres.py",
            "(status = 'AUTHORIZED' OR status = 'CAPTURED' AND order_id = $2)",
            "status = 'AUTHORIZED'",
            PAYMENTS,
            "every_step_is_idempotent",
        ),
        (
            "a checkout takes another amount",
            "shop/payment/domain.py",
            "if payment.amount != amount:",
            "if False:",
            PAYMENTS,
            "another_amount_is_refused",
        ),
        (
            "a checkout takes another customer",
            "shop/payment/domain.py",
            "if payment.user_id != user_id:",
            "if False:",
            PAYMENTS,
            "another_user_is_refused",
        ),
        (
            "what may be a card number stands in the message",
            "shop/payment/service.py",
            'f"payment_token must be one of:',
            'f"{payment_token} is not one of:',
            PAYMENTS,
            "arguments_out_of_range_are_named",
        ),
    ),
    *of(
        "rest-gateway",
        (
            "customers see other customers' orders",
            "rest_gateway/orders.py",
            '        visible("order", order)\n',
            "",
            f"{REST}/test_orders.py",
            "a_customer_sees_its_own_orders_only",
        ),
        (
            "related things are read one by one",
            "rest_gateway/order_related.py",
            "MAX_BATCH = 1000",
            "MAX_BATCH = 1",
            f"{REST}/test_orders.py",
            "includes_user_and_products_in_one_call_each",
        ),
        (
            "payments of others are listed",
            "rest_gateway/payments.py",
            "if may_act_for(payment.user_id)]",
            "if payment]",
            f"{REST}/test_payments.py",
            "a_customer_reads_its_own_only",
        ),
        (
            "caches may keep personal answers",
            f"{PLATFORM}/http/caching.py",
            'PERSONAL = _policy(b"private, no-cache"',
            'PERSONAL = _policy(b"public, no-cache"',
            f"{REST}/test_caching.py",
            "every_read_says_how_long_it_may_be_kept",
        ),
        (
            "the edge's time is not looked at",
            f"{PLATFORM}/rest/serving.py",
            'waits = DEFAULT_S if allowed is None else caller_timeout_s(str(allowed, "latin-1"))',
            "waits = DEFAULT_S",
            CALLS,
            "work_ends_with_the_time_that_the_edge_waits",
        ),
        (
            "a change is made although somebody else made one",
            f"{PLATFORM}/rest/caching.py",
            "if any(_content(tag, weak=False)",
            "if True or any(_content(tag, weak=False)",
            f"{REST}/test_caching.py",
            "if_match_lets_the_reader_of_the_last_state_change_it",
        ),
    ),
    *of(
        "graphql-gateway",
        (
            "items are read one by one",
            "graphql_gateway/loaders.py",
            "MOST_PER_CALL = 1000",
            "MOST_PER_CALL = 1",
            f"{GRAPHQL}/test_journeys.py",
            "order_history_makes_three_calls_of_which_two_run_at_the_same_time",
        ),
        (
            "customers see other customers' orders",
            "graphql_gateway/order.py",
            '    caller.require_visible(order.user_number, no_such("order", number))\n',
            "",
            f"{GRAPHQL}/test_access.py",
            "another_customer_may_not",
        ),
        (
            "documents may cost anything",
            "graphql_gateway/context.py",
            "if cost > limit:",
            "if False:",
            f"{GRAPHQL}/test_limits.py",
            "what_is_too_much_is_refused_before_anything_runs",
        ),
        (
            "a hash may belong to another text",
            f"{PLATFORM}/graphql/documents.py",
            "if not hmac.compare_digest(hashlib.sha256(text.encode()).hexdigest().encode(), sha256.encode()):",
            "if False:",
            f"{GRAPHQL}/test_persisted.py",
            "a_hash_of_another_text_is_refused",
        ),
        (
            "customers may ship orders",
            "graphql_gateway/order.py",
            '        info.context.caller.require_partner()\n        number = number_of(input.id, "Order", "input.id")',
            '        number = number_of(input.id, "Order", "input.id")',
            f"{GRAPHQL}/test_access.py",
            "partners_only",
        ),
        (
            "those that are called are told of no trace",
            f"{PLATFORM}/grpc/tracing.py",
            "return tuple(trace_headers(self._span).items())",
            "return ()",
            SPANS,
            "whoever_is_called_gets_the_caller_s_span",
        ),
    ),
)
