"""The images of this code, for tests that run them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from provision.images import PREFIX, tag

IMAGE_PREFIX, IMAGE_TAG = os.environ.get("IMAGE_PREFIX") or PREFIX, tag(os.environ)
IMAGES = ("shop", "edge-envoy", "postgres", "jaeger")


def image(target: str) -> str:
    return f"{IMAGE_PREFIX}/{target}:{IMAGE_TAG}"


def _are_there() -> bool:
    program = shutil.which("podman")
    return program is not None and all(
        subprocess.run([program, "image", "exists", image(target)], check=False, timeout=60).returncode == 0
        for target in IMAGES
    )


needs_containers = pytest.mark.skipif(
    not _are_there(), reason="there is no Podman, or it has no images of this code: run `make images`"
)
"""For tests that run the images, which the default set-up does not build."""
