"""Judges answers, logs and how commands end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote_to_bytes

from fuzz.inputs import CANARY
from fuzz.wire import Answer

ANSWERED, REFUSED, LATE, UNANSWERED = "answered", "refused", "late", "unanswered"
CLASSES = (ANSWERED, REFUSED, LATE, UNANSWERED)
"""Classes of results, in this order. The request was carried out. It was refused as the caller's fault. It was not
carried out, because time ran out or a component was missing. It got no answer before the connection ended or the time
limit passed."""
SERVER_FAULTS = {2: "UNKNOWN", 13: "INTERNAL", 15: "DATA_LOSS"}
CANNOT_DECOMPRESS = "Decompression failed due to "
BY_GRPC = frozenset(
    {
        "Compression bit set but no encoding configured",
        *(CANNOT_DECOMPRESS + why for why in ("zlib error", "data error", "not all input consumed")),
    }
)
"""Messages of INTERNAL errors that the gRPC library itself sends. gRPC's specification requires the first
(compression.md, test case 6); the others are for data that cannot be decompressed."""
BY_CONNECT = b"protocol error: sent compressed message without compression support"
"""Message of an INTERNAL error that the Connect specification requires, as gRPC's does, and that its library sends."""
LATE_GRPC = frozenset({4, 14})
LATE_HTTP = frozenset({503, 504})
_CODE = re.compile(rb'"code": ?"([A-Za-z_]+)"')

_SERVICES = "product|order|user|payment|notification|shared"
INTERNAL_TEXT = re.compile(
    rb'Traceback \(most|File "[^"]*\.py|\w\.(?:py|go|lua|cc):\d|asyncpg|psycopg|sqlstate|site-packages|goroutine \d'
    rb"|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM) [^.]{0,200}\b(?:FROM|VALUES|SET|WHERE)\b"
    rb"|\bshop_(?:%b)\b|\bshop\.(?:platform|clients|database|messages|resources|stubs|values)\b"
    rb"|\b(?:rest|graphql)_gateway\b|\b127\.\d+\.\d+\.\d+|/(?:tmp|home|root|usr|var)/\w|upstream connect error"
    % _SERVICES.encode()
)
"""Internal text that no answer may contain: stack traces, SQL, schemas, modules, addresses, paths."""
# gRPC's library itself logs this error when a call ends before its status could be sent.
LOG_FAULTS = re.compile(
    r'"level": "(?:ERROR|CRITICAL)"(?!.*ExecuteBatchError raised in core)|^Traceback|Segmentation fault'
    r"|^panic:|\[critical\]"
)
_SEEDED = re.compile(r"user\d+@example\.com|\btok_(?:ok|declined)\b")


def judge(sent: bytes, answer: Answer, *, must_answer: bool) -> tuple[str, str]:
    """Classifies the result of an input; returns the class, and what is wrong with it (empty if it is right).

    The answer may repeat what was sent. With `must_answer`, an open connection without an answer is a failure.
    """
    statuses, code = answer.statuses, answer.grpc_status
    message = unquote_to_bytes(answer.headers.get("grpc-message", ""))
    text = b"\n".join([message, *(value.encode("latin-1") for value in answer.headers.values()), answer.body])
    codes = {code.upper() for code in _CODE.findall(answer.body)} if statuses else set()
    # 501 is Connect's status for an unsupported compression.
    fine = LATE_HTTP | ({501} if b"UNIMPLEMENTED" in codes else set())
    wrong = [f"HTTP {status}" for status in statuses if status >= 500 and status not in fine]
    if code in SERVER_FAULTS and message.decode(errors="replace") not in BY_GRPC:
        wrong.append(f"gRPC {SERVER_FAULTS[code]}: {message.decode(errors='replace')[:120]}")
    if (bad := codes & {b"INTERNAL", b"UNKNOWN"}) and not wrong and BY_CONNECT not in answer.body:
        wrong.append(f"code {min(bad).decode()}")
    leaked = [match[0] for match in INTERNAL_TEXT.finditer(text) if match[0] not in sent]
    wrong += [f"internal text: {one.decode(errors='replace')[:120]}" for one in leaked]
    if must_answer and answer.waiting:
        wrong.append("no whole answer")
    return _class(answer, codes), wrong[0] if wrong else ""


def _class(answer: Answer, codes: set[bytes]) -> str:
    if not answer.statuses:
        return ANSWERED if answer.body else UNANSWERED
    if (
        answer.grpc_status in LATE_GRPC
        or codes & {b"UNAVAILABLE", b"DEADLINE_EXCEEDED"}
        or max(answer.statuses) in LATE_HTTP
    ):
        return LATE
    refused = max(answer.statuses) >= 400 or answer.grpc_status or b'"errors":' in answer.body
    return REFUSED if refused else ANSWERED


def log_faults(logs: Iterable[Path], personal: Iterable[str]) -> dict[str, str]:
    """Returns the faults found in logs, such as customers' personal data, each with the first line that shows it."""
    markers = (CANARY, *personal)
    faults: dict[str, str] = {}
    for log in sorted(logs):
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                matches = [f"personal data: {marker}" for marker in markers if marker in line]
                matches += [f"personal data: {match[0]}" for match in _SEEDED.finditer(line)]
                matches += [match[0] for match in LOG_FAULTS.finditer(line)]
                for what in matches:
                    faults.setdefault(f"{log.name} has {what}", line)
    return faults
