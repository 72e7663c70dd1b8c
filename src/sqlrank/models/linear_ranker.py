"""Simple ranking from known features (the SQL-Rank paper, section 3), alone or beside factors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank._arrays import padded_rows
from sqlrank._threads import resolve_threads
from sqlrank.data import Interactions, Vocabulary
from sqlrank.errors import DataError
from sqlrank.losses import ListLoss, PlackettLuce
from sqlrank.models.features import Features, read_features
from sqlrank.models.fitting import (
    all_or_nothing,
    check_trainable,
    checked_seed,
    planned_epochs,
    training_hooks,
)
from sqlrank.models.growth import MergedEvents
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings, learns_from_ratings
from sqlrank.models.stored import stored_array, stored_words
from sqlrank.settings import Search, setting
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun
from sqlrank.training.convex import Coefficients, LinearProblem
from sqlrank.training.steps import CurvatureSteps
from sqlrank.training.trainer import FixedColumns, make_engine


@dataclass(frozen=True)
class LinearRankerSettings(ListwiseSettings):
    """What the linear ranker learns with. `epochs`, `learning_rate` and so on concern the factors, where rank > 0."""

    rank: int = setting(0, "factors beside the features; 0 for features alone", int, low=0, high=65536)
    link: str = setting(
        "identity",
        "g in the weight exp g(x): with the identity the problem is convex",
        words=("identity", "sigmoid"),
    )
    feature_regularization: float = setting(
        1.0,
        "weight of the squared coefficients of the features",
        float,
        low=0,
        search=Search(0.01, 100.0, log=True),
    )
    iterations: int = setting(200, "L-BFGS iterations at most", int, low=1)
    draws: int = setting(
        4, "queues (orders of ties, negatives) that the likelihood is averaged over", int, low=1
    )


class LinearRanker(ListwiseModel):
    """Scores x_ij = β·z_ij of known features, with one β for all users, under the Plackett-Luce likelihood.

    z_ij are the item's features; with user features, also their products with every user feature, so that x_ij =
    a_i·W z_j with a_i = (1, user features) and β = vec W. What the user alone has does not change an order. The
    objective is convex in β::

        sum over users of  - log P(list | x)   +   lambda/2 |β|²

    With ``rank`` > 0 factors are trained on top, x_ij = β·z_ij + u_i·v_j, while β stays as it is: an item that nobody
    has rated has no factors and its score comes from its features. Without item features, the logarithm of an item's
    number of events is the one feature.

    >>> import sqlrank
    >>> rows = [(user, item, float(1 + item)) for user in range(30) for item in range(5)]
    >>> features = pl.DataFrame({"item": range(5), "size": [0.0, 0.1, 0.2, 0.3, 0.4]})
    >>> model = sqlrank.LinearRanker().fit(sqlrank.read(rows, verbose=False), item_features=features)
    >>> model.recommend(users=[0], n=2, exclude_seen=False)["item"].to_list()
    [4, 3]
    """

    settings_class: ClassVar[type[LinearRankerSettings]] = LinearRankerSettings
    settings: LinearRankerSettings

    _item_features: Features
    _user_features: Features
    _weights: Coefficients
    _given: bool = False  # whether the item features came from the caller

    def loss(self) -> ListLoss:
        """Return the list loss that is minimised."""
        return PlackettLuce(link=self.settings.link)

    @property
    def coefficients(self) -> pl.DataFrame:
        """Return β: a row per item feature, its effect for everybody, and a column per user feature."""
        if not self.is_fitted:
            raise self._not_fitted()
        names = ["everybody", *self._user_features.names]
        columns = {name: self._weights[row] for row, name in enumerate(names)}
        return pl.DataFrame({"feature": self._item_features.names, **columns})

    @all_or_nothing
    def fit(
        self,
        train: Interactions,
        *,
        validation: Interactions | None = None,
        item_features: Any = None,
        user_features: Any = None,
        seed: int = 0,
        threads: int | None = None,
        progress: bool | str | Callback = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Learn from `train` and the features of all its items (users): see :func:`read_features`."""
        check_trainable(train, validation)
        seed = checked_seed(seed)
        explicit = learns_from_ratings(self.settings.feedback, train)
        items = (
            _popularity(train.indices, train.n_items)
            if item_features is None
            else read_features(item_features, train.items, "item")
        )
        users = (
            _none(train.n_users)
            if user_features is None
            else read_features(user_features, train.users, "user")
        )
        _require_columns(items)
        self._given = item_features is not None
        self._item_features, self._user_features = items, users
        self._start_afresh(train, explicit)
        width = resolve_threads(threads)
        hooks = training_hooks(validation, progress, callbacks)
        settings = self.settings
        if settings.rank == 0:
            return self._fit_features(validation, settings.iterations, seed, width, hooks)
        self._solve_features(seed, width)
        first = self._first_rows(train.n_users, train.n_items, seed, width)
        return self._train(*first, self._steps(), settings.epochs, validation, seed, width, hooks)

    @all_or_nothing
    def partial_fit(
        self,
        events: Interactions,
        *,
        epochs: int | None = None,
        item_features: Any = None,
        user_features: Any = None,
        seed: int = 0,
        threads: int | None = None,
        progress: bool | str | Callback = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Go on with new events; the features of new items and users must be given again with the old ones.

        The coefficients are solved for anew from all events, old and new. Factors (rank > 0) go on from where they
        are for `epochs` epochs, a twelfth of a full fit where not given. Without factors an epoch is an iteration,
        and not given means until it is solved.
        """
        settings = self.settings
        old_users, old_items = (factors[:, : settings.rank] for factors in self._factors)
        merged = self._merged(events)
        planned, seed = planned_epochs(epochs, settings.epochs), checked_seed(seed)
        self._grow_features(item_features, user_features, merged)
        self._take_in(merged)
        width = resolve_threads(threads)
        hooks = training_hooks(None, progress, callbacks)
        if settings.rank == 0:
            return self._fit_features(None, planned if epochs else settings.iterations, seed, width, hooks)
        self._solve_features(seed, width)
        first = self._first_rows(len(merged.users), len(merged.items), seed, width)
        for rows, old in zip(first, (old_users, old_items), strict=True):
            rows[: len(old), : settings.rank] = old
        self._fold_in_rows(*first, len(old_users), width)
        return self._train(*first, CurvatureSteps(), planned, None, seed, width, hooks)

    def _grow_features(self, of_items: Any, of_users: Any, merged: MergedEvents) -> None:
        self._given = self._given or of_items is not None
        if self._given:
            self._item_features = _grown(self._item_features, of_items, merged.items, "item")
            _require_columns(self._item_features)
        else:
            self._item_features = _popularity(merged.indices, len(merged.items))
        if self._user_features.names or of_users is not None:
            self._user_features = _grown(self._user_features, of_users, merged.users, "user")
        else:
            self._user_features = _none(len(merged.users))

    # ---- the features' part ---------------------------------------------------------------------------------------

    def _problem(self, seed: int, threads: int) -> LinearProblem:
        settings = self.settings
        data = self._lists(*self.seen, self._values, threads)
        columns = len(self._item_features.names)
        item_rows = padded_rows(len(self.items), columns)
        item_rows[:, :columns] = self._item_features.values
        engine = make_engine(data, self.loss(), settings.negatives, seed, item_rows.shape[1])
        return LinearProblem(
            engine,
            self._user_side(),
            item_rows,
            columns,
            settings.draws,
            settings.feature_regularization,
            threads,
        )

    def _solve_features(self, seed: int, threads: int) -> None:
        self._weights = self._problem(seed, threads).solve(self.settings.iterations, lambda *_: False)

    def _user_side(self) -> NDArray[np.float64]:
        features = self._user_features.values.astype(np.float64)
        return np.concatenate([np.ones((len(self.users), 1)), features], axis=1)

    def _fit_features(
        self,
        validation: Interactions | None,
        iterations: int,
        seed: int,
        threads: int,
        hooks: Sequence[Callback],
    ) -> Self:
        """Solve for the coefficients; every iteration counts as an epoch."""
        problem = self._problem(seed, threads)
        run = TrainingRun(self, iterations, validation, int(problem.engine.entries), threads, seed)
        self._history = run.history
        self._publish(problem, np.zeros((problem.user_features.shape[1], problem.columns)))
        begin = time.perf_counter()

        def after_iteration(weights: Coefficients, value: float) -> bool:
            nonlocal begin
            self._publish(problem, weights)
            record = EpochRecord(len(run.history) + 1, time.perf_counter() - begin, value)
            run.history.append(record)
            reasons = [hook.after_epoch(run, record) for hook in hooks]
            run.stopped = next((reason for reason in reasons if reason), None)
            begin = time.perf_counter()
            return run.stopped is not None

        started: list[Callback] = []
        try:
            for hook in hooks:
                hook.before_training(run)
                started.append(hook)
            weights = problem.solve(iterations, after_iteration)
            self._publish(problem, weights)
        finally:
            for hook in reversed(started):
                hook.after_training(run)
        self.best_epoch = run.best_epoch
        return self

    def _publish(self, problem: LinearProblem, weights: Coefficients) -> None:
        self._weights = weights.copy()
        self._set_factors(problem.user_rows(weights), problem.item_rows, problem.columns)

    # ---- beside factors -------------------------------------------------------------------------------------------

    def _columns(self) -> int:
        return self.settings.rank + len(self._item_features.names)

    def _fixed_columns(self) -> FixedColumns:
        columns = (self.settings.rank, self._columns())
        return FixedColumns(users=columns, items=columns)

    def _first_rows(
        self, n_users: int, n_items: int, seed: int, threads: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        users, items = super()._first_rows(n_users, n_items, seed, threads)
        rank, last = self.settings.rank, self._columns()
        users[:, rank:last] = np.einsum("ig,gf->if", self._user_side(), self._weights)
        items[:, rank:last] = self._item_features.values
        return users, items

    def _start_of_new(self, users: NDArray[np.float32], known: int) -> NDArray[np.float64]:
        """The mean of the known users, but everybody's own features."""
        start = np.tile(super()._start_of_new(users, known), (len(users) - known, 1))
        fixed = slice(*self._fixed_columns().users)
        start[:, fixed] = users[known:, fixed]
        return start

    def _set_factors(self, users: NDArray[np.float32], items: NDArray[np.float32], rank: int) -> None:
        if self.settings.rank > 0:
            # What nobody has rated has learnt nothing but being drawn as a negative: its features speak alone.
            items = items.copy()
            items[np.bincount(self.seen.indices, minlength=len(items)) == 0, : self.settings.rank] = 0.0
        super()._set_factors(users, items, rank)

    # ---- on disk --------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._state(),
            "weights": self._weights,
            "item_features": self._item_features.values,
            "user_features": self._user_features.values,
        }

    def _facts(self) -> dict[str, Any]:
        return {
            **super()._facts(),
            "item_feature_names": self._item_features.names,
            "user_feature_names": self._user_features.names,
            "features_given": self._given,
        }

    def _restore(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        of_items, of_users = (stored_words(facts, f"{side}_feature_names") for side in ("item", "user"))
        shapes = (len(self.items), len(of_items)), (len(self.users), len(of_users))
        weights = stored_array(arrays, "weights", np.float64, (1 + len(of_users), len(of_items)))
        self._weights = weights
        self._item_features = Features(of_items, stored_array(arrays, "item_features", np.float32, shapes[0]))
        self._user_features = Features(of_users, stored_array(arrays, "user_features", np.float32, shapes[1]))
        self._given = bool(facts["features_given"])
        super()._restore(arrays, facts)


def _none(count: int) -> Features:
    return Features([], np.zeros((count, 0), np.float32))


def _popularity(indices: NDArray[np.int32], n_items: int) -> Features:
    counts = np.bincount(indices, minlength=n_items)
    return Features(["log(1 + events)"], np.log1p(counts).astype(np.float32)[:, None])


def _require_columns(items: Features) -> None:
    if not items.names:
        raise DataError("the item features have no column beside the ids")


def _grown(known: Features, given: Any, ids: Vocabulary, side: str) -> Features:
    """The features of all `ids`: those given, or the known ones where nobody is new."""
    if given is not None:
        return read_features(given, ids, side)
    if len(ids) != len(known.values):
        raise DataError(
            f"there are {len(ids) - len(known.values)} new {side}s, and the model was fitted on {side} features: "
            f"give {side}_features of all {side}s, old and new"
        )
    return known
