"""The templates of the page; values are escaped unless they are markup."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = Path(__file__).with_name("page")
_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.do"],
)


def render(template: str, **values: object) -> Markup:
    """Fills a template."""
    return Markup(_TEMPLATES.get_template(template).render(**values))  # noqa: S704  autoescape is on


def source(name: str) -> Markup:
    """Reads a file next to the templates, unchanged: the style sheet, the script."""
    return Markup((FOLDER / name).read_text(encoding="utf-8"))  # noqa: S704  a file of this package
