from __future__ import annotations

from pathlib import Path

import pytest

from experiment.arguments import WORKLOADS
from experiment.errors import UsageError
from experiment.plan.workload import mix_of, require_fitting, workload_file
from mesh.description.switches import parse_switches


def test_every_shipped_workload_has_a_mix() -> None:
    for file in WORKLOADS.glob("*.yaml"):
        assert sum(mix_of(file).values()) > 0
    mix = mix_of(WORKLOADS / "default.yaml")
    assert mix["checkout", "web"] == 6
    assert mix["checkout", "partner"] == 2


MIX = "mix:\n  - {journey: browse, channel: web, weight: 1}\n"
JOURNEYS = (
    "valid: browse, product, order_history, order_status, checkout, login, update_profile, bulk_lines, document, "
    "notifications, product_card, order_list, product_feed"
)


def add_mix(lines: str) -> str:
    return f"name: x\n{lines}\n{MIX}"


def share(text: str) -> str:
    return f"name: x\nmix:\n  - {{{text}}}\n"


def weighing(weight: str) -> str:
    return share(f"journey: browse, channel: web, weight: {weight}")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["1: is empty; give a mapping with the keys name, mix"]),
        ("- browse", ["1: is not a mapping; give a mapping with the keys name, mix"]),
        ("name: x\nmix: [", ["2: not valid YAML: did not find expected node content"]),
        (MIX + MIX, ["3: not valid YAML: the key 'mix' appears twice"]),
        (MIX, ["1: name: is missing"]),
        ("name: x", ["1: mix: is missing"]),
        ("name: x\nmix: []", ["2: mix: has 0 entries; it needs at least 1"]),
        ("name: x\nmix: {}", ["2: mix: must be a list, not a mapping"]),
        ('name: "\\e"\n' + MIX, ["1: name: '\\x1b' has a character that cannot be printed"]),
        (
            "name: on\nabout: 5\n" + MIX,
            [
                "1: name: must be text, not true: put it in quotes, as YAML reads on, off, yes and no as true and "
                "false",
                "2: about: must be text, not 5: put it in quotes",
            ],
        ),
        (
            add_mix("speed: 3"),
            ["2: speed: is not a key here; valid: name, about, arrival, order, pool, networks, mix"],
        ),
        (add_mix("5: 3"), ["2: 5: the key must be text, not 5: put it in quotes"]),
        (
            share("journey: browse, chanel: web, weight: 1"),
            [
                "3: mix[0].channel: is missing",
                "3: mix[0].chanel: is not a key here; did you mean channel? valid: journey, channel, weight",
            ],
        ),
        (share("journey: browse, channel: web"), ["3: mix[0].weight: is missing"]),
        (weighing("often"), ["3: mix[0].weight: must be a number, not 'often'"]),
        (weighing("'5'"), ["3: mix[0].weight: must be a number, not '5'"]),
        (weighing("-1"), ["3: mix[0].weight: is -1; it must be at least 0"]),
        (weighing("1e7"), ["3: mix[0].weight: is 10,000,000; it must be at most 1,000,000"]),
        (weighing(".nan"), ["3: not valid YAML: .nan is not a finite number"]),
        (weighing("0.0001"), ["2: mix: all weights are 0"]),
        (
            share("journey: brows, channel: web, weight: 1"),
            [f"3: mix[0].journey: 'brows' is unknown; did you mean browse? {JOURNEYS}"],
        ),
        (
            share("journey: browse, channel: fax, weight: 1"),
            ["3: mix[0].channel: 'fax' is unknown; valid: web, mobile, partner"],
        ),
        (
            share("journey: bulk_lines, channel: web, weight: 1"),
            ["3: mix[0].channel: web does not send bulk_lines; valid: partner"],
        ),
        (
            f"name: x\n{MIX}  - {{journey: browse, channel: web, weight: 2}}\n  - 5\n",
            ["5: mix[2]: must be a mapping, not 5"],
        ),
        (
            f"name: x\n{MIX}  - {{journey: browse, channel: web, weight: 2}}\n",
            ["4: mix[1]: browse through web appears twice"],
        ),
        (add_mix("arrival: poisson"), ["2: arrival: must be a mapping, not 'poisson'"]),
        (
            add_mix("arrival: {process: bus}"),
            ["2: arrival.process: 'bus' is unknown; valid: poisson, constant, staircase, ramp"],
        ),
        (add_mix("arrival: {process: staircase}"), ["2: arrival.process: the process staircase needs steps"]),
        (
            add_mix("arrival: {steps: [1]}"),
            ["2: arrival.steps: steps are only for the process staircase; the process is poisson"],
        ),
        (add_mix("arrival: {process: staircase, steps: [0]}"), ["2: arrival.steps: all steps are 0"]),
        (
            add_mix("arrival:\n  process: staircase\n  steps:\n  - 1\n  - -1\n  - true"),
            ["6: arrival.steps[1]: is -1; it must be at least 0", "7: arrival.steps[2]: must be a number, not true"],
        ),
        (add_mix("arrival: {process: ramp, from: 1}"), ["2: arrival.process: the process ramp needs from and to"]),
        (add_mix("arrival: {process: ramp, from: 0, to: 0}"), ["2: arrival.from: from and to are both 0"]),
        (add_mix("arrival: {to: 1}"), ["2: arrival.to: to is only for the process ramp; the process is poisson"]),
        (add_mix("pool: sea"), ["2: pool: 'sea' is unknown; valid: trial, parity"]),
        (add_mix("order: cylce"), ["2: order: 'cylce' is unknown; did you mean cycle? valid: random, cycle"]),
        (weighing("0.5") + "order: cycle\n", ["3: mix[0].weight: is 0.5; the order cycle needs a whole number"]),
        (
            weighing("10001") + "order: cycle\n",
            ["2: mix: the weights add up to 10,001; a cycle has at most 10,000 journeys"],
        ),
    ],
)
def test_mistakes_in_a_workload_are_named_with_their_lines(tmp_path: Path, text: str, messages: list[str]) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        workload_file(str(file))
    assert str(refused.value) == "\n".join(f"{file}:{message}" for message in messages)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"name: \xff\n", ":1: not valid YAML: the file is not in UTF-8"),
        (b"# " + bytes(2**14), ": is larger than 16384 bytes, the limit for such a file"),
    ],
)
def test_a_file_that_is_not_a_workload_is_refused(tmp_path: Path, raw: bytes, message: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(raw)
    with pytest.raises(UsageError) as refused:
        workload_file(str(file))
    assert str(refused.value) == f"{file}{message}"


def test_a_payload_needs_a_workload_with_documents() -> None:
    large, usual = parse_switches(payload="1MB"), parse_switches(payload="1KB")
    require_fitting(WORKLOADS / "document.yaml", large)
    require_fitting(WORKLOADS / "default.yaml", usual)
    with pytest.raises(UsageError, match=r"payload=1MB is for .* document, .*=default lacks; give workload=document"):
        require_fitting(WORKLOADS / "default.yaml", usual, large)


def test_notifications_need_a_shop_that_notifies_customers() -> None:
    require_fitting(WORKLOADS / "updates.yaml", parse_switches(updates="on"))
    with pytest.raises(UsageError, match=r"workload=updates has the journey notifications, .* give updates=on"):
        require_fitting(WORKLOADS / "updates.yaml", parse_switches(updates="off"))
