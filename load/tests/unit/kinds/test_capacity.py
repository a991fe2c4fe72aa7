from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.errors import UsageError
from experiment.kinds.capacity import (
    DEFAULT_USERS,
    MIN_JOURNEYS,
    PROFILES,
    connections_for,
    load_of,
    parse_capacity,
    parse_users,
    rates,
    step_s,
)
from experiment.plan.closed_loop import ClosedLoop
from hops.kinds.capacity.document import Asked


class TestRates:
    @pytest.mark.parametrize(
        ("start", "highest", "expected"),
        [
            (None, "1000", (20.0, 1000.0)),
            ("50", "1000", (50.0, 1000.0)),
            (None, "5", (5.0, 5.0)),
            ("2", "2", (2.0, 2.0)),
        ],
    )
    def test_given(self, start: str | None, highest: str, expected: tuple[float, float]) -> None:
        assert rates(start, highest) == expected

    @pytest.mark.parametrize(
        ("start", "highest", "message"),
        [
            ("0", "1000", "start=0 is not valid: give journeys per second from 1 to 10000"),
            (None, "10001", "max=10001 is not valid"),
            ("30", "20", "start=30 is above max=20"),
        ],
    )
    def test_bad_input_is_named(self, start: str | None, highest: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            rates(start, highest)


class TestUsers:
    def test_given(self) -> None:
        assert parse_users(DEFAULT_USERS) == (100, 300, 1000, 3000, 10000)
        assert parse_users("20, 50") == (20, 50)

    def test_there_are_limits(self) -> None:
        with pytest.raises(UsageError, match="users=10001 is not valid: give an integer from 1 to 10000"):
            parse_users("20,10001")
        with pytest.raises(UsageError, match="at most 20"):
            parse_users(",".join(str(count) for count in range(1, 22)))

    def test_connections(self) -> None:
        assert [connections_for(users, http=2) for users in (1, 400, 401, 10_000)] == [4, 4, 5, 100]
        assert [connections_for(users, http=1) for users in (1, 300, 10_000)] == [4, 300, 1024]


class TestLength:
    def test_a_step_is_as_long_as_p99_needs(self) -> None:
        quick = PROFILES["quick"]
        assert step_s(1000, quick, "search") == quick.min_step_s
        assert step_s(30, quick, "search") * 30 >= MIN_JOURNEYS
        assert step_s(1, quick, "search") == quick.max_step_s

    def test_a_confirmation_is_longer_and_bounded(self) -> None:
        for profile in PROFILES.values():
            for rate in (1, 20, 80, 500):
                assert step_s(rate, profile, "confirm") >= step_s(rate, profile, "search")
                assert step_s(rate, profile, "confirm") <= 4 * profile.confirm_s

    def test_no_rate_is_tried_that_could_not_be_confirmed(self) -> None:
        for profile in PROFILES.values():
            lowest = -(-MIN_JOURNEYS // (4 * profile.confirm_s))
            assert step_s(lowest, profile, "confirm") * lowest >= MIN_JOURNEYS


class TestOverload:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("grpc:9,rest:0", "capacity=0 is not valid: give journeys per second from 1 to 10000"),
            ("soap:9", "capacity=soap:9: soap is not measured; measured topologies: rest, grpc"),
        ],
    )
    def test_an_impossible_capacity_is_refused(self, given: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_capacity(given, ["rest", "grpc"])

    def test_some_topologies_may_have_a_given_capacity(self) -> None:
        assert parse_capacity("grpc: 120", ["rest", "grpc"]) == {"grpc": 120.0}


ASKED = Asked(
    load="sweep", objective_ms=100.0, search=None, users=[], think_s=10.0, connections=0, factors=[], given={}
)


def test_a_step_of_a_search_may_fail_and_a_confirmation_draws_other_journeys() -> None:
    search, confirm = (load_of(ASKED, PROFILES["quick"], 2, phase, 40.0, 0.0) for phase in ("search", "confirm"))
    assert (search.sending.overload, confirm.sending.overload) == (True, False)
    assert (search.draw, confirm.draw) == (0, 1)
    assert confirm.sending.duration_s > search.sending.duration_s


def test_a_peak_is_between_two_halves() -> None:
    peak = load_of(ASKED, PROFILES["quick"], 2, "peak", 2.0, 50.0)
    assert (peak.sending.rate, peak.sending.steps) == (50.0, (0.5, 2.0, 2.0, 0.5, 0.5))
    assert peak.stairs == (0.5, 2.0, 2.0, 0.5, 0.5)


def test_users_get_connections_and_a_tape_that_lasts() -> None:
    sending = load_of(ASKED, PROFILES["quick"], 2, "users", 1000.0, 0.0).sending
    assert (sending.closed, sending.connections) == (ClosedLoop(1000, 10.0), 10)
    given: Any = {**ASKED, "connections": 7}
    assert load_of(given, PROFILES["quick"], 2, "users", 1000.0, 0.0).sending.connections == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--load soak", "load=soak is unknown; valid: sweep, stress, overload"),
        ("--users 100", "users=100 is for load=stress; the load is sweep"),
        ("--load stress --objective 50ms", "objective=50ms is for load=sweep or load=overload; the load is stress"),
        ("--load overload --connections 9", "connections=9 is for load=sweep or load=stress; the load is overload"),
        ("--objective 6s", "objective=6s is not valid: give a duration from 1ms to 5s"),
        ("--profile huge", "profile=huge is unknown; valid: smoke, quick, full"),
    ],
)
def test_a_setting_of_another_load_is_refused(arguments: str, message: str) -> None:
    done = CliRunner().invoke(app, ["capacity", *arguments.split()])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
