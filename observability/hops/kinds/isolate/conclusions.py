"""How much faster other journeys are without one kind of journey, in sentences."""

from __future__ import annotations

from hops.conclusions.wording import in_ms
from hops.kinds.isolate.arms import in_words
from hops.kinds.isolate.document import OTHERS, Isolation, IsolationRow


def isolation_sentences(isolation: Isolation) -> list[str]:
    """Writes a sentence for each arm, about all other journeys together."""
    return [_sentence(row) for row in isolation["rows"] if row["journey"] == OTHERS]


def _sentence(row: IsolationRow) -> str:
    predicted = "nothing predicted" if row["predicted"] is None else f"predicted {in_ms(row['predicted'])}"
    text = f"{in_words(row['arm'])}: measured gain {in_ms(row['measured'])}, {predicted}"
    if row["verdict"] == "unknown" or row["difference"] is None:
        return f"{text}; no verdict: {row['reason']}."
    return f"{text}; they {row['verdict']}: difference {in_ms(row['difference'])}."
