"""Figures draw what they are given into the axes they are given."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sqlrank
from sqlrank import plotting

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def parts():
    data = sqlrank.datasets.make_events(150, 60, seed=0).train
    rest, test = sqlrank.split.by_time(data, 0.2)
    train, validation = sqlrank.split.by_time(rest, 0.1)
    models = {
        f"rank {r}": sqlrank.SQLRank(rank=r, epochs=8).fit(train, validation=validation) for r in (2, 8)
    }
    return train, test, models


def test_axes_are_used_and_returned(parts):
    train, test, models = parts
    figure = plotting.new_figure(7)
    first = next(iter(models.values()))
    results = {name: sqlrank.evaluate(model, test) for name, model in models.items()}
    drawn = [
        plotting.learning_curve(first, ax=figure.axes[0]),
        plotting.metric_against_time(models, ax=figure.axes[1]),
        plotting.popularity_curve(models, ax=figure.axes[2]),
        plotting.metric_by_history(results, train, ax=figure.axes[3]),
        plotting.k_sweep(models, test, cuts=(1, 5, 10), ax=figure.axes[4]),
        plotting.popularity_of_data(train, ax=figure.axes[5]),
        plotting.activity(train, ax=figure.axes[6]),
    ]
    assert drawn == figure.axes
    for ax in drawn:
        assert ax.get_title(loc="left") and ax.get_xlabel() and ax.get_ylabel()


def test_the_learning_curve_shows_the_history(parts):
    model = next(iter(parts[2].values()))
    line = plotting.learning_curve(model).lines[0]
    assert np.array_equal(line.get_ydata(), model.history["ndcg@10"].to_numpy())


def test_recommendations_leave_out_what_was_seen(parts):
    models = parts[2]
    curve = plotting.popularity_curve(dict([next(iter(models.items()))])).lines[0].get_ydata()
    assert curve[-1] == pytest.approx(1.0) and np.all(np.diff(curve) >= 0)


def test_lines_differ_by_more_than_their_colour():
    from sqlrank.plotting.canvas import STYLES

    assert len({str(style["linestyle"]) for style in STYLES}) == len(STYLES)
    assert len({style["marker"] for style in STYLES}) == len(STYLES)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(sqlrank.ConfigError, match=r"sqlrank\[plot\]"):
        plotting.new_figure()


def test_a_figure_of_an_unknown_kind_is_refused(tmp_path: Path, parts):
    figure = plotting.activity(parts[0]).figure
    with pytest.raises(sqlrank.ConfigError, match=r"\.png"):
        plotting.save(figure, tmp_path / "figure.xyz")


def test_a_model_without_history_is_refused(parts, tmp_path):
    model = next(iter(parts[2].values()))
    loaded = sqlrank.load(model.save(tmp_path / "m"))
    with pytest.raises(sqlrank.ConfigError, match="history"):
        plotting.learning_curve(loaded)
