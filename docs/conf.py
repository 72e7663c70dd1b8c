"""How the pages and the API reference are built: `python -m sphinx -W docs docs/_build`."""

import re
from importlib import metadata
from typing import Any

project = "sqlrank"
author = "the sqlrank developers"
release = metadata.version("sqlrank")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "myst_parser"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
default_role = "literal"
myst_heading_anchors = 3

html_theme = "furo"
html_title = "sqlrank"
html_show_copyright = False

COLUMN = re.compile(r"^(\w+(?:, \w+)*)  +(\S.*)$")


def columns_as_fields(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the docstrings' columns, `name   what it is` with continued lines indented, into parameter lists."""
    inside = False
    for place, line in enumerate(lines):
        column = COLUMN.match(line)
        if column:
            lines[place] = (
                f":{'param' if what in ('function', 'method') else 'ivar'} {column[1]}: {column[2]}"
            )
            inside = True
        elif inside and line.startswith(" "):
            lines[place] = f"    {line.strip()}"
        else:
            inside = False


def setup(app: Any) -> None:
    """Hook the columns in, before any other reader of docstrings."""
    app.connect("autodoc-process-docstring", columns_as_fields, priority=100)
