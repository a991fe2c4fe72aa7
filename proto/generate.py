"""Generates everything that is derived from the contract, or checks that it is up to date.

protoc names modules after the proto's path (`shop/product/v1`), which would fall into the packages of the services
themselves. So the stubs are put under `shop.stubs` and their imports rewritten. The Go stubs, which the load generator
and the services in Go share, are a separate module, made with the plugins that the load generator's module pins. The
GraphQL gateway in Go is generated from the schema of the gateway in Python, by gqlgen, which its module pins. Envoy's
gRPC-JSON transcoder reads the contract as a descriptor whose methods have the REST rules of
gateway/envoy/transcoding.yaml.

Thrift's stubs, from the file in thrift/, are made if Apache Thrift's compiler of the pinned version is on PATH.
Otherwise they stay as they are. `converters` writes the functions that convert between messages and the shop's values.

    python proto/generate.py           write services/shop/stubs, the Go stubs and gateway/envoy/transcoder
    python proto/generate.py --check   exit 1 and list the stale files, write nothing

GO names the go command; by default the one on PATH.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import converters
import yaml
from google.api import annotations_pb2
from google.api.http_pb2 import HttpRule
from google.protobuf import duration_pb2
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2
from grpc_tools import protoc

from graphql_gateway.schema import build_schema

PROTO = Path(__file__).resolve().parent
ROOT = PROTO.parent
PYTHON_STUBS = ROOT / "services" / "shop" / "stubs"
GO_STUBS = PROTO / "go" / "stubs"
GO_PACKAGE = "hopwise/proto/stubs"
GO_TOOLS = ROOT / "load"
"""The Go module that pins protoc's plugins."""
THRIFT_GO_STUBS = GO_TOOLS / "internal" / "stubs" / "shopthrift"
SERVICES_GO = ROOT / "services" / "go"
GRAPHQL_STUBS = SERVICES_GO / "internal" / "stubs" / "schema"
TRANSCODER_RULES = ROOT / "gateway" / "envoy" / "transcoding.yaml"
TRANSCODER = ROOT / "gateway" / "envoy" / "transcoder"
GO_PLUGINS = ("protoc-gen-go", "protoc-gen-go-grpc")
ERROR_DETAILS = (duration_pb2, error_details_pb2)
"""Messages with details of the services' errors: without them the transcoder would drop the body of such an error."""
THRIFT = PROTO / "thrift" / "shop.thrift"
THRIFT_VERSION = "Thrift version 0.17.0"
"""Version output of Apache Thrift's compiler; Debian 12 has it as `thrift-compiler`; PyPI and Go's proxy lack it."""
THRIFT_PYTHON = "thrift"
"""Folder of Thrift's stubs below the Python stubs."""
BUILD_LIMIT_S = 600
HEADER = '"""Generated from proto/ by `make stubs`; never edited by hand."""\n'
LAZY = """
import importlib

{imports}
_GRPC = {{
{lazy}}}


def __getattr__(name):
    # Programs that call nothing over gRPC do not load it.
    if name not in _GRPC:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    return importlib.import_module(_GRPC[name])
"""
IMPORT = re.compile(r"\bshop\.((?:product|order|user|payment|notification|type)\.v1)")
DESCRIPTOR = re.compile(r"AddSerializedFile|_serialized_|DESCRIPTOR\b")


def generate_python(into: Path) -> None:
    """Writes the Python stubs of every proto file below `into`.

    Raises:
        RuntimeError: `protoc` refused a file; it has printed why.
    """
    with tempfile.TemporaryDirectory() as scratch:
        _protoc(
            f"--python_out={scratch}",
            f"--grpc_python_out={scratch}",
            f"--mypy_out=quiet:{scratch}",
            f"--mypy_grpc_out=quiet:{scratch}",
        )
        for made in sorted(Path(scratch, "shop").rglob("*.py*")):
            target = into / made.relative_to(Path(scratch, "shop"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(_redirect(line) for line in made.read_text().splitlines(keepends=True)))
    for package in [into, *(path for path in into.rglob("*") if path.is_dir())]:
        package.joinpath("__init__.py").write_text(HEADER)
    modules = sorted(path for path in into.rglob("*_pb2*.py"))
    names = [(".".join(path.relative_to(into).parts[:-1]), path.stem) for path in modules]
    lines = [f"from shop.stubs.{package} import {name} as {name}\n" for package, name in names if "grpc" not in name]
    lazy = "".join(f'    "{name}": "shop.stubs.{package}.{name}",\n' for package, name in names if "grpc" in name)
    text = LAZY.format(imports="".join(lines), lazy=lazy)
    into.joinpath("__init__.py").write_text(HEADER + text)
    _thrift("py:slots", Path("shop", "stubs", THRIFT_PYTHON), into / THRIFT_PYTHON, PYTHON_STUBS / THRIFT_PYTHON)
    in_thrift = re.findall(r"^  \w+ (\w+)\(1:", THRIFT.read_text(), re.MULTILINE)
    converters.write(into / "converters", _services(), in_thrift, HEADER)


def _services() -> dict[str, ServiceDescriptor]:
    """Returns the descriptors of the contract's services by their short names."""
    with tempfile.TemporaryDirectory() as scratch:
        _protoc(f"--descriptor_set_out={scratch}/contract.pb", "--include_imports")
        files = FileDescriptorSet.FromString(Path(scratch, "contract.pb").read_bytes()).file
    pool = DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    names = {file.package.split(".")[1]: f"{file.package}.{one.name}" for file in files for one in file.service}
    return {short: pool.FindServiceByName(name) for short, name in names.items()}


def generate_go(into: Path) -> None:
    """Writes Go stubs of every proto file below `into`: `shop/order/v1` becomes the package `orderv1`.

    Raises:
        RuntimeError: There is no go command, a plugin cannot be built, or protoc refused a file.
    """
    arguments = [f"--plugin={name}={_go_plugin(name)}" for name in GO_PLUGINS]
    for plugin in ("go", "go-grpc"):
        arguments += [f"--{plugin}_out={into}", f"--{plugin}_opt=module={GO_PACKAGE}"]
        for name in _protos():
            _, area, version, _ = name.split("/")
            arguments.append(f"--{plugin}_opt=M{name}={GO_PACKAGE}/{area}{version};{area}{version}")
    _protoc(*arguments)


def generate_go_thrift(into: Path) -> None:
    """Writes the load generator's stubs of Thrift below `into`; raises the errors of `generate_go`."""
    _thrift("go:skip_remote", Path(THRIFT_GO_STUBS.name), into, THRIFT_GO_STUBS)
    gofmt = Path(_go("env", "GOROOT"), "bin", "gofmt")
    subprocess.run([gofmt, "-w", into], check=True, timeout=BUILD_LIMIT_S)  # noqa: S603 - Go's own


def generate_go_graphql(into: Path) -> None:
    """Writes the generated code of the GraphQL gateway in Go below `into`; raises the errors of `generate_go`."""
    with tempfile.TemporaryDirectory() as scratch:
        # gqlgen writes below the module that it reads.
        module = Path(scratch) / SERVICES_GO.relative_to(ROOT)
        shutil.copytree(SERVICES_GO, module, ignore=shutil.ignore_patterns("stubs"))
        (Path(scratch) / PROTO.name).symlink_to(PROTO)
        (module / "schema.graphql").write_text(build_schema(updates=False).as_str())
        _go("tool", "gqlgen", "generate", module=module)
        shutil.copytree(module / GRAPHQL_STUBS.relative_to(SERVICES_GO), into, dirs_exist_ok=True)


def generate_transcoder(into: Path) -> None:
    """Writes `shop.pb` below `into`: the contract as a descriptor set, with its REST rules and error details.

    Raises:
        RuntimeError: `protoc` refused a file, or a rule names a method that does not exist.
    """
    rules: dict[str, dict[str, str]] = yaml.safe_load(TRANSCODER_RULES.read_text())
    plain = into / "plain.pb"
    _protoc(f"--descriptor_set_out={plain}", "--include_imports")
    described = FileDescriptorSet.FromString(plain.read_bytes())
    plain.unlink()
    for file in described.file:
        for service in file.service:
            for method in service.method:
                rule = rules.pop(f"{file.package}.{service.name}.{method.name}", None)
                if rule is not None:
                    method.options.Extensions[annotations_pb2.http].CopyFrom(HttpRule(**rule))
    known = {file.name for file in described.file}
    for module in ERROR_DETAILS:
        if module.DESCRIPTOR.name not in known:
            module.DESCRIPTOR.CopyToProto(described.file.add())
    if rules:
        raise RuntimeError(f"{TRANSCODER_RULES.name} has rules for methods that are not there: {', '.join(rules)}")
    (into / "shop.pb").write_bytes(described.SerializeToString(deterministic=True))


def _protos() -> list[str]:
    return sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("shop/**/*.proto"))


def _protoc(*arguments: str) -> None:
    """Runs protoc on the contract."""
    grpc_include = str(Path(protoc.__file__).parent / "_proto")
    if protoc.main(["protoc", f"-I{PROTO}", f"-I{grpc_include}", *arguments, *_protos()]) != 0:
        raise RuntimeError("protoc failed; its message is above")


def _thrift(language: str, made: Path, into: Path, stored: Path) -> None:
    """Puts Thrift's stubs of one language at `into`: new ones, or the stored ones if there is no compiler.

    Args:
        language: The compiler's name of the language, with its options.
        made: Folder of the compiler's stubs, below its output folder.
        into: Their folder.
        stored: Folder of the stubs in the checkout.

    Raises:
        RuntimeError: The compiler refused the file.
    """
    compiler = shutil.which("thrift")
    with tempfile.TemporaryDirectory() as scratch:
        if compiler is None or _output([compiler, "--version"]) != THRIFT_VERSION:
            print(f"Thrift's stubs stay as they are: the compiler ({THRIFT_VERSION}) is not on PATH", file=sys.stderr)
        else:
            _output([compiler, "-strict", "--gen", language, "-out", scratch, str(THRIFT)])
            stored = Path(scratch) / made
        shutil.copytree(stored, into, ignore=shutil.ignore_patterns("__pycache__", "*-remote"), dirs_exist_ok=True)


def _go_plugin(name: str) -> str:
    """Returns the path of one of the Go module's tools, which is built if necessary."""
    return _go("tool", "-n", name)


def _go(*arguments: str, module: Path = GO_TOOLS) -> str:
    go = os.environ.get("GO") or "go"
    try:
        return _output([go, *arguments], module)
    except FileNotFoundError as error:
        raise RuntimeError(f"the Go stubs need the go command; {go!r} is not there: run `make setup`") from error


def _output(command: Sequence[str], module: Path = GO_TOOLS) -> str:
    """Returns the output of a command that runs in the folder of a Go module.

    Raises:
        RuntimeError: It failed.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - the pinned tools of this project's module
            command, cwd=module, capture_output=True, text=True, check=True, timeout=BUILD_LIMIT_S
        )
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{' '.join(command)} failed: {error.stderr.strip()}") from error
    return answer.stdout.strip()


def _redirect(line: str) -> str:
    """Points module references at shop.stubs, leaving descriptors and full RPC names as they are."""
    if DESCRIPTOR.search(line) or "'/shop." in line or "'shop." in line or '"shop.' in line:
        return line
    return IMPORT.sub(r"shop.stubs.\1", line)


def stale(made: Path, stored: Path) -> list[str]:
    """Lists the files that differ between two folders of stubs, or that only one of them has."""

    def files(folder: Path) -> set[str]:
        kept = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path.relative_to(folder)) for path in kept}

    both = files(made) & files(stored)
    different = {name for name in both if not filecmp.cmp(made / name, stored / name, shallow=False)}
    return sorted(different | (files(made) ^ files(stored)))


MADE = (
    (PYTHON_STUBS, generate_python),
    (GO_STUBS, generate_go),
    (THRIFT_GO_STUBS, generate_go_thrift),
    (GRAPHQL_STUBS, generate_go_graphql),  # uses the stubs above
    (TRANSCODER, generate_transcoder),
)


def main() -> int:
    """Runs the command line; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the stubs are up to date")
    check: bool = parser.parse_args().check
    names: list[str] = []
    for stored, generate in MADE:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "stubs")
            made.mkdir()
            try:
                generate(made)
            except RuntimeError as error:
                print(f"stubs: {error}", file=sys.stderr)
                return 1
            if check:
                names += [f"{stored.relative_to(ROOT)}/{name}" for name in stale(made, stored)]
            else:
                shutil.rmtree(stored, ignore_errors=True)
                shutil.copytree(made, stored)
    for name in names:
        print(f"stale: {name}", file=sys.stderr)
    if names:
        print("the stubs do not match the contract: run `make stubs` and commit the result", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
