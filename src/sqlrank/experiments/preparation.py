"""From a task to the events that train and the events that test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Protocol

import numpy as np

from sqlrank.data import splits
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.datasets.folders import locate
from sqlrank.data.datasets.generators import make_ratings
from sqlrank.data.datasets.registry import find, load
from sqlrank.data.interactions import Interactions
from sqlrank.errors import DataError
from sqlrank.experiments.definition import Experiment, Task, Tuning

__all__ = ["MadeUp", "OnDisk", "Source", "cut", "miniature", "splits_of_the_paper"]

Parts = tuple[Interactions, Interactions]


class Source(Protocol):
    """Where the data sets come from."""

    def layout(self, task: Task) -> str:
        """In which form the data set is there; DataError with the reason where it is not."""

    def load(self, task: Task) -> Dataset:
        """The data set."""


class OnDisk:
    """The named data sets, from a folder."""

    def __init__(self, data_dir: str | PathLike[str] | None) -> None:
        self._data_dir = data_dir

    def layout(self, task: Task) -> str:
        """The layout of its files, as `sqlrank.datasets` names it."""
        return locate(find(task.dataset), self._data_dir)[1].what

    def load(self, task: Task) -> Dataset:
        """Read it."""
        return load(task.dataset, self._data_dir)


class MadeUp:
    """Small artificial data in the place of every data set: for trying the whole machinery in seconds."""

    def layout(self, task: Task) -> str:
        """Always there."""
        return "made up"

    def load(self, task: Task) -> Dataset:
        """Stars of 120 people for 60 things."""
        return make_ratings(120, 60, events_per_user=30, rank=4, seed=1)


def cut(dataset: Dataset, task: Task, seed: int) -> Parts:
    """The task's training and test events; whatever is drawn is drawn by the seed."""
    if task.n_train is None:
        if dataset.test is None:
            raise DataError(f"{task.dataset} has no test part: the task {task.name} needs n_train")
        return dataset.train, dataset.test
    events = dataset.train
    if task.min_rows:
        events = _of_active_users(dataset, task)
    if task.min_value is not None:
        events = events.binarize(task.min_value)
    with splits_of_the_paper():
        return splits.per_user(events, task.n_train, seed=seed, min_events=max(task.min_events, 1))


@contextmanager
def splits_of_the_paper() -> Iterator[None]:
    """The paper draws its splits at random, and so do we: no warning where timestamps are passed over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", splits.LeakageWarning)
        yield


def _of_active_users(dataset: Dataset, task: Task) -> Interactions:
    """Only users with `min_rows` rows in the files, where an item may stand more than once."""
    if dataset.users is None or "rows" not in dataset.users.columns:
        raise DataError(f"{task.dataset} does not tell how many rows its users had (min_rows)")
    rows = dict(zip(dataset.users["user"], dataset.users["rows"], strict=True))
    enough = np.array([rows.get(user, 0) >= task.min_rows for user in dataset.train.users.ids], np.bool_)
    return dataset.train.take(np.repeat(enough, np.diff(dataset.train.indptr)))


def miniature(experiment: Experiment) -> Experiment:
    """The same experiment on made-up data, with few seeds, epochs and trials: minutes become seconds."""
    rows = []
    for row in experiment.rows:
        task = replace(row.task, n_train=10, min_events=20, min_rows=0, paper_users=None, stand_in=None)
        rows.append(replace(row, task=task, settings={**row.settings, **_smaller(row.model)}))
    tuning = None if experiment.tuning is None else Tuning(trials=2)
    return replace(experiment, rows=tuple(rows), seeds=2, tuning=tuning)


def _smaller(model: str) -> dict[str, int]:
    from sqlrank.models.names import model_class

    known = model_class(model).settings_class.rules()
    return {name: value for name, value in {"rank": 4, "epochs": 3}.items() if name in known}
