"""Makes the Python stubs of the contract, or checks that they are up to date.

protoc names modules after the proto's path (`shop/product/v1`), which would fall into the packages of the
services themselves; so the stubs are put under `shop.stubs` and their imports are pointed there.

    python proto/generate.py           write services/shop/stubs
    python proto/generate.py --check   exit 1 and list the stale files, write nothing
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
STUBS = PROTO.parent / "services" / "shop" / "stubs"
HEADER = '"""Generated from proto/ by `make stubs`; never edited by hand."""\n'
IMPORT = re.compile(r"\bshop\.((?:product|order|user|payment|type)\.v1)")
DESCRIPTOR = re.compile(r"AddSerializedFile|_serialized_|DESCRIPTOR\b")


def generate(into: Path) -> None:
    """Writes the stubs of every proto file below `into`.

    Raises:
        RuntimeError: protoc refused a file; it has printed why.
    """
    protos = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("shop/**/*.proto"))
    grpc_include = str(Path(protoc.__file__).parent / "_proto")
    with tempfile.TemporaryDirectory() as scratch:
        arguments = [f"-I{PROTO}", f"-I{grpc_include}", f"--python_out={scratch}", f"--grpc_python_out={scratch}"]
        arguments += [f"--mypy_out=quiet:{scratch}", f"--mypy_grpc_out=quiet:{scratch}"]
        if protoc.main(["protoc", *arguments, *protos]) != 0:
            raise RuntimeError("protoc failed; its message is above")
        for made in sorted(Path(scratch, "shop").rglob("*.py*")):
            target = into / made.relative_to(Path(scratch, "shop"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(_redirect(line) for line in made.read_text().splitlines(keepends=True)))
    for package in [into, *(path for path in into.rglob("*") if path.is_dir())]:
        package.joinpath("__init__.py").write_text(HEADER)
    modules = sorted(path for path in into.rglob("*_pb2*.py"))
    names = [(".".join(path.relative_to(into).parts[:-1]), path.stem) for path in modules]
    names = [(package, name) for package, name in names if not (package.startswith("type") and "grpc" in name)]
    lines = [f"from shop.stubs.{package} import {name} as {name}\n" for package, name in names]
    into.joinpath("__init__.py").write_text(HEADER + "\n" + "".join(lines))


def _redirect(line: str) -> str:
    """Points module references at shop.stubs, leaving descriptors and full RPC names as they are."""
    if DESCRIPTOR.search(line) or "'/shop." in line or "'shop." in line or '"shop.' in line:
        return line
    return IMPORT.sub(r"shop.stubs.\1", line)


def stale(made: Path, stored: Path) -> list[str]:
    """Lists the files that differ between two folders of stubs, or stand in one of them only."""

    def files(folder: Path) -> set[str]:
        kept = (path for path in folder.rglob("*.py*") if "__pycache__" not in path.parts)
        return {str(path.relative_to(folder)) for path in kept}

    both = files(made) & files(stored)
    different = {name for name in both if not filecmp.cmp(made / name, stored / name, shallow=False)}
    return sorted(different | (files(made) ^ files(stored)))


def main() -> int:
    """Runs the command line; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the stubs are up to date")
    check: bool = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "stubs")
        made.mkdir()
        generate(made)
        if check:
            names = stale(made, STUBS)
            for name in names:
                print(f"stale: services/shop/stubs/{name}", file=sys.stderr)
            if names:
                print("the stubs do not match proto/: run `make stubs` and commit the result", file=sys.stderr)
            return 1 if names else 0
        shutil.rmtree(STUBS, ignore_errors=True)
        shutil.copytree(made, STUBS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
