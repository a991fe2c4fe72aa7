from __future__ import annotations

import io
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import PLAN, plan_of
from experiment.results.folder import ResultsFolder
from hops.budget.parts import DELAY_TOOK
from hops.terminal.console import terminal
from hops.terminal.render import render
from mesh.description.topology import load_topology
from mesh.errors import SwitchError
from proofs.__main__ import app
from proofs.measurement.delays import (
    BASELINE,
    FoundDelay,
    InjectedDelay,
    delays_of,
    delays_table,
    judge,
    parse_delays,
    proof_plan,
)
from proofs.measurement.in_trials import describe
from recording.injected_delay import TOOK_ATTRIBUTE
from synthetic.run import Noise, write_generated_run

QUIET = Noise(sigma=0.1, correlation=0.1, block=0.01, trial=0.002)
DELAYS = [InjectedDelay("payment", 2.0), InjectedDelay("product", 5.0)]
SLOW_PAYMENT = {"payment-2ms": {"work:payment": 2.0}}


def write_run(folder: Path, delays_ms: dict[str, dict[str, float]]) -> Path:
    """Writes a run of a proof; in its synthetic traces every crossing is on the path."""
    names = (BASELINE, *(delay.label for delay in DELAYS))
    write_generated_run(
        folder, topologies=names, blocks=4, journeys_per_trial=1500, traced=1.0, noise=QUIET, delays_ms=delays_ms
    )
    hops = folder / "hops.parquet"
    add_pauses(pl.read_parquet(hops).with_columns(on_path=pl.col("crossings"))).write_parquet(hops)
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which only the payment service is slow, as requested."""
    return write_run(tmp_path_factory.mktemp("shared"), SLOW_PAYMENT)


@pytest.fixture
def slow_payment(shared: Path, tmp_path: Path) -> Path:
    """A copy of this run, which a test may change."""
    return shutil.copytree(shared, tmp_path / "run")


def add_pauses(hops: pl.DataFrame, over_ms: float = 0.0) -> pl.DataFrame:
    """Adds the recorded pauses of slowed components to rows, each longer than requested by `over_ms`."""
    pauses_ns = pl.lit(0)
    for delay in DELAYS:
        of_delay = (pl.col("topology") == delay.label) & (pl.col("part") == delay.part)
        pause_ns = round((delay.delay_ms + over_ms) * 1e6)
        pauses_ns = pl.when(of_delay).then(pl.col("on_path") * pause_ns).otherwise(pauses_ns)
    return hops.with_columns(injected_ns=pauses_ns)


def test_injected_delays_are_found(tmp_path: Path) -> None:
    there = {delay.label: {delay.part: delay.delay_ms} for delay in DELAYS}
    rows = judge(write_run(tmp_path, there), DELAYS)
    assert [row.failed for row in rows] == [(), ()]
    assert all(row.holds for row in rows)
    assert [(row.journey, row.expected_ms) for row in rows] == [("checkout", 2.0), ("product", 5.0)]
    for row in rows:
        assert row.ci95_joint[0] < row.ci95[0] < row.found_ms < row.ci95[1] < row.ci95_joint[1]
        assert row.whole_ms == pytest.approx(row.expected_ms, abs=1.0)


@pytest.mark.parametrize(
    ("there", "message"),
    [
        pytest.param({"payment-2ms": {"work:payment": 3.0}}, "does not include the true size", id="another size"),
        pytest.param({"payment-2ms": {"work:order": 2.0}}, "work:order changed significantly more", id="another hop"),
        pytest.param({}, "the interval includes 0", id="no delay"),
    ],
)
def test_a_delay_at_another_place_or_of_another_size_is_reported(
    tmp_path: Path, there: dict[str, dict[str, float]], message: str
) -> None:
    (row,) = judge(write_run(tmp_path, there), DELAYS[:1])
    assert not row.holds
    assert message in "; ".join(row.failed)


def test_work_that_the_delay_moved_onto_the_path_is_expected_too(slow_payment: Path) -> None:
    hops = pl.read_parquet(slow_payment / "hops.parquet")
    # Two crossings on the path instead of one: both with the delay, and the second with its own work.
    twice = (pl.col("topology") == "payment-2ms") & (pl.col("part") == "work:payment")
    doubled = hops.with_columns(on_path=pl.when(twice).then(2).otherwise(pl.col("on_path")))
    add_pauses(doubled).write_parquet(slow_payment / "hops.parquet")
    (row,) = judge(slow_payment, DELAYS[:1])
    before = hops.filter((pl.col("topology") == BASELINE) & (pl.col("part") == "work:payment"))
    own = before.filter(pl.col("journey") == "checkout")["ns"].mean()
    assert isinstance(own, float)
    assert row.crossings == 2
    assert row.expected_ms == pytest.approx(2 * 2.0 + own / 1e6)
    assert not row.holds


def test_a_pause_that_ended_late_counts_with_its_actual_length(tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"payment-2ms": {"work:payment": 2.4}})
    (row,) = judge(folder, DELAYS[:1])
    assert not row.holds
    add_pauses(pl.read_parquet(folder / "hops.parquet"), over_ms=0.4).write_parquet(folder / "hops.parquet")
    (row,) = judge(folder, DELAYS[:1])
    assert row.expected_ms == pytest.approx(2.4)
    assert row.holds


def test_a_pause_may_slow_the_rest_of_the_request_a_little() -> None:
    row = FoundDelay(
        component="user", delay_ms=0.5, journey="update_profile", traces=(300, 900), crossings=1.0, paused_ms=0.532,
        expected_ms=0.532, found_ms=0.569, ci95=(0.563, 0.575), ci95_joint=(0.553, 0.585), largest="work:user",
        second="db:user", second_ms=0.1, whole_ms=0.6,
    )  # fmt: skip
    assert row.agrees(row.ci95_joint)
    assert not row.agrees((0.59, 0.61))
    assert not row.agrees((0.50, 0.52))


def test_a_delay_is_compared_with_all_trials_without_one(slow_payment: Path) -> None:
    for name in ("hops", "journeys", "resources"):
        rows = pl.read_parquet(slow_payment / f"{name}.parquet")
        # There was a second arm without a delay.
        renamed = rows.with_columns(pl.col("topology").replace("product-5ms", "baseline-2"))
        renamed.write_parquet(slow_payment / f"{name}.parquet")
    (row,) = judge(slow_payment, DELAYS[:1])
    assert row.holds
    assert row.traces[1] == pytest.approx(2 * row.traces[0], rel=0.01)


def test_the_table_has_a_row_for_each_delay(shared: Path) -> None:
    rows = judge(shared, DELAYS)
    out = io.StringIO()
    terminal(out, width=200).print(render([delays_table(rows)]))
    shown = out.getvalue()
    assert "payment 2" in shown
    assert "product 5" in shown
    assert shown.count("NOT FOUND") == 1


def test_the_arms_share_a_baseline_and_come_back_from_disk() -> None:
    delays = parse_delays("payment,user", "500us,2ms")
    plan = proof_plan(delays, load_topology("hybrid"), blocks=4, seed=7)
    labels = ["baseline", "baseline-2", "payment-0.5ms", "payment-2ms", "user-0.5ms", "user-2ms"]
    assert [arm.label for arm in plan.arms] == labels
    assert len(plan.trials()) == 24
    assert {arm.switches.trace for arm in plan.arms} == {1.0}
    assert delays_of(plan_of(plan.as_document())) == delays


@pytest.mark.parametrize(
    ("hops", "sizes", "message"),
    [
        ("bank", "2ms", "hops=bank: bank is unknown; valid: payment, product, user"),
        ("payment,payment", "2ms", "given twice"),
        ("payment", "2ms,2000us", "given twice"),
    ],
)
def test_wrong_hops_are_refused(hops: str, sizes: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_delays(hops, sizes)


def test_wrong_sizes_and_too_few_blocks_are_refused() -> None:
    with pytest.raises(SwitchError, match="payment:2 is not a delay"):
        parse_delays("payment", "2")
    with pytest.raises(UsageError, match="blocks=2 is too few"):
        proof_plan(DELAYS, load_topology("hybrid"), blocks=2, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "resume=latest is not an interrupted prove-delays; interrupted runs: none"),
        ("--sizes 2ms --seed 3", "resume= keeps the experiment's original settings; leave out sizes, seed"),
    ],
)
def test_another_proof_and_other_settings_are_not_resumed(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proofs.measurement.in_trials.RESULTS", tmp_path)
    other = ResultsFolder.new(tmp_path, "prove-queues")
    other.write_json(PLAN, {"kind": "proof", "name": "prove-queues"})
    other.set_aside()
    done = CliRunner().invoke(app, ["delays", "--resume", "latest", *arguments.split()])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_proof_without_rows_does_not_hold() -> None:
    assert not describe([])["holds"]


def test_traces_are_read_by_the_name_that_the_delayed_component_writes() -> None:
    # Neither package may import the other: the name is a contract between them.
    assert DELAY_TOOK == TOOK_ATTRIBUTE
