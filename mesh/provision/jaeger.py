"""Jaeger, fetched or compiled once per version for all checkouts of this user.

The official release has Jaeger's UI. Jaeger's Go module, compiled where the release is not available, has no UI.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from provision import golang
from provision.errors import SetupError, StepError
from provision.paths import BIN, ROOT, cache
from provision.shared import link_to_shared
from provision.step import Step, run, say

RELEASES = "https://github.com/jaegertracing/jaeger/releases/download"
"""URL of the releases; `JAEGER_RELEASES` names a mirror with the same folders and files."""
VERSION = "2.20.0"
SHA256 = "c967368ba09be356089ef7e8aab2a76d170dc007ff6ccf7925c8167ede2900d7"
"""Digest of the release's archive for Linux on x86-64."""
MACHINE = ("Linux", "x86_64")
"""System and processor that the pinned release is for; elsewhere Jaeger is compiled."""
CHOICES = ("release", "build")
"""Values of `JAEGER`: `release` fetches the release or fails, `build` compiles Jaeger. Without a value, Jaeger is
compiled if the release cannot be fetched."""

MODULE = ROOT / "observability" / "jaeger" / "build"
LEFT_OUT = MODULE / "elasticsearch"
"""A small module that replaces Elasticsearch's client: nothing here uses it, and compiling it takes 216 s of CPU."""
DEPENDENCY = "github.com/jaegertracing/jaeger"
COMMAND = f"{DEPENDENCY}/cmd/jaeger"
BUILT_VERSION = "2.13.0"
"""Jaeger's version in v1.76.0 of the Go module, which is the module's last version."""
HINT = "3 min on 2 cores, once; later checkouts find it in the cache"
CONFIG = ROOT / "observability" / "jaeger" / "config.yaml"

CONNECT_S, SILENCE_S, LIMIT_S = 5.0, 20.0, 900.0
"""Time limits for the server's answer, for a pause during the download, and for the whole download, in seconds."""
START_LIMIT_S = 60.0
ADVICE = (
    "Check the network and its proxy (HTTPS_PROXY). JAEGER_RELEASES names a mirror of the releases, JAEGER_BIN a "
    "Jaeger that you have, and JAEGER=build compiles Jaeger."
)


def install() -> None:
    """Puts `.tools/bin/jaeger` in place: the official release, else a compiled Jaeger. Reports which one, and why.

    Raises:
        SetupError: `JAEGER` or `JAEGER_RELEASES` is malformed, the release for `JAEGER=release` is not available, or
            Jaeger does not compile.
    """
    choice, base = os.environ.get("JAEGER", ""), os.environ.get("JAEGER_RELEASES") or RELEASES
    if choice and choice not in CHOICES:
        raise SetupError(f"JAEGER={choice} is unknown; valid: {', '.join(CHOICES)}, or no value.")
    if not base.startswith(("https://", "http://")):
        raise SetupError(f"JAEGER_RELEASES={base} must begin with https:// or http://.")
    reason = _reason_to_build(choice)
    if not reason:
        try:
            link_to_shared(BIN / "jaeger", release_path(), lambda program: _fetch(program, base))
        except SetupError as error:
            reason = str(error)
        else:
            say(f"Jaeger {VERSION}: installed the official release, with its UI; its SHA-256 is the pinned one.")
            return
    if choice == "release":
        raise SetupError(f"Jaeger {VERSION}: {reason}.\n{ADVICE}")
    say(f"Jaeger {BUILT_VERSION}: compiled here, without a UI, because {reason}.")
    link_to_shared(BIN / "jaeger", cache_path(), lambda program: golang.build("Jaeger", MODULE, COMMAND, program, HINT))


def cache_path() -> Path:
    """Path of the compiled program in the cache."""
    own = b"".join(path.read_bytes() for path in sorted(LEFT_OUT.rglob("*.go")))
    return golang.cache_path("jaeger", MODULE, DEPENDENCY, own)


def release_path() -> Path:
    """Path of the release's program in the cache."""
    return cache() / f"jaeger-release-{VERSION}-amd64" / "jaeger"


def _reason_to_build(choice: str) -> str:
    """Why no release is fetched; empty if a release is fetched."""
    machine = (platform.system(), platform.machine())
    if choice == "build":
        return "JAEGER=build says so"
    if machine != MACHINE:
        return f"the pinned release is for {' on '.join(MACHINE)}, and this is {' on '.join(machine)}"
    return "CI=true" if os.environ.get("CI") == "true" and not choice else ""


def _fetch(program: Path, base: str) -> None:
    """Fetches the release. Errors are single lines: a SetupError is also the reason for compiling Jaeger."""
    name = f"jaeger-{VERSION}-linux-amd64"
    url = f"{base.rstrip('/')}/v{VERSION}/{name}.tar.gz"
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        archive, new = Path(scratch, "archive"), Path(scratch, "jaeger")
        script = str(Path(__file__).with_name("download.py"))
        fetching = Step(
            title=f"Jaeger: fetching the release {VERSION}",
            hint="58 MB, once",
            argv=[sys.executable, "-P", script, url, str(archive)],
            advice="",
            limit_s=LIMIT_S,
            silence_s=SILENCE_S,
            answer_s=CONNECT_S,
        )
        try:
            run(fetching)
        except StepError as error:
            raise SetupError(f"{urlsplit(url).netloc}: {error.cause}") from error
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != SHA256:
            raise SetupError(f"{url} has the SHA-256 {digest}, not the pinned {SHA256}, and was discarded")
        with tarfile.open(archive) as files, new.open("wb") as out:
            inside = files.extractfile(f"{name}/jaeger")
            assert inside is not None
            shutil.copyfileobj(inside, out)
        new.chmod(0o755)
        _start(new)
        new.replace(program)


def _start(program: Path) -> None:
    """Makes a Jaeger program read the project's configuration, as it does when it starts."""
    examples = {"HOST": "127.0.0.1", "PORT": "1"}
    names = re.findall(r"\$\{env:(\w+)\}", CONFIG.read_text())
    addresses = {name: examples.get(name.rpartition("_")[2], "127.0.0.1:1") for name in names}
    argv = [str(program), "validate", f"--config=file:{CONFIG}"]
    try:
        run(Step("Jaeger: starting the release", "", argv, "", env=addresses, limit_s=START_LIMIT_S, quiet=True))
    except StepError as error:
        raise SetupError(f"the release {VERSION} does not start here: {error.cause}") from error
