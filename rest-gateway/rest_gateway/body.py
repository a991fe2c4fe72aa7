"""Reading the body of a request, within the limits of size and time."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ValidationError

from rest_gateway.call import Call
from rest_gateway.problems import FieldError, InvalidRequest, unsupported_media_type
from shop.errors import DeadlineExceeded, ResourceExhausted
from shop.platform.deadline import remaining

MAX_BYTES = 64 * 1024


async def read_json(call: Call, model: type[BaseModel]) -> BaseModel:
    """Returns the body as what the route takes.

    Args:
        call: The request.
        model: The form that the body must have.

    Raises:
        HttpProblem: It is not JSON, or compressed.
        ResourceExhausted: It is larger than 64 KiB.
        InvalidRequest: It is malformed or not of the form.
        DeadlineExceeded: It did not arrive in time.
    """
    _check_media_type(call)
    try:
        async with asyncio.timeout(remaining()):
            raw = await _read(call)
    except TimeoutError as error:
        raise DeadlineExceeded("the body did not arrive in time; send it faster or allow more time") from error
    if not raw:
        raise InvalidRequest([FieldError("", "a JSON body is needed")])
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise InvalidRequest(_field_errors(error, model)) from error


def sentence(message: str) -> str:
    """Returns one of pydantic's messages without what only Python programmers need."""
    return message.removeprefix("Value error, ")


def _field_errors(error: ValidationError, model: type[BaseModel]) -> list[FieldError]:
    """Returns what pydantic found wrong, in the contract's spelling of fields: "lines[0].quantity"."""
    errors = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        message = sentence(one["msg"])
        if one["type"] == "extra_forbidden":
            message = "this field is unknown"
            if len(one["loc"]) == 1:
                message += f"; valid ones are {', '.join(model.model_fields)}"
        elif one["type"] == "missing":
            message = "this field is required"
        errors.append(FieldError(_spelled(one["loc"])[:200], message))
    return errors


def _spelled(location: tuple[int | str, ...]) -> str:
    spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return spelled.removeprefix(".")


def _check_media_type(call: Call) -> None:
    media_type = (call.header(b"content-type") or "").partition(";")[0].strip().lower()
    application, _, kind = media_type.partition("/")
    if application != "application" or not (kind == "json" or kind.endswith("+json")):
        raise unsupported_media_type("the body must be JSON: send the header Content-Type: application/json")
    if (call.header(b"content-encoding") or "identity").strip().lower() != "identity":
        raise unsupported_media_type("the body must not be compressed; send it without Content-Encoding")


async def _read(call: Call) -> bytes:
    declared = call.header(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > MAX_BYTES:
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    async for chunk in call.stream():
        size += len(chunk)
        if size > MAX_BYTES:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> ResourceExhausted:
    return ResourceExhausted(f"the body is too large; at most {MAX_BYTES} bytes are valid")
