"""What tests need and a machine may lack."""

from __future__ import annotations

import pytest

from experiment.generator.shopload import BINARY

needs_generator = pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`")
