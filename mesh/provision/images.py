"""The images of the Containerfile, built with podman or docker."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from provision.environment import require
from provision.errors import SetupError
from provision.paths import ROOT, SBOM
from provision.step import Step, output_of, run, say

FILE = ROOT / "Containerfile"
TARGETS: Mapping[str, str] = {
    "shop": "3 min",
    "shop-go": "1 min",
    "edge-envoy": "30 s",
    "postgres": "30 s",
    "shopload": "2 min",
    "jaeger": "4 min on 2 cores",
}
"""The images, in the order of the Containerfile, each with the rough duration of its first build."""
ENGINES = ("podman", "docker")
PREFIX = "localhost/hopwise"
CONTENTS = "/usr/share/hopwise/sbom.cdx.json"
"""Path of the list of contents in each image."""
ADVICE = (
    "Check the network and its proxy, then run the same command again; finished steps are kept. "
    "More arguments for the builds, such as --network or --volume, can be given in IMAGE_BUILD_ARGS."
)


def build() -> None:
    """Builds all images, and tags them."""
    program = engine(os.environ)
    prefix, version = os.environ.get("IMAGE_PREFIX") or PREFIX, tag(os.environ)
    revision = output_of("git", "-C", str(ROOT), "rev-parse", "HEAD").strip() or "unknown"
    labels = {"VERSION": version, "REVISION": revision}
    arguments = [part for name, value in labels.items() for part in ("--build-arg", f"{name}={value}")]
    try:
        arguments += shlex.split(os.environ.get("IMAGE_BUILD_ARGS", ""))
    except ValueError as error:
        raise SetupError(f"IMAGE_BUILD_ARGS: {error}; it must be words as in a shell.") from error
    for target, hint in TARGETS.items():
        name = f"{prefix}/{target}:{version}"
        argv = [program, "build", "--file", str(FILE), "--target", target, "--tag", name, *arguments, str(ROOT)]
        title, hint = f"Image {target}", f"{hint} the first time, seconds after"
        run(Step(title, hint, argv, ADVICE, registry="a registry of images or packages", limit_s=3600))
        copy_contents(program, name, SBOM / f"image-{target}.cdx.json")
    say(f"Built {', '.join(TARGETS)} as {prefix}/…:{version}; their contents are listed in {SBOM}.")


def copy_contents(program: str, image: str, into: Path) -> None:
    """Copies the list of an image's contents, a CycloneDX document that its build made, out of the image."""
    container = f"hopwise-contents-{os.getpid()}"
    into.parent.mkdir(parents=True, exist_ok=True)
    failure = f"The contents of {image} cannot be read"
    require([program, "create", "--name", container, image, "true"], failure)
    try:
        require([program, "cp", f"{container}:{CONTENTS}", str(into)], failure)
    finally:
        require([program, "rm", container], failure)


def engine(environ: Mapping[str, str]) -> str:
    """The path of the program that `IMAGE_ENGINE` names, else of the installed podman or docker."""
    given = environ.get("IMAGE_ENGINE")
    for name in (given,) if given else ENGINES:
        program = shutil.which(name)
        if program is not None:
            return program
    missing = f"IMAGE_ENGINE={given} is not a program" if given else "there is neither podman nor docker on the PATH"
    raise SetupError(f"Images: {missing}. Install podman or docker, or name another program in IMAGE_ENGINE.")


def tag(environ: Mapping[str, str], root: Path = ROOT) -> str:
    """The tag of the images: `IMAGE_TAG`, else the project's version and a digest of the images' sources.

    The same content has the same tag, so a node need not pull it again.
    """
    given = environ.get("IMAGE_TAG")
    if given:
        return given
    digest = hashlib.sha256()
    for file in _sources(root):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    version = re.search(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    return f"{version[1] if version else '0'}-{digest.hexdigest()[:10]}"


def _sources(root: Path) -> Iterator[Path]:
    """The Containerfile, and the files that it copies."""
    file = root / "Containerfile"
    yield file
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", file.read_text(), re.MULTILINE):
        for source in line.split():
            found = (root / source).rglob("*") if (root / source).is_dir() else root.glob(source)
            yield from sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
