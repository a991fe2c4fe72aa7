"""What is wrong with a file that a user wrote: each mistake with its line, its place, and what is valid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from user_files.mistakes import validate
from user_files.yaml_file import MAX_PROBLEMS, YamlFile


class WrongError(Exception):
    """The error that the reader of the file raises."""


class Dish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern="^[a-z]+$", max_length=9)]
    grams: Annotated[int, Field(gt=0, lt=5000)] = 1
    hot: bool = True
    kind: Literal["soup", "cake"] = "soup"


class Menu(BaseModel):
    model_config = ConfigDict(extra="forbid")

    dishes: Annotated[list[Dish], Field(min_length=1, max_length=2)]
    prices: dict[str, float] = {}
    side: str | list[str] = ""
    start: Annotated[int | None, Field(alias="from")] = None
    best: Dish | None = None


def refuse(text: str) -> list[str]:
    with pytest.raises(WrongError) as error:
        validate(YamlFile("menu.yaml", text, WrongError), Menu)
    return str(error.value).splitlines()


GOOD = "dishes:\n  - name: pea\n"


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("dishes:\n  - name: pea\n    grams: 1.5", ["3: dishes[0].grams: must be a whole number, not 1.5"]),
        ("dishes:\n  - name: pea\n    grams: 0", ["3: dishes[0].grams: is 0; it must be above 0"]),
        ("dishes:\n  - name: pea\n    grams: 5000", ["3: dishes[0].grams: is 5000; it must be below 5,000"]),
        ("dishes:\n  - name: pea\n    hot: maybe", ["3: dishes[0].hot: must be true or false, not 'maybe'"]),
        ("dishes:\n  - name: pea\n    hot:", ["3: dishes[0].hot: must be true or false, not empty"]),
        ("dishes:\n  - name: PEA", ["2: dishes[0].name: 'PEA' is not valid; it must match ^[a-z]+$"]),
        ("dishes:\n  - name: peaaaaaaaaa", ["2: dishes[0].name: is 'peaaaaaaaaa'; it may have at most 9 characters"]),
        (
            "dishes:\n  - name: pea\n    kind: soop",
            ["3: dishes[0].kind: 'soop' is unknown; did you mean soup? valid: soup, cake"],
        ),
        ("dishes:\n- {name: a}\n- {name: b}\n- {name: c}", ["1: dishes: has 3 entries; it may have at most 2"]),
        (
            "dishes:\n  - nam: pea\n",
            [
                "2: dishes[0].name: is missing",
                "2: dishes[0].nam: is not a key here; did you mean name? valid: name, grams, hot, kind",
            ],
        ),
        (GOOD + "prices: {pea: dear}", ["3: prices.pea: must be a number, not 'dear'"]),
        (GOOD + "prices: {2: 1}", ["3: prices.2: must be text, not 2: put it in quotes"]),
        (GOOD + "side: {a: b}", ["3: side: must be text, not a mapping; or must be a list, not a mapping"]),
        (GOOD + '"\\e[31m": 1', ["3: '\\x1b[31m': is not a key here; valid: dishes, prices, side, from, best"]),
        (GOOD + "from: soon", ["3: from: must be a whole number, not 'soon'"]),
        (GOOD + "start: 1", ["3: start: is not a key here; valid: dishes, prices, side, from, best"]),
        (GOOD + "best: {name: a, gram: 1}", ["3: best.gram: is not a key here; did you mean grams? valid: name, gra"]),
        ("dishes:\n  - name: pea\n    grams: 1e999", ["3: not valid YAML: 1e999 is not a finite number"]),
    ],
)
def test_each_mistake_is_reported_with_its_line_and_in_words(text: str, messages: list[str]) -> None:
    mistakes = refuse(text)
    assert len(mistakes) == len(messages)
    for line, message in zip(mistakes, messages, strict=True):
        assert line.startswith(f"menu.yaml:{message}")
    assert not any(word in " ".join(mistakes) for word in ("Input", "input", "Field", "pydantic"))


def test_many_mistakes_are_listed_in_the_order_of_lines_and_all_are_counted() -> None:
    mistakes = refuse(GOOD + "".join(f"colour{number}: red\n" for number in range(30)))
    assert [int(line.split(":")[1]) for line in mistakes[:-1]] == list(range(3, 3 + MAX_PROBLEMS))
    assert mistakes[-1] == f"menu.yaml: and {30 - MAX_PROBLEMS} more mistakes"


def test_numbers_may_be_written_as_in_json() -> None:
    menu = validate(YamlFile("menu.yaml", GOOD + "prices: {a: 1e3, b: 2.5E-1, c: -1.e+2}", WrongError), Menu)
    assert menu.prices == {"a": 1000, "b": 0.25, "c": -100}


@pytest.mark.parametrize("text", ["12:30", "12:30:00.5", "0041", "1_000", "0x1F", "0b1", "2026-01-01", "1.2.3"])
def test_what_is_no_number_of_json_is_text(text: str) -> None:
    assert YamlFile("menu.yaml", f"a: [{text}]", WrongError).data == {"a": [text]}


def test_words_for_true_and_false_are_texts_as_keys() -> None:
    file = YamlFile("menu.yaml", "{on: 1,\n no: {yes: true}}", WrongError)
    assert file.data == {"on": 1, "no": {"yes": True}}
    assert str(file.wrong("is sour", "no", "yes")) == "menu.yaml:2: no.yes: is sour"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "none.yaml", "No such file or directory")):
        with pytest.raises(WrongError) as error:
            YamlFile.read(path, WrongError)
        assert str(error.value) == f"{path}: cannot be read: {why}"
