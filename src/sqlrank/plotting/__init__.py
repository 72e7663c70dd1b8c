"""Figures, for `pip install 'sqlrank[plot]'`. Every function draws into `ax` (a new one when None) and returns it.

ax = sqlrank.plotting.learning_curve(model)
ax.figure.savefig("learning.png")
"""

from sqlrank.plotting.canvas import new_figure, save
from sqlrank.plotting.data import activity, popularity_of_data
from sqlrank.plotting.lists import k_sweep, metric_by_history, popularity_curve
from sqlrank.plotting.training import learning_curve, metric_against_time

__all__ = [
    "activity",
    "k_sweep",
    "learning_curve",
    "metric_against_time",
    "metric_by_history",
    "new_figure",
    "popularity_curve",
    "popularity_of_data",
    "save",
]
