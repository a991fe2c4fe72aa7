"""The first laws for a program: if it breaks these, no other law can be tested."""

from __future__ import annotations

import signal

import pytest

from mesh.components.shop_processes import CONTRACT

from .conftest import Start
from .test_process import run_to_end


@pytest.mark.usefixtures("same_code")
def test_speaks_this_version_of_the_contract_and_no_other(start: Start, settings: dict[str, str]) -> None:
    later = str(int(CONTRACT) + 1)
    code, said = run_to_end(start, settings | {"SHOP_CONTRACT": later})
    assert (code, "SHOP_CONTRACT" in said) == (2, True), (
        f"with SHOP_CONTRACT={later} it should end with 2: {code}, {said}"
    )


@pytest.mark.usefixtures("same_code")
def test_answers_until_ctrl_c_and_ends_with_exit_code_0(start: Start, settings: dict[str, str]) -> None:
    with start(settings) as program:
        program.wait_until_serving()
        assert "Traceback" not in program.stop(signal.SIGINT)
