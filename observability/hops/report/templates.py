"""The templates of the page; values are escaped unless they are markup."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = Path(__file__).with_name("page")
_BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


def _keep_percent(value: object) -> object:
    """Keeps a percent sign on the line of its figure."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}", value)
    return value


_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_keep_percent,
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
