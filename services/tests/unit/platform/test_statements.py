"""Names of statements, which spans and budgets use."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import shop
from shop.platform.database.statements import Statement, unnamed

PACKAGE = Path(shop.__file__).parent
MODULES = sorted(
    ".".join(("shop", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in PACKAGE.rglob("*.py")
    if re.search(r"= Statement\(", path.read_text())
)
STATEMENTS = [
    pytest.param(value, id=f"{module}.{name}")
    for module in MODULES
    for name, value in vars(importlib.import_module(module)).items()
    if isinstance(value, Statement)
]


def test_each_service_has_some() -> None:
    assert {module.split(".")[1] for module in MODULES} >= {"notification", "order", "payment", "product", "user"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_does_what_its_name_says(statement: Statement) -> None:
    operation, table = statement.name.split()
    between = {"SELECT": r"SELECT\b.*\b(FROM|JOIN)", "INSERT": "INSERT INTO", "DELETE": "DELETE FROM"}
    assert re.search(rf"\b{between.get(operation, operation)}\s+{table}\b", statement.sql, re.DOTALL)


@pytest.mark.parametrize(("sql", "name"), [("BEGIN;", "BEGIN"), ("SELECT 1", "SELECT"), ("\n  COMMIT", "COMMIT")])
def test_other_statements_are_named_by_their_first_word(sql: str, name: str) -> None:
    assert unnamed(sql).name == name
