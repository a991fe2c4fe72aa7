"""The settings that only measured programs have, read from the same environment as the shop's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from recording.switch import TRACINGS
from shop.platform.config import ServiceConfig, choice, read_settings, whole


class Measurement(Struct, frozen=True, kw_only=True):
    """An experiment's settings for a process, declared in the way of `ServiceConfig`."""

    store: Annotated[str, choice, "postgres", "memory"] = "postgres"  # memory: filled from the database at the start.
    tracing: Annotated[str, choice, *TRACINGS] = "lean"  # the recorder of the spans.
    telemetry_folder: str | None = None  # where the process writes the account of its spans.
    topology: str = ""
    trial: str = ""
    delay_us: Annotated[int, whole, 0, 1_000_000] = 0  # how long every request waits before its work; for proofs.
    hold_us: Annotated[int, whole, 0, 1_000_000] = 0  # how long every Nth request blocks the event loop; for proofs.
    hold_every: Annotated[int, whole, 1, 1_000_000] = 1  # that N.

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Measurement:
        """Reads the settings from an environment. Raises `ConfigError` if a variable is not valid."""
        return cls(**read_settings(cls, env))

    def account_file(self, config: ServiceConfig, folder: str = "") -> Path | None:
        """Returns the path of the file in which a process keeps an account of its work; None for no such file."""
        if self.telemetry_folder is None:
            return None
        return Path(self.telemetry_folder, folder, f"{config.instance or config.component}.json")
