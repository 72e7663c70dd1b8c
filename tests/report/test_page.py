"""The page: whole, self-contained, and safe whatever the ids are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest

import sqlrank
from sqlrank.report import FitFacts, fit_report
from sqlrank.report.chart import line_chart, ticks
from sqlrank.report.fit_report import Example
from sqlrank.report.page import table


def facts(**changes):
    data = sqlrank.datasets.make_events(60, 30, seed=0).train
    plain = {"title": "T", "model": "SQLRank", "settings": {"rank": 4}, "data": data, "source": "s"}
    return FitFacts(**{**plain, "holdout": "nothing was held out", "seconds": 1.0, **changes})


def test_text_from_outside_is_escaped():
    evil = "<script>alert(1)</script>"
    page = fit_report(facts(title=evil, source=evil, command=evil, examples=[Example(evil, [evil], [evil])]))
    assert "<script" not in page and "&lt;script&gt;" in page


def test_nothing_is_loaded_from_elsewhere():
    page = fit_report(facts())
    assert not any(word in page for word in ("src=", "href=", "url(", "@import", "http://", "https://"))


def test_what_was_not_measured_is_said():
    assert "Not measured: nothing was held out" in fit_report(facts())


def test_the_chart_is_well_formed_and_marks_the_epoch():
    svg = line_chart([1, 2, 3], [0.1, 0.3, 0.2], "a < b", "epoch", 2, "kept: 2")
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == "a < b" and "kept: 2" in svg
    line = next(element for element in root if element.tag == "polyline")
    assert len(line.get("points", "").split()) == 3


def test_a_chart_needs_two_points():
    assert line_chart([1], [0.5], "t", "x") == ""


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7), (5, 5), (0, 0), (1e6, 1.1e6), (0.0123, 0.0124)])
def test_ticks_cover_the_range(low, high):
    marks = ticks(low, high)
    assert marks[0] <= low + 1e-12 and marks[-1] >= high - 1e-12 and len(marks) <= 8


def test_tables_mark_the_best_row():
    shown = table(pl.DataFrame({"name": ["a", "b"], "value": [1.0, None]}), best=[True, False])
    assert '<tr class="best"><td>a</td><td class="n">1.0000</td></tr>' in shown and "–" in shown
