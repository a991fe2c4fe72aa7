"""Two runs held against each other, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hops.analysis.two_runs import RunDifference, RunFacts, RunsComparison, regressions, watched
from hops.conclusions.wording import LEAST_P, decimals_for, figure, listed, number, plural, turned
from hops.gates.words import gate_text
from hops.terminal.bench import milliseconds
from hops.terminal.tables import NOTHING, table_titled
from hops.units import ALL

#: On a terminal; Markdown and JSON have all.
SHOWN_METRICS = ("p50", "p99", "cpu_ms")
_VERDICTS = {"higher": "HIGHER", "lower": "lower", "not_shown": "not shown", "unknown": "unknown"}


def runs_view(found: RunsComparison) -> Group:
    """Everything for a terminal: what the two are, what differs, the figures, the threshold.

    Args:
        found: of `compare_runs`.
    """
    parts: list[RenderableType] = [*(Text(line) for line in headline(found)), Text()]
    if found["differs"]:
        table = table_titled("What differs")
        for name in ("", "a", "b"):
            table.add_column(name, overflow="fold")
        for row in found["differs"]:
            table.add_row(Text(row["what"]), Text(row["a"]), Text(row["b"]))
        parts.append(table)
    for name_a, name_b in _pairs(found):
        parts.append(_table(found, name_a, name_b))
    parts += [Text(line) for line in (*findings(found), *threshold_lines(found))]
    return Group(*parts)


def markdown(found: RunsComparison) -> str:
    """The same as Markdown, with every metric.

    Args:
        found: of `compare_runs`.
    """
    lines = ["# Two runs compared", "", *_bullets(headline(found))]
    if found["differs"]:
        lines += ["", "## What differs", "", "| what | a | b |", "|---|---|---|"]
        lines += [f"| {_cell(row['what'])} | {_cell(row['a'])} | {_cell(row['b'])} |" for row in found["differs"]]
    lines += ["", "## Findings", "", *_bullets([*findings(found), *threshold_lines(found)])]
    for name_a, name_b in _pairs(found):
        lines += ["", f"## {_pair(name_a, name_b)}", ""]
        lines += ["| journey | metric | a | b | b - a | b / a | p (Holm) | verdict on b |"]
        lines += ["|---|---|---:|---:|---:|---:|---:|---|"]
        for row in _rows(found, name_a, name_b):
            values = [milliseconds(row["a"]), milliseconds(row["b"]), *_differences(row, " to "), _p(row)]
            lines.append(f"| {_cell(row['journey'])} | {row['metric']} | {' | '.join(values)} | {_verdict(row)} |")
    lines += ["", "Times in ms, with 95 % intervals over blocks. `cpu_ms` is CPU time for a journey."]
    return "\n".join(lines) + "\n"


def headline(found: RunsComparison) -> list[str]:
    """Which runs, and whether to trust them."""
    sides = (("a", found["a"]), ("b", found["b"]))
    lines = [_facts(letter, facts) for letter, facts in sides]
    lines += [f"{letter}: {facts['notice']}" for letter, facts in sides if facts["notice"]]
    if found["mode"] == "closed":
        lines.append("CLOSED LOOP: latency counts from the actual start, and a slow shop gets less load.")
    lines.append("Differences are b less a, in ms, with 95 % intervals; the blocks of two runs are independent.")
    return lines if found["valid"] else [*lines, "SUSPECT: every figure below, as a gate does not hold."]


def findings(found: RunsComparison) -> list[str]:
    """What is shown, by pair, in sentences."""
    mark = "" if found["valid"] else "SUSPECT: "
    lines = []
    for name_a, name_b in _pairs(found):
        for metric in ("p50", "p99"):
            rows = [row for row in _rows(found, name_a, name_b) if row["metric"] == metric and row["journey"] != ALL]
            tested = [row for row in rows if row["verdict"] != "unknown"]
            if not tested:
                reason = next((row["reason"] for row in rows if row["reason"]), "nothing was measured")
                lines.append(f"{mark}{_pair(name_a, name_b)} at {metric}: nothing could be tested: {reason}.")
                continue
            told = [_sentence(row) for row in tested if row["verdict"] in ("higher", "lower")]
            silent = len(tested) - len(told)
            if silent:
                told.append(f"no difference shown for {plural(silent, 'journey')}")
            if len(tested) < len(rows):
                told.append(f"too few data for {plural(len(rows) - len(tested), 'journey')}")
            lines.append(f"{mark}{_pair(name_a, name_b)} at {metric}: {'; '.join(told)}.")
    return lines


def threshold_lines(found: RunsComparison) -> list[str]:
    """What the threshold says, with the rule that it follows."""
    share = found["threshold"]
    if share is None:
        return []
    limit, looked_at = f"{100 * share:g} %", watched(found)
    beyond, possible = regressions(found, "shown"), regressions(found, "possible")
    unknown = regressions(found, "unknown")
    lines = [f"SLOWER by more than {limit}: {_named(row)}." for row in beyond]
    lines += [f"Perhaps slower by more than {limit}, not shown: {_named(row)}." for row in possible]
    checked = len(looked_at) - len(unknown)
    lines.append(
        f"Threshold {limit} on {listed(found['metrics'])}: {plural(checked, 'figure')} checked, {len(beyond)} beyond, "
        f"{len(possible)} perhaps, {len(unknown)} of too few data to check."
    )
    return lines


def _table(found: RunsComparison, name_a: str, name_b: str) -> Table:
    table = table_titled(f"{_pair(name_a, name_b)}, ms, with 95 % intervals (lower..upper)")
    table.add_column("journey", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for name in ("a", "b", "b - a", "b / a", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("b is", no_wrap=True)
    rows = [row for row in _rows(found, name_a, name_b) if row["metric"] in SHOWN_METRICS]
    for row in [*(row for row in rows if row["journey"] != ALL), *(row for row in rows if row["journey"] == ALL)]:
        if row["journey"] == ALL and row["metric"] == SHOWN_METRICS[0]:
            table.add_section()
        difference, ratio = _differences(row, "..", "\n")
        values = (milliseconds(row["a"]), milliseconds(row["b"]), difference, ratio, _p(row))
        table.add_row(row["journey"], row["metric"], *values, _verdict(row))
    return table


def _facts(letter: str, facts: RunFacts) -> str:
    verdict = "VALID" if facts["valid"] else "SUSPECT: " + "; ".join(gate_text(name)[0] for name in facts["reasons"])
    return f"{letter}: {facts['name']}, {plural(facts['blocks'], 'block')}, {verdict}"


def _pairs(found: RunsComparison) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["topology_a"], row["topology_b"]) for row in found["rows"]))


def _rows(found: RunsComparison, name_a: str, name_b: str) -> list[RunDifference]:
    return [row for row in found["rows"] if (row["topology_a"], row["topology_b"]) == (name_a, name_b)]


def _pair(name_a: str, name_b: str) -> str:
    return name_a if name_a == name_b else f"{name_a} (a) against {name_b} (b)"


def _sentence(row: RunDifference) -> str:
    assert row["difference"] is not None
    ends = row["ci95"]
    if row["verdict"] == "higher":
        return f"b answers {row['journey']} {figure(row['difference'], ends, 'ms')} later"
    return f"b answers {row['journey']} {figure(-row['difference'], turned(ends), 'ms')} sooner"


def _named(row: RunDifference) -> str:
    low, high = row["ratio_ci95"]
    span = f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""
    values = f"{number(row['a'] or 0.0)} to {number(row['b'] or 0.0)} ms, {row['ratio']:.2f} times{span}"
    what = "all journeys" if row["journey"] == ALL else row["journey"]
    return f"{_pair(row['topology_a'], row['topology_b'])}, {what}, {row['metric']}: {values}"


def _differences(row: RunDifference, between: str, before: str = " ") -> list[str]:
    found = []
    for value, ends in ((row["difference"], row["ci95"]), (row["ratio"], row["ratio_ci95"])):
        if value is None:
            found.append(NOTHING)
            continue
        known = [end for end in ends if end is not None]
        places = 2 if value is row["ratio"] else decimals_for([value, *known])
        text = f"{value:,.{places}f}"
        if len(known) == 2:
            span = f"{known[0]:,.{places}f}{between}{known[1]:,.{places}f}"
            text += f"{before}{span}" if before == "\n" else f" ({span})"
        found.append(text)
    return found


def _p(row: RunDifference) -> str:
    value = row["p_holm"]
    return NOTHING if value is None else f"<{LEAST_P}" if value < LEAST_P else f"{value:.3f}"


def _verdict(row: RunDifference) -> str:
    text = _VERDICTS[row["verdict"]]
    return f"{text}, beyond" if row["regression"] == "shown" else text


def _bullets(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
