"""Every block of Python and of commands in README.md and docs/ runs, in the order in which it is read."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path

import pytest

from sqlrank.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_OURS = ("python3 -m venv", "pip install")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "__page__"}
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(text, str(page), "exec"), space)
        else:
            assert language == "sh", f"{page.name}: a block of {language} is not run"
            _run_commands(page, text)


def _run_commands(page: Path, text: str) -> None:
    for line in filter(None, (line.split(" #")[0].strip() for line in text.splitlines())):
        if line.startswith(NOT_OURS):
            continue
        words = shlex.split(line)
        assert words[0] == "sqlrank", f"{page.name}: {line}"
        assert main(words[1:]) == 0, f"{page.name}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
