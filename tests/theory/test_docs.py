"""The code in docs/theory.md runs, in one namespace from top to bottom; sqlrank.theory costs nothing until used."""

import re
import subprocess
import sys
from pathlib import Path

import sqlrank

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def test_code_in_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_every_test_that_the_page_names_is_there():
    page = PAGE.read_text(encoding="utf-8")
    there = {
        name
        for path in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert set(re.findall(r"`(test_\w+)`", page)) <= there
    rows = re.findall(r"^\| .* \|$", page[page.index("## What we found") :], re.MULTILINE)
    assert len(rows) >= 14
    assert all("`test_" in row or "(rates.md)" in row for row in rows[1:])


def test_docstring_examples():
    import doctest

    from sqlrank.theory import nuclear, plackett_luce, risk

    for module in (nuclear, plackett_luce, risk):
        result = doctest.testmod(module)
        assert result.attempted > 0 and result.failed == 0


def test_theory_is_an_attribute_that_is_imported_when_asked_for():
    assert sqlrank.theory.PlackettLuce([0.0]).n_items == 1
    code = "import sqlrank, sys; assert 'sqlrank.theory' not in sys.modules; sqlrank.theory.PlackettLuce"
    subprocess.run([sys.executable, "-c", code], check=True)
