"""Makes and writes a target file for the user to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

import yaml

from experiment.errors import UsageError
from experiment.own_target.file import METHODS
from user_files.yaml_file import MAX_BYTES, YamlFile

LARGEST = 64 << 20
FORM = "application/x-www-form-urlencoded"
Document = dict[str, Any]
Start = tuple[Document, list[str]]
"""A target file, and notes for the user."""
Kind = TypeVar("Kind")
_KINDS: Mapping[type, str] = {dict: "a mapping", list: "a list", str: "text"}


def write_start(source: Path, convert: Callable[[Any], Start], out: Path) -> list[str]:
    """Writes a target file.

    Args:
        source: The recording.
        convert: Converts the recording, such as `from_har`.
        out: The file to write, which must not exist.

    Returns:
        Notes for the user.

    Raises:
        UsageError: The source is invalid, or the file exists already.
    """
    try:
        if source.stat().st_size > LARGEST:
            raise UsageError(f"{source} is larger than {LARGEST >> 20} MiB")
        text = source.read_text(encoding="utf-8-sig")
        read = json.loads(text) if text.lstrip().startswith("{") else YamlFile(str(source), text, UsageError).data
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is neither JSON nor YAML: {error}") from error
    with about(str(source)):
        document, notes = convert(read)
    if not document["journeys"]:
        raise UsageError("; ".join([f"{source} has no request that a target file can have: {METHODS}", *notes]))
    text = "# Edit this: weights, variables, and what answers must be.\n" + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=120
    )
    if len(text.encode()) > MAX_BYTES:
        raise UsageError(f"the target file for {source} exceeds {MAX_BYTES >> 10} KiB; leave requests out of {source}")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{out} already exists; name another file") from error
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    return notes


@contextmanager
def about(what: str) -> Iterator[None]:
    """Puts the name of a part of the source in front of messages about that part."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from error


def part(whole: Any, key: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Returns the value of a member of a mapping.

    Args:
        whole: The mapping.
        key: Name of the member.
        kind: Type that the member must have.
        default: Value of a member that is missing or null.

    Raises:
        UsageError: `whole` is not a mapping, the member is missing and has no default, or it has another type.
    """
    if not isinstance(whole, dict):
        raise UsageError(f"{_short(whole)} is not a mapping with {key!r}")
    value = whole.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind):
        raise UsageError(f"{key!r} is {'missing' if value is None else _short(value)}; it must be {_KINDS[kind]}")
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}…"


def document_of(name: str, endpoints: Mapping[str, str], journeys: Document) -> Document:
    """Makes a target file with one target."""
    return {"name": name, "targets": {"mine": {"endpoints": dict(endpoints)}}, "journeys": journeys}


def split(url: str) -> SplitResult:
    """Splits a URL.

    Raises:
        UsageError: The URL or its port is invalid.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from error
    return parts


def base_of(url: SplitResult) -> str:
    """Returns the base URL of an endpoint, with its port."""
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    return f"{url.scheme}://{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def is_json(media: str) -> bool:
    """Returns whether a media type is JSON, with or without parameters."""
    kind = kind_of(media)
    return kind == "application/json" or kind.endswith("+json")


def kind_of(media: str) -> str:
    """Returns a media type without its parameters."""
    return media.partition(";")[0].strip().lower()


def body_as(media: str, body: Any) -> Document:
    """Returns a step's body, with a header for its media type unless the default header is correct."""
    is_default = not isinstance(body, str) and kind_of(media) == "application/json"
    return {**({} if is_default or not media else {"headers": {"content-type": kind_of(media)}}), "body": body}


def encode(path: str) -> str:
    """Percent-encodes characters that paths and queries must not contain; existing encodings stay unchanged."""
    return re.sub(r"[^!-~]|[\"<>#]", lambda one: quote(one[0]), path)


def literal(text: str) -> str:
    """Escapes a text so that no part of the text is read as a variable."""
    return text.replace("${", "$${")


def escape(value: Any) -> Any:
    """Escapes a JSON value so that no text inside is read as a variable."""
    if isinstance(value, dict):
        return {str(key): escape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [escape(one) for one in value]
    return literal(value) if isinstance(value, str) else value
