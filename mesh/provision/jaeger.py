"""Jaeger, built or fetched once per version for all checkouts of this user.

Its Go module carries no pages. The official release has them, and is fetched only when it is asked for: it is at an
address of its own, and everything else comes from package registries.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from provision import golang
from provision.errors import SetupError
from provision.paths import BIN, ROOT, cache
from provision.shared import link_to_shared
from provision.step import say

MODULE = ROOT / "observability" / "jaeger" / "build"
DEPENDENCY = "github.com/jaegertracing/jaeger"
COMMAND = f"{DEPENDENCY}/cmd/jaeger"
HINT = "5 min on 2 cores, once; later checkouts find it in the cache"

RELEASES = "https://github.com/jaegertracing/jaeger/releases/download"
"""Where the releases are; `JAEGER_RELEASES` names another place with the same folders and files."""
TAG, VERSION = "v1.76.0", "2.13.0"
"""The release of the module's version, and the version of Jaeger 2 in it."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SILENCE_S, LIMIT_S = 20.0, 900.0
"""How long a server may send nothing, and how long a file may take."""
CHUNK = 1 << 20
ADVICE = (
    "Everything but Jaeger's own pages works without it: make trace prints trees and budgets, and Jaeger's port shows "
    "them as waterfalls. Check the network and its proxy (HTTPS_PROXY); JAEGER_RELEASES names another place of the "
    "releases, JAEGER_BIN a Jaeger that you have, and JAEGER_UI the folder of a UI that you have built."
)


def build() -> None:
    """Puts `.tools/bin/jaeger` in place: the official one if it was fetched, else one that is built once.

    Raises:
        SetupError: A module cannot be fetched or does not compile.
    """
    official = released()
    program = official if official is not None and official.is_file() else cached()
    link_to_shared(BIN / "jaeger", program, lambda program: golang.build("Jaeger", MODULE, COMMAND, program, HINT))


def fetch_release() -> None:
    """Puts the official `.tools/bin/jaeger` in place, and fetches it if the shared cache does not have it.

    Raises:
        SetupError: There is none for this machine, the server does not answer, or it gives other bytes than the
            release's own checksums say.
    """
    program = released()
    if program is None:
        known = ", ".join(ARCHITECTURES)
        raise SetupError(f"Jaeger is released for Linux on {known}, and this is {platform.machine()}.\n{ADVICE}")
    link_to_shared(BIN / "jaeger", program, _fetch)
    say(f"Jaeger {VERSION} with its pages is in place; make trace and make up use it.")


def cached() -> Path:
    """Path of this version's program in the cache, where it is built."""
    return golang.cached("jaeger", MODULE, DEPENDENCY)


def released() -> Path | None:
    """Path of this version's official program in the cache; None if there is none for this machine."""
    architecture = ARCHITECTURES.get(platform.machine())
    return cache() / f"jaeger-release-{VERSION}-{architecture}" / "jaeger" if architecture else None


def _fetch(program: Path) -> None:
    given = os.environ.get("JAEGER_RELEASES") or RELEASES
    if not given.startswith(("https://", "http://")):
        raise SetupError(f"JAEGER_RELEASES={given} is no address: it must begin with https:// or http://.")
    base = f"{given.rstrip('/')}/{TAG}"
    name = f"jaeger-{VERSION}-linux-{ARCHITECTURES[platform.machine()]}"
    say(f"Fetching Jaeger {VERSION} from {base} (about 50 MB, once) …")
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        archive, checksums, new = (Path(scratch, file) for file in (f"{name}.tar.gz", "checksums", "jaeger"))
        _download(f"{base}/jaeger-{VERSION}.sha256sum.txt", checksums)
        _download(f"{base}/{archive.name}", archive)
        _check(archive, checksums.read_text(errors="replace"))
        try:
            with tarfile.open(archive) as files:
                inside = files.extractfile(f"{name}/jaeger")
                if inside is None:
                    raise KeyError(name)
                with new.open("wb") as out:
                    shutil.copyfileobj(inside, out)
        except (tarfile.TarError, KeyError) as error:
            raise SetupError(f"Fetching Jaeger: {archive.name} has no program {name}/jaeger: {error}") from error
        new.chmod(0o755)
        new.replace(program)


def _check(archive: Path, checksums: str) -> None:
    """Compares an archive with the line of the release's checksum file that has its name."""
    lines = (line.split() for line in checksums.splitlines())
    expected = {line[1].removeprefix("*"): line[0].lower() for line in lines if len(line) == 2}.get(archive.name)
    if expected is None:
        raise SetupError(f"Fetching Jaeger: the release's checksums have no line for {archive.name}.\n{ADVICE}")
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise SetupError(
            f"Fetching Jaeger: {archive.name} has the SHA-256 {digest}, and the release's checksums say {expected}: "
            f"it was refused, and nothing was installed.\n{ADVICE}"
        )


def _download(url: str, into: Path) -> None:
    until = time.monotonic() + LIMIT_S
    try:
        # The address is the project's own, or the user's.
        with urllib.request.urlopen(url, timeout=SILENCE_S) as answer, into.open("wb") as out:  # noqa: S310
            while chunk := answer.read1(CHUNK):
                out.write(chunk)
                if time.monotonic() > until:
                    raise SetupError(f"Fetching Jaeger: {url} took longer than {LIMIT_S:.0f} s.\n{ADVICE}")
            if answer.length:
                raise SetupError(f"Fetching Jaeger: {url} ended {answer.length:,} bytes early.\n{ADVICE}")
    except (http.client.HTTPException, ValueError) as error:
        raise SetupError(f"Fetching Jaeger: {url} cannot be read: {error}\n{ADVICE}") from error
    except urllib.error.HTTPError as error:
        raise SetupError(f"Fetching Jaeger: {url} answered {error.code} {error.reason}.\n{ADVICE}") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise SetupError(f"Fetching Jaeger: {url} does not answer: {reason}\n{ADVICE}") from error
