"""Budgets net of tracing: the cost that the accounts report is subtracted, and no time gets lost."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hops.analysis.net_budget import net_budget
from hops.budget.bands import banded_budgets
from hops.budget.parts import maker_of
from hops.kinds import analyse
from hops.run.rows import HOPS
from hops.tables.budget import parts_table
from hops.tables.net_budget import net_text
from hops.tables.view import SummaryView

PARTS = ("client", "wire:client→edge", "proxy:edge", "wire:edge→order", "work:order", "pool:order", "db:order")
ACCOUNT = {"SERVER": 5_000.0, "CLIENT": 3_000.0, "INTERNAL": 2_000.0}
NOT_KNOWN = {"tracing_ms": None, "net_ms": None}
NS_PER_MS = 1_000_000


def rows_of(*rows):
    """Rows of (block, trace, part, ns, on_path, inner_on_path)."""
    made = [
        (block, trace, "browse", "web", part, ns, on_path, on_path, inner)
        for block, trace, part, ns, on_path, inner in rows
    ]
    return pl.DataFrame(made, schema=pl.Schema([("block", pl.Int32()), *HOPS.items()]), orient="row")


@st.composite
def traced(draw):
    """The rows of traces in some blocks, and the cost of spans that some components report there."""
    costs = st.floats(0, 2 * NS_PER_MS)
    accounts = st.dictionaries(
        st.sampled_from(["client", "edge", "order"]), st.fixed_dictionaries(dict.fromkeys(ACCOUNT, costs))
    )
    rows = [
        (block, f"{block}-{trace}", part, draw(st.integers(0, 10 * NS_PER_MS)), draw(st.integers(0, 3)),
         draw(st.integers(0, 2)))
        for block in range(1, draw(st.integers(1, 3)) + 1)
        for trace in range(draw(st.integers(1, 4)))
        for part in draw(st.sets(st.sampled_from([*PARTS, "unattributed"]), min_size=1))
    ]  # fmt: skip
    return rows, {block: draw(accounts) for block in {row[0] for row in rows}}


@given(traced())
def test_net_and_cost_add_up_to_gross_to_the_nanosecond_and_net_is_never_more_nor_negative(drawn):
    rows, costs = drawn
    hops = rows_of(*rows)
    traces = hops["trace_id"].n_unique()
    gross = banded_budgets(hops)["mean"]
    net = net_budget(hops, costs)
    assert list(net) == list(gross)

    def ns_of(ms):
        return round(ms * traces * NS_PER_MS)

    for part, one in net.items():
        maker = maker_of(part)
        blocks = {block for block, _, name, *_ in rows if name == part}
        if maker is None or any(maker[0] not in costs[block] for block in blocks):
            assert one == NOT_KNOWN
            continue
        assert ns_of(one["net_ms"]) + ns_of(one["tracing_ms"]) == ns_of(gross[part])
        assert 0 <= one["net_ms"] <= gross[part]
        assert one["tracing_ms"] >= 0


def test_each_span_on_the_path_costs_what_its_own_block_says():
    hops = rows_of(
        (1, "a", "work:order", 100_000, 2, 1), (1, "a", "db:order", 50_000, 3, 0), (1, "a", "pool:order", 20_000, 1, 0),
        (2, "b", "work:order", 100_000, 1, 0), (2, "b", "wire:order→user", 40_000, 1, 0),
    )  # fmt: skip
    dear = {kind: 2 * ns for kind, ns in ACCOUNT.items()}
    net = net_budget(hops, {1: {"order": ACCOUNT}, 2: {"order": dear}})
    assert {part: round(one["tracing_ms"] * 2 * NS_PER_MS) for part, one in net.items()} == {
        "work:order": 2 * 5_000 + 2_000 + 10_000, "db:order": 3 * 3_000, "pool:order": 2_000, "wire:order→user": 6_000,
    }  # fmt: skip


def test_a_part_never_loses_more_than_it_has_in_any_trace():
    hops = rows_of((1, "short", "pool:order", 500, 1, 0), (1, "long", "pool:order", 9_000, 1, 0))
    assert net_budget(hops, {1: {"order": ACCOUNT}})["pool:order"] == {
        "tracing_ms": pytest.approx((500 + 2_000) / 2 / NS_PER_MS),
        "net_ms": pytest.approx(7_000 / 2 / NS_PER_MS),
    }


def test_spans_that_a_component_does_not_account_for_cost_something_unknown():
    hops = rows_of((1, "a", "work:order", 100_000, 1, 0), (1, "a", "proxy:edge", 100_000, 1, 0))
    clients_only = {"order": {"CLIENT": 3_000.0}}
    assert net_budget(hops, {1: clients_only}) == {"proxy:edge": NOT_KNOWN, "work:order": NOT_KNOWN}


def test_spans_inside_a_part_that_an_earlier_version_did_not_count_cost_something_unknown():
    hops = rows_of((1, "a", "work:order", 100_000, 1, None))
    assert net_budget(hops, {1: {"order": ACCOUNT}}) == {"work:order": NOT_KNOWN}


@pytest.fixture(scope="module")
def run(make_run):
    """Two blocks of one topology whose processes, except the edge, report what their spans cost."""
    run = make_run(topologies=["rest"], blocks=2, traced=0.5)
    makers = {maker[0] for part in run.hops["part"].unique() if (maker := maker_of(part)) and maker[0] != "edge"}
    tracing = {"spans": {}, "cost_ns": dict.fromkeys(makers, ACCOUNT)}
    return dataclasses.replace(run, trials=[{**row, "tracing": tracing} for row in run.trials])


def test_the_table_has_net_and_gross_and_says_where_net_is_unknown(summary):
    view = SummaryView(summary)
    table = parts_table(view, "all")
    names = [column.name for column in table.columns]
    gross, net = names.index("rest, mean"), names.index("rest, net of tracing (estimate)")
    assert net == gross + 1
    rows = {row[0].text: row for row in table.rows}
    assert rows["proxy:edge"][net].text == "not known"
    assert rows["wire:client→edge"][gross].value - rows["wire:client→edge"][net].value == pytest.approx(0.003)
    taken = sum(row[gross].value - row[net].value for row in table.rows[:-1] if row[net].value is not None)
    assert rows["adds up to"][gross].value - rows["adds up to"][net].value == pytest.approx(taken)
    assert taken > 0


def test_parts_in_one_row_are_net_of_what_is_known(summary):
    table = parts_table(SummaryView(summary), "all", min_share=1.0)
    net = [column.name for column in table.columns].index("rest, net of tracing (estimate)")
    together, total = table.rows
    assert together[0].text.endswith("smaller parts")
    assert together[net].value == pytest.approx(total[net].value)


def test_what_the_accounts_explain_is_next_to_what_was_measured(summary):
    text = net_text(SummaryView(summary)).text
    known = [part["tracing_ms"] for part in summary["topologies"]["rest"]["journeys"]["all"]["net_of_tracing"].values()]
    assert f"the accounts explain {sum(one for one in known if one):.3f} ms of a mean journey" in text
    assert "as measured, tracing adds" in text
    assert "No account is given by edge:" in text


def test_a_run_whose_processes_give_no_account_has_no_net_budgets(run):
    trials = [{key: value for key, value in row.items() if key != "tracing"} for row in run.trials]
    view = SummaryView(analyse(dataclasses.replace(run, trials=trials), name="night"))
    assert net_text(view) is None
    assert not any("net" in column.name for column in parts_table(view, "all").columns)
