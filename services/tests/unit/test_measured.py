"""The settings of measured programs, and the list of programs."""

from __future__ import annotations

import pytest

from measured.__main__ import main
from measured.settings import Measurement
from shop.platform.config import ConfigError

VARIABLES = [
    ("SHOP_TRACING", "tracing", "sdk"),
    ("SHOP_TELEMETRY_FOLDER", "telemetry_folder", "/run/shop/telemetry"),
    ("SHOP_TOPOLOGY", "topology", "hybrid"),
    ("SHOP_TRIAL", "trial", "1"),
    ("SHOP_DELAY_US", "delay_us", 500),
    ("SHOP_HOLD_US", "hold_us", 2_000),
    ("SHOP_HOLD_EVERY", "hold_every", 50),
]


def test_every_variable_is_read() -> None:
    given = Measurement.from_env({name: str(value) for name, _, value in VARIABLES})
    assert given == Measurement(**{field: value for _, field, value in VARIABLES})
    assert Measurement.from_env({}) == Measurement()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SHOP_DELAY_US", "1000001", "from 0 to 1000000"),
        ("SHOP_DELAY_US", "0.5", "an integer"),
        ("SHOP_TRACING", "none", "valid: lean, sdk"),
    ],
)
def test_wrong_value_is_named_with_the_valid_ones(
    name: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=f"{name} .*{said}"):
        Measurement.from_env({name: value})
    assert main(["product"], {name: value}) == 2
    assert f"error: {name} is " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["shop.product"], ["product", "order"]])
def test_an_unknown_program_is_refused_with_the_valid_ones(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments, {}) == 2
    assert (
        "valid: product, order, user, payment, notification, graphql-gateway, rest-gateway" in capsys.readouterr().err
    )
