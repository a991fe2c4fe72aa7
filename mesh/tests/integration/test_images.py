"""The list of contents that each image has."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from stand_ins.containers import image, needs_containers

from mesh.paths import ROOT
from provision import images

pytestmark = pytest.mark.e2e  # images are built first


@needs_containers
def test_an_image_s_list_of_contents_has_its_locked_packages(tmp_path: Path) -> None:
    images.copy_contents(images.engine(os.environ), image("shop"), tmp_path / "shop.cdx.json")
    listed = {
        (each["name"], each["version"]) for each in json.loads((tmp_path / "shop.cdx.json").read_text())["components"]
    }
    assert ("aiohttp", re.search(r"^aiohttp==(\S+)", (ROOT / "images" / "shop.lock").read_text(), re.M)[1]) in listed  # type: ignore[index]
