"""Which topology to choose, in lines for a decision record; every figure cites its source by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text as RichText

from hops.budget.parts import NETWORK_PART
from hops.conclusions.over_fetching import over_fetching_sentences, selection_sentences
from hops.conclusions.wording import clause, excludes_zero, in_ms, mark_lines, not_tested, plural
from hops.elements.numbers import excess, figure, p_value
from hops.kinds.decide.analysis import SAVED, Answer, Decision
from hops.kinds.decide.gap_to_fastest import Gap
from hops.kinds.decide.ranking import Behind, Ranking
from hops.run.documents.estimate import Estimate
from hops.run.network import Network, in_words
from hops.statistics.over_blocks import MIN_BLOCKS
from hops.units import ALL

MAX_ENTRIES = 4
"""Maximum number of entries in a list; the rest are only counted, and `--json` has all."""
Phrase = Callable[[Estimate], str]
"""Formats one figure with its interval for a line."""


def decision_title(decision: Decision) -> str:
    """Names the basis of the decision: the run, its size, whether it can be trusted, the workload."""
    loop = ", closed loop" if decision["rate"] is None else f" at {decision['rate']:g} journeys a second"
    count = len(decision["cheapest"]["values"])
    topologies = "1 topology" if count == 1 else f"{count} topologies"
    size = f"{topologies}, {plural(decision['blocks'], 'block')}{loop}, {decision['verdict']}"
    return f"Which one would we take? By {decision['run']} ({size}), for the workload {decision['workload']}:"


def decision_lines(decision: Decision) -> list[tuple[str, str]]:
    """Lists each line's topic and text; in a run that is not VALID, each text begins with the verdict."""
    numbers = {source: f"[{number}]" for number, source in enumerate(_sources(decision), 1)}
    lines = [(_scope(answer), _fastest(answer, numbers)) for answer in decision["answers"]]
    lines.append(("cheapest", _cheapest(decision["cheapest"], numbers)))
    lines.append(("fewest bytes", _fewest(decision["answers"], numbers)))
    sampled = _marks(decision["answers"][0]["fewest_bytes"]["source"], numbers)
    lines += [("over-fetching", f"{text} {sampled}") for text in over_fetching_sentences(decision["over_fetching"])]
    lines += [
        ("selection", f"{text} {_marks([SAVED], numbers)}") for text in selection_sentences(decision["selection"])
    ]
    if level := _not_shown(decision):
        lines.append(("not shown", "; ".join(level)))
    if unanswered := _list_unanswered(decision):
        lines.append(("cannot say", "; ".join(unanswered)))
    texts = mark_lines(decision["verdict"], (text for _, text in lines))
    lines = [(about, text) for (about, _), text in zip(lines, texts, strict=True)]
    return [*lines, ("sources", "; ".join(f"{number} {source}" for source, number in numbers.items()))]


def decision_view(decision: Decision) -> Group:
    """Shows the title, and each line after its topic, on a terminal."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for about, text in decision_lines(decision):
        grid.add_row(RichText(about), RichText(text))
    head: list[RenderableType] = [RichText(decision["notice"], "bold")] if decision["notice"] else []
    return Group(*head, RichText(decision_title(decision), "bold"), grid)


def _scope(answer: Answer) -> str:
    return "whole mix" if answer["channel"] == ALL else answer["channel"]


def _fastest(answer: Answer, numbers: Mapping[str, str]) -> str:
    network, ranking = answer["network"], answer["quickest"]
    at = "each channel at its network" if network is None else in_words(Network(**network))
    metric = "predicted p50" if answer["predicted"] else "p50"
    text = f"{at}: {_lowest(ranking, 'the fastest', in_ms, metric)} {_marks(ranking['source'], numbers)}"
    turn = answer["to_turn"]
    return f"{text}; {_to_turn(turn)} {_marks(turn['source'], numbers)}" if turn else text


def _to_turn(turn: Gap) -> str:
    other, by = turn["topology"], in_ms(turn["by_ms"])
    if turn["part"] is None or turn["more_ms"] is None:
        return f"{other} takes {by} longer, and no single hop is shown to account for it"
    more = in_ms(turn["more_ms"])
    where = turn["part"]
    if where == NETWORK_PART:
        mine, theirs = turn["round_trips"]
        where = f"the customer's network ({mine:.2f} round trips instead of {theirs:.2f})"
    text = f"{other} takes {by} longer; on average, {where} takes {more} more than in {turn['quickest']}"
    return f"{text}, which is {'enough' if turn['enough'] else 'not enough'} to account for it"


def _cheapest(ranking: Ranking, numbers: Mapping[str, str]) -> str:
    if not ranking["values"]:
        return "the run counted no CPU time"
    text = f"{_lowest(ranking, 'the cheapest', _core_hours)} for a million journeys"
    if after := next((row for row in ranking["behind"] if row["shown"]), None):
        text += f", {after['topology']} {_core_hours(after)} more"
    scope = "of the mix and at the network that the run had: CPU time is not counted by channel"
    return f"{text} {_marks(ranking['source'], numbers)}, {scope}"


def _fewest(answers: Sequence[Answer], numbers: Mapping[str, str]) -> str:
    known = [answer for answer in answers if answer["fewest_bytes"]["values"]]
    texts = [f"{_scope(answer)}: {_lowest(answer['fewest_bytes'], '', _bytes)}" for answer in known]
    source = answers[0]["fewest_bytes"]["source"]
    return f"{'; '.join(texts)} {_marks(source, numbers)}" if texts else "the run has no sample that counted them"


def _lowest(ranking: Ranking, what: str, phrase: Phrase, metric: str = "") -> str:
    """Writes `rest is the fastest, p50 14.2 ms (13.9 to 14.6)`; if several may be the fastest, each with its figure."""
    names = ranking["lowest"]
    figures = [phrase(ranking["values"][name]) for name in names]
    label = f"{metric} " if metric else ""
    if len(names) == 1:
        alone = f"{names[0]} is {what}" if what and len(ranking["values"]) > 1 else names[0]
        return f"{alone}, {label}{figures[0]}"
    each = _most([f"{name} {amount}" for name, amount in zip(names, figures, strict=True)])
    untested = [row["reason"] for row in ranking["behind"] if row["reason"] is not None]
    which = f" ({not_tested(untested)})" if untested else ""
    return f"{label}{', '.join(each[:-1])} or {each[-1]}{which}"


def _most(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MAX_ENTRIES else [*texts[: MAX_ENTRIES - 1], f"{len(texts) - MAX_ENTRIES + 1} others"]


def _not_shown(decision: Decision) -> list[str]:
    """Lists the tested pairs for which no difference is shown."""
    answers = decision["answers"]
    asked: list[tuple[str, Ranking, Phrase]] = [
        *((f"{_scope(answer)}, p50", answer["quickest"], in_ms) for answer in answers),
        ("cost", decision["cheapest"], _core_hours),
        *((f"{_scope(answer)}, bytes", answer["fewest_bytes"], _bytes) for answer in answers),
    ]
    texts = []
    for about, ranking, phrase in asked:
        first = next(iter(ranking["values"]), "")
        level = [
            f"{row['topology']} against {first} {phrase(row)}{_but(row)}"
            for row in ranking["behind"]
            if not row["shown"] and row["reason"] is None
        ]
        texts += [f"{about}: {', '.join(_most(level))}"] if level else []
    return texts


def _but(row: Behind) -> str:
    """Gives the smallest visible difference, and says why a difference whose interval excludes zero is not shown."""
    text = "" if row["visible_ratio"] is None else f", would have seen {excess(row['visible_ratio'])}"
    if row["p_corrected"] is not None and excludes_zero(row["ci95"]):
        text += f", not significant after correction ({p_value(row['p_corrected'])})"
    return text


def _list_unanswered(decision: Decision) -> list[str]:
    """Lists what the run cannot answer, and which figures could not be tested."""
    answers = decision["answers"]
    figures = {"bytes": [answer["fewest_bytes"] for answer in answers]}
    if decision["blocks"] >= MIN_BLOCKS:  # with fewer blocks, that is the reason, which is already reported
        figures |= {"p50": [answer["quickest"] for answer in answers], "cost": [decision["cheapest"]]}
    reasons = {
        f"{name}: {clause(row['reason'])}": None
        for name, rankings in figures.items()
        for ranking in rankings
        for row in ranking["behind"]
        if row["reason"] is not None
    }
    return [*decision["unanswered"], *reasons]


def _sources(decision: Decision) -> list[str]:
    asked = [answer["quickest"]["source"] for answer in decision["answers"]]
    asked += [turn["source"] for answer in decision["answers"] if (turn := answer["to_turn"])]
    asked += [decision["cheapest"]["source"], *(answer["fewest_bytes"]["source"] for answer in decision["answers"])]
    asked += [[SAVED]] * bool(decision["selection"])
    return list(dict.fromkeys(source for sources in asked for source in sources))


def _marks(sources: Sequence[str], numbers: Mapping[str, str]) -> str:
    return "".join(numbers[source] for source in sources)


def _bytes(value: Estimate) -> str:
    return figure(value["value"], value["ci95"], "bytes")


def _core_hours(value: Estimate) -> str:
    return figure(value["value"], value["ci95"], "core-hours")
