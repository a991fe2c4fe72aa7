"""A target other than the shop, with three endpoints, under load: whole runs, and refusals."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import polars as pl
import psutil
import pytest
from click.testing import Result
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from rich.console import Console
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import in_blocks, preflight
from experiment.commands.trace import read_exemplars
from experiment.kinds import capacity, soak
from experiment.own_target import traces
from experiment.plan import profiles
from experiment.plan.profiles import Profile
from experiment.trial import programs
from experiment.trial.outcome import EXEMPLARS
from hops.analysis import summary
from hops.kinds import show_run
from hops.run.files import read_run, trial_folder
from mesh.description.ports import HOST, Ports
from mesh.native.trace_store import open_trace_store
from mesh.paths import ROOT
from mesh.supervisor.processes import guard

from .library import describe_service

EXAMPLE = ROOT / "docs" / "example" / "target"
LIMIT_S = 30.0
Loaded = Callable[..., Result]


@contextmanager
def library(**environ: str) -> Iterator[list[int]]:
    """Runs a library; yields its ports."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(3)]
    chosen = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    program = Path(__file__).with_name("library.py")
    argv = guard([sys.executable, str(program), *map(str, chosen)], signal.SIGKILL)
    process = subprocess.Popen(argv, env={**os.environ, **environ})
    try:
        until = time.monotonic() + LIMIT_S
        for port in chosen:
            while True:
                assert process.poll() is None, "the library has ended"
                assert time.monotonic() < until, "the library does not listen"
                try:
                    socket.create_connection((HOST, port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
        yield chosen
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)


def write_target(ports: list[int], folder: Path) -> str:
    """Returns the target file from the docs' example, for a library at these ports; its CSV table is in the folder."""
    (folder / "books.csv").write_bytes((EXAMPLE / "books.csv").read_bytes())
    text = (EXAMPLE / "library.yaml").read_text(encoding="utf-8")
    for place, port in enumerate(ports):
        text = text.replace(f"127.0.0.1:800{place}", f"127.0.0.1:{port}")
    return text


@pytest.fixture(scope="module")
def ports() -> Iterator[list[int]]:
    with library() as chosen:
        yield chosen


@pytest.fixture
def text(ports: list[int], tmp_path: Path) -> str:
    """A target file of that library."""
    return write_target(ports, tmp_path)


@pytest.fixture
def traced(shop_ports: Ports, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A target file of a library that sends spans to the run's Jaeger; the parameter is the sampler."""
    receiver = f"http://{shop_ports.address('jaeger-otlp-grpc')}"
    sampler = getattr(request, "param", "parentbased_always_on")
    with library(
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver, OTEL_SERVICE_NAME="library", OTEL_TRACES_SAMPLER=sampler
    ) as chosen:
        yield write_target(chosen, tmp_path)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop_ports: Ports) -> Loaded:
    """Loads the targets of a file, and checks that nothing is left running."""
    monkeypatch.setattr(in_blocks, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("SHOP_PORT_BASE", str(shop_ports.base))
    monkeypatch.setattr(traces, "QUIET_S", 3.0)  # the library sends its spans every 0.5 s

    def run(text: str, *options: str) -> Result:
        file = tmp_path / "library.yaml"
        file.write_text(text, encoding="utf-8")
        done = CliRunner().invoke(
            app, ["load", str(file), "--rate", "100", "--warmup", "1s", "--duration", "2s", "--strict", "off", *options]
        )
        # A generator that ended while the run was being stopped may not have been reaped yet.
        left = [one for one in psutil.Process().children(recursive=True) if "shopload" in one.name()]
        assert not [one for one in left if one.status() != psutil.STATUS_ZOMBIE]
        return done

    return run


def test_two_targets_get_the_same_journeys_and_give_the_same_answers(loaded: Loaded, text: str, tmp_path: Path) -> None:
    here = text[text.index("  here:") : text.index("tables:")]
    done = loaded(text.replace("tables:", here.replace("here:", "again:") + "tables:"), "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    (folder,) = (tmp_path / "results").glob("2*-library")
    run = read_run(folder)
    asked = 100 * 2
    assert list(summary["topologies"]) == ["here", "again"]
    for one in summary["topologies"].values():
        assert set(one["journeys"]) == {"all", "look", "read", "call", "borrow"}
        assert abs(one["journeys"]["all"]["count"] - asked) <= asked / 100
        assert one["cpu_ms_per_journey"]["target"] > 0
        assert one["cost"]["target"] == one["cost"]["total"]
    assert summary["tape"]["answers_sha256"], "the digests of the answers differ"
    assert set(run.journeys["outcome"]) == {"ok"}
    held = {gate["name"]: gate["ok"] for gate in run.trials[0]["gates"]}
    assert {"tape_unsent", "start_lag_p99_ms", "start_lag_mean_ms", "generator_cores", "other_cores"} <= set(held)
    assert held["tape_unsent"]
    assert held["failure_share"]
    assert "wire_in" not in (folder / "csv" / "bytes.csv").read_text(encoding="utf-8")
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "Latency by journey and target" in page
    assert not re.search("topolog|shop|edge", page.partition("Charts and details")[0])


WATCH = """
      - grpc: library.v1.Library/Watch
        message: {id: 1}
        think: 300ms
        expect: {equal: {/count: 3, /messages/2/title: Volume 3}}
"""


@pytest.mark.parametrize("traced", ["always_on"], indirect=True)
def test_spans_of_the_target_become_hop_budgets(loaded: Loaded, traced: str, tmp_path: Path) -> None:
    """The target records every request, although most requests say that they are not sampled.

    A journey's pause is in neither its latency nor its budget, and all messages of a stream count as one answer.
    """
    text = traced.replace("\n\n  borrow:", f"{WATCH}\n  borrow:")
    done = loaded(text + "traces: here\n", "--rate", "30", "--trace", "0.3", "--json")
    assert done.exit_code == 0, done.stderr
    assert "Listening for the target's spans: http://127.0.0.1:" in done.stderr
    summary = json.loads(done.stdout)
    held = {gate["name"]: gate["ok"] for gate in summary["gates"]}
    of_traces = ("traces_missing", "calls_unanswered", "orphan_share", "budget_gap_ns", "spans_lost")
    assert all(held[name] for name in (*of_traces, "unattributed_share")), summary["gates"]
    assert {"spans_missing", "spans_outside"} <= {row["name"] for row in summary["gates_left_out"]}
    (folder,) = (tmp_path / "results").glob("2*-library")
    run = read_run(folder)
    assert {"wire:client→library", "work:library", "client"} <= set(run.hops["part"])
    assert "think" not in set(run.hops["part"])
    took = run.journeys.with_columns(paused_ns=pl.col("ended_ns") - pl.col("intended_ns") - pl.col("latency_ns"))
    assert set(took.filter(pl.col("paused_ns") >= 300_000_000)["journey"]) == {"call"}
    totals = run.hops.group_by("trace_id").agg(pl.col("ns").sum())
    assert totals.join(took, on="trace_id").filter(pl.col("ns") != pl.col("latency_ns")).is_empty()
    sampled = run.journeys.filter(run.journeys["sampled"])
    assert 0 < sampled.height < run.journeys.height / 2
    assert set(run.hops["trace_id"]) == set(sampled["trace_id"])
    assert summary["traces_unrequested"]["here"] >= run.journeys.height - sampled.height
    assert "left out are traces without a request for one" in (folder / "report.html").read_text(encoding="utf-8")
    (trial,) = run.trials
    saved = folder / trial_folder("here", 1) / EXEMPLARS
    assert set(read_exemplars(saved, trial["exemplars"]).trees) == {
        trace_id for of in trial["exemplars"].values() for trace_id in of.values()
    }
    assert "Where the wait goes" in (folder / "report.md").read_text(encoding="utf-8")


def test_other_kinds_measure_targets_like_topologies(
    traced: str, shop_ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All kinds of experiment share one library, because each kind only needs load on it."""
    here = traced[traced.index("  here:") : traced.index("tables:")]
    file, results = tmp_path / "library.yaml", tmp_path / "elsewhere"
    file.write_text(traced.replace("tables:", here.replace("here:", "again:") + "tables:") + "traces: here\n")
    monkeypatch.setenv("SHOP_PORT_BASE", str(shop_ports.base))
    monkeypatch.setattr(traces, "QUIET_S", 1.0)
    monkeypatch.setitem(profiles.PROFILES, "smoke", Profile("smoke", 1, 2, 30.0, 0))
    monkeypatch.setitem(capacity.PROFILES, "smoke", capacity.Lengths(1, 1, 1, 1, 1, 1, 1.5, 2, 1))
    for name, value in {"MIN_MINUTES": 0.01, "WARMUP_S": 1}.items():
        monkeypatch.setattr(soak, name, value)

    def measure(arguments: str) -> dict[str, Any]:
        done = CliRunner().invoke(
            app, [*arguments.split(), "--target", str(file), "--results", str(results), "--strict", "off", "--json"]
        )
        assert done.exit_code in (0, 3), done.stderr
        summary: dict[str, Any] = json.loads(done.stdout)
        assert summary["compared"] == "target"
        values = {gate["name"]: gate["value"] for gate in summary["gates"]}
        # A busy machine answers a journey too late now and then.
        assert "overload" in arguments or (values["tape_unsent"], values["failure_share"] < 0.1) == (0, True)
        return summary

    compared = measure("compare --blocks 3 --profile smoke --trace 0.5")
    assert list(compared["topologies"]) == ["here", "again"]
    assert compared["traces_unrequested"] == {"here": 0, "again": 0}
    of_all = next(row for row in compared["hop_differences"] if row["journey"] == "all")
    parts = {row["part"]: row["ci95"] for row in of_all["parts"]}
    assert None not in [*parts["wire:client→library"], *parts["work:library"]]
    for words in (show_run(compared, brief=True), show_run(compared)):  # type: ignore[arg-type]
        console = Console(file=io.StringIO(), width=200, record=True)
        console.print(words)
        assert not re.search(r"topolog|\bshop\b|\bedge\b", console.export_text())
    far = measure("rtt --rtts 0,20 --targets here --blocks 1 --profile smoke --trace 0.3")
    rows = pl.read_parquet(next(results.glob("2*rtt*")) / "journeys.parquet")
    # The machine can slow a journey down, but nothing makes one faster than its round trip.
    fastest = dict(rows.group_by("topology").agg(pl.col("latency_ns").min()).iter_rows())
    near_ns, far_ns = (fastest[name] for name in far["topologies"])
    assert near_ns < 20_000_000 <= far_ns
    apart = measure("isolate --journey read --targets here --blocks 1 --profile smoke")
    assert "read" in apart["topologies"]["as-is"]["journeys"]
    assert "read" not in apart["topologies"]["without-read"]["journeys"]
    held_s = measure("soak --minutes 0.05 --targets here")
    assert {change["component"] for change in held_s["soak"]["changes"]} >= {"target", "journeys"}
    peak = measure("capacity --load overload --factors 2 --capacity here:20 --targets here --profile smoke")
    assert [step["phase"] for step in peak["capacity"]["steps"]] == ["peak"]
    assert len(list(results.glob("2*"))) == 5


def test_spans_are_read_from_the_store_that_the_file_names(
    loaded: Loaded, text: str, free_ports: Callable[[], Ports], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has only the generator's spans, as if the target's were lost."""
    monkeypatch.setattr(traces, "QUIET_S", 1.0)
    store = free_ports()
    with open_trace_store(store):
        places = f"traces: {store.url('jaeger-query-http')}\notlp: {store.address('jaeger-otlp-grpc')}\n"
        done = loaded(text + places, "--trace", "0.05", "--json")
    assert done.exit_code == 3
    summary = json.loads(done.stdout)
    (missing,) = (gate for gate in summary["gates"] if gate["name"] == "traces_missing")
    assert missing["value"] == 1
    assert not missing["ok"]
    assert summary["verdict"] == "WRONG"


def test_a_store_that_does_not_answer_is_named_before_anything_is_sent(loaded: Loaded, text: str) -> None:
    done = loaded(text + "traces: http://127.0.0.1:9\n")
    assert done.exit_code == 2
    assert "traces: http://127.0.0.1:9/api/services did not answer" in done.stderr


def test_a_secret_from_the_environment_reaches_the_target_but_no_file(
    loaded: Loaded, traced: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cr&t/of the library"
    monkeypatch.setenv("LIBRARY_TOKEN", secret)
    step = """- http: GET /echo?said=${env:LIBRARY_TOKEN}
        at: http
        headers: {authorization: "Bearer ${env:LIBRARY_TOKEN}"}
        expect: {equal: {/said: "${env:LIBRARY_TOKEN}", /authorization: "Bearer ${env:LIBRARY_TOKEN}"}}
"""
    look = traced[traced.index("      - http: GET /books/${book}") : traced.index("  read:")]
    text = traced.replace(look, f"      {step}\n") + "traces: here\n"
    done = loaded(text, "--json")
    assert "failures" not in json.loads(done.stdout)
    wrong = loaded(text.replace("/said: ", "/unsaid: "))
    assert "/unsaid is not in the answer" in wrong.stderr
    output = [done.stdout, done.stderr, wrong.stdout, wrong.stderr]
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert any(path.name == "answers.jsonl" for path in files)
    for form in (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]):
        assert not [text for text in output if form in text]
        # FastAPI names the library's spans after routes, without query strings.
        assert not [path for path in files if form.encode() in path.read_bytes()]


def test_a_variable_that_the_environment_lacks_is_named(loaded: Loaded, text: str) -> None:
    done = loaded(text.replace("/books/${book}", "/books/${env:NO_SUCH_TOKEN}"))
    assert done.exit_code == 2
    assert "library.yaml:18" in done.stderr
    assert "the environment has no NO_SUCH_TOKEN" in done.stderr


def test_a_network_is_emulated_between_customers_and_target(loaded: Loaded, text: str) -> None:
    rare = text.replace("  call:\n    weight: 3", "  call:\n    weight: 0")
    done = loaded(rare + "networks: {web: {rtt: 20ms}}\n", "--json")
    assert "3 kinds of journeys passed the check; not checked, because they are not on this tape: call" in done.stderr
    summary = json.loads(done.stdout)
    assert summary["network"]["channels"]["web"]["rtt_ms"] == 20
    assert summary["topologies"]["here"]["journeys"]["look"]["latency_ms"]["p50"] > 20


HALF_A_CORE = """
import time
while True:
    until = time.process_time() + 0.05
    while time.process_time() < until: pass
    time.sleep(0.03)
"""


@pytest.fixture
def busy() -> Iterator[int]:
    """Process id of a program that uses half a core. It is no child of the tests: children count as part of the run."""
    start = [
        sys.executable,
        "-c",
        "from subprocess import *; import sys; print(Popen(sys.argv[1:], stdout=DEVNULL).pid)",
    ]
    program = [sys.executable, "-c", HALF_A_CORE]
    done = subprocess.run([*start, *program], stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
    pid = int(done.stdout)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_run_next_to_a_busy_program_is_noisy_and_names_it(
    loaded: Loaded, text: str, busy: int, look_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # in CI there is no warning beforehand
    monkeypatch.setattr(preflight, "LOOK_S", look_s)
    for module in (programs, summary):  # other tests may run programs that use more CPU
        monkeypatch.setattr(module, "MAX_PROGRAMS", 99)
    done = loaded(text, "--rate", "20")  # the library needs a tenth of a core for this rate
    assert done.exit_code == 0, done.stderr
    beforehand, _, afterwards = done.stderr.partition("passed the check")
    assert f"(pid {busy})" in beforehand
    assert "Finished. NOISY: " in afterwards
    assert "CPU of other programs" in afterwards
    assert f"(pid {busy})" in " ".join(done.stdout.split())


def test_a_journey_has_the_time_limit_of_its_file(loaded: Loaded, text: str) -> None:
    done = loaded(text + "networks: {web: {rtt: 400ms}}\ntimeout: 300ms\n", "--json")
    assert done.exit_code == 3
    failures = json.loads(done.stdout)["failures"]
    assert {row["journey"] for row in failures} == {"look", "read", "call", "borrow"}
    assert all("no complete answer within the journey's limit of 300ms" in row["reason"] for row in failures)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "GET /books/${book}",
            "GET /moved",
            "target here does not answer as its file says, so nothing was loaded:\n  journey look: step GET /moved "
            '(library.yaml:18) at http: status 307 leads away from the target, to "http://elsewhere.example/books"; '
            "redirects are not followed",
            id="a redirect elsewhere",
        ),
        pytest.param(
            'expect: {equal: {/title: "Volume ${book}"}}',
            'expect: {equal: {/title: "Part ${book}"}}',
            'at rpc: /title is "Volume',
            id="another answer",
        ),
        pytest.param("status: 201", "status: 202", "status 201 instead of [202]", id="another status"),
        pytest.param(
            "{header: Location,", "{header: Place,", "is to be taken from the header Place", id="nothing to take"
        ),
        pytest.param("{cookie: visit}", "/visit", "the answer is empty, not JSON", id="no JSON to take from"),
    ],
)
def test_a_target_that_answers_otherwise_than_its_file_says_is_refused(
    loaded: Loaded, text: str, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in text
    done = loaded(text.replace(old, new))
    assert done.exit_code == 1
    assert message in done.stderr
    assert "target here" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "results").iterdir()), "nothing was measured, so there is nothing to resume"


def test_a_descriptor_set_replaces_reflection(loaded: Loaded, text: str, tmp_path: Path) -> None:
    (tmp_path / "library.pb").write_bytes(FileDescriptorSet(file=[describe_service()]).SerializeToString())
    with_set = text.replace(
        "- grpc: library.v1.Library/GetBook", "- grpc: library.v1.Library/GetBook\n        descriptors: library.pb"
    )
    done = loaded(with_set, "--json", "--duration", "1s")
    assert json.loads(done.stdout)["topologies"]["here"]["journeys"]["call"]["count"] > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "Library/GetBook",
            "Library/Buy",
            "has no method Buy in library.v1.Library; methods: GetBook",
            id="no method",
        ),
        pytest.param("library.v1.Library/GetBook", "no.Such/Get", "does not describe no.Such: ", id="no service"),
        pytest.param(
            "- grpc: library.v1.Library/GetBook",
            "- grpc: library.v1.Library/Buy\n        descriptors: library.pb",
            "library.yaml:35: journey call, step library.v1.Library/Buy: library.pb has no method Buy in",
            id="a descriptor set without the method",
        ),
        pytest.param("message: {", "message: {author: x, ", "the message is not a library.v1", id="no such field"),
    ],
)
def test_a_step_that_does_not_fit_its_method_is_refused(
    loaded: Loaded, text: str, tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "library.pb").write_bytes(FileDescriptorSet(file=[describe_service()]).SerializeToString())
    assert old in text
    done = loaded(text.replace(old, new))
    assert done.exit_code == 2
    assert message in done.stderr
    # Lines about the machine may name another run's generator.
    error = done.stderr.partition("error: ")[2]
    assert error
    assert "shopload" not in error
    assert "http://" not in error


def test_a_target_that_does_not_answer_is_named(loaded: Loaded, text: str, ports: list[int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    done = loaded(text.replace(f":{ports[0]}", f":{free}"))
    assert done.exit_code == 1
    assert f"target here cannot be loaded: http://127.0.0.1:{free} does not answer: " in done.stderr


def test_a_terminated_load_says_so_and_leaves_nothing_running(loaded: Loaded, text: str, tmp_path: Path) -> None:
    ended = threading.Event()

    def terminate() -> None:
        while not ended.wait(0.1):
            # Without a handler, the signal would end the tests.
            begun = any((tmp_path / "results").glob("*.partial/trials/.*"))
            if begun and signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    terminating = threading.Thread(target=terminate)
    terminating.start()
    done = loaded(text, "--duration", "30s")
    ended.set()
    terminating.join()
    assert done.exit_code == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; nothing was left running." in done.stderr
    assert ".incomplete" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/books/${book}", "/books/${nobody}", "nothing gives the variable ${nobody}; there are: "),
        ("- http: GET", "- take: {n: {match: '(('}}\n        http: GET", "error parsing regexp: missing closing )"),
    ],
)
def test_a_refused_step_is_reported_by_the_user_s_file_before_anything_starts(
    loaded: Loaded, text: str, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in text
    done = loaded(text.replace(old, new, 1))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'library.yaml'}:")
    assert message in done.stderr
    assert not (tmp_path / "results").exists()


def test_variables_that_run_out_are_reported(loaded: Loaded, text: str, tmp_path: Path) -> None:
    done = loaded(text.replace("take: random", "take: once"), "--duration", "10s")
    assert done.exit_code == 2
    assert "library.yaml: tables.books: the variables run out: books.csv has 100 rows, and the journeys" in done.stderr
    assert not list((tmp_path / "results").iterdir())
