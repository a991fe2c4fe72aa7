"""Schemathesis makes requests from the document, valid and invalid ones, and checks every answer against it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.schemas import OpenApiSchema

from shop.platform.access.jwt import Principal, TokenSigner

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
# A stream of events never ends, so a test cannot wait for it.
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if "text/event-stream" not in json.dumps(operation)
]


@pytest.fixture(scope="module")
def contract(app: FastAPI, program: str | None) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(DOCUMENT) if program else schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_breaks_the_contract(
    contract: OpenApiSchema, program: str | None, signer: TokenSigner, label: str, mode: GenerationMode
) -> None:
    if program and "/notifications" in label:
        pytest.skip("there with `updates=on`, which the contract for programs leaves out")
    operation = contract.find_operation_by_label(label)
    headers = {"authorization": f"Bearer {signer.sign(Principal('partner', 1))}"}

    @settings(
        max_examples=5,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def requests_of(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=program, headers=headers, checks=CHECKS)

    requests_of()
