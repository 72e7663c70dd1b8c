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
from sqlrank.data import Interactions
from sqlrank.errors import DataError
from sqlrank.losses import ListLoss, PlackettLuce
from sqlrank.models.features import Features, read_features
from sqlrank.models.fitting import all_or_nothing, check_trainable, training_hooks
from sqlrank.models.growth import merge_events
from sqlrank.models.listwise import ListwiseModel, ListwiseSettings, learns_from_ratings
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
        explicit = learns_from_ratings(self.settings.feedback, train)
        items = (
            _popularity(train) if item_features is None else read_features(item_features, train.items, "item")
        )
        users = (
            Features([], np.zeros((train.n_users, 0), np.float32))
            if user_features is None
            else read_features(user_features, train.users, "user")
        )
        if not items.names:
            raise DataError("the item features have no column beside the ids")
        self._given = item_features is not None
        self._item_features, self._user_features = items, users
        self._start_afresh(train, explicit)
        width = resolve_threads(threads)
        hooks = training_hooks(validation, progress, callbacks)
        if self.settings.rank == 0:
            return self._fit_features(validation, seed, width, hooks)
        self._weights = self._problem(seed, width).solve(self.settings.iterations, lambda *_: False)
        first = self._first_rows(train.n_users, train.n_items, seed, width)
        steps = CurvatureSteps(self.settings.decay)
        return self._train(*first, steps, self.settings.epochs, validation, seed, width, hooks)

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
        """Fit all events, old and new; the features of new items and users must be given again with the old ones."""
        if self.is_explicit and events.values is None:
            raise DataError("the model was fitted on ratings; partial_fit needs events with ratings too")
        merged = merge_events(self.users, self.items, self.seen, self._values, events)
        if item_features is None and self._given:
            item_features = _known(self._item_features, len(merged.items), "item")
        if user_features is None and self._user_features.names:
            user_features = _known(self._user_features, len(merged.users), "user")
        data = Interactions.from_csr(merged.users, merged.items, merged.indptr, merged.indices, merged.values)
        names = self._item_features.names, self._user_features.names
        kept = isinstance(item_features, np.ndarray), isinstance(user_features, np.ndarray)
        self.fit(
            data,
            item_features=item_features,
            user_features=user_features,
            seed=seed,
            threads=threads,
            progress=progress,
            callbacks=callbacks,
        )
        if kept[0] and len(names[0]) == len(self._item_features.names):
            self._item_features = Features(names[0], self._item_features.values)
        if kept[1] and len(names[1]) == len(self._user_features.names):
            self._user_features = Features(names[1], self._user_features.values)
        return self

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

    def _user_side(self) -> NDArray[np.float64]:
        features = self._user_features.values.astype(np.float64)
        return np.concatenate([np.ones((len(self.users), 1)), features], axis=1)

    def _fit_features(
        self, validation: Interactions | None, seed: int, threads: int, hooks: Sequence[Callback]
    ) -> Self:
        """Solve for the coefficients; every iteration counts as an epoch."""
        problem = self._problem(seed, threads)
        run = TrainingRun(
            self, self.settings.iterations, validation, int(problem.engine.entries), threads, seed
        )
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
            weights = problem.solve(self.settings.iterations, after_iteration)
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
        self._weights = arrays["weights"]
        self._item_features = Features(list(facts["item_feature_names"]), arrays["item_features"])
        self._user_features = Features(list(facts["user_feature_names"]), arrays["user_features"])
        self._given = bool(facts["features_given"])
        super()._restore(arrays, facts)


def _popularity(train: Interactions) -> Features:
    counts = np.bincount(train.indices, minlength=train.n_items)
    return Features(["log(1 + events)"], np.log1p(counts).astype(np.float32)[:, None])


def _known(features: Features, count: int, side: str) -> NDArray[np.float32]:
    if count != len(features.values):
        raise DataError(
            f"there are {count - len(features.values)} new {side}s, and the model was fitted on {side} features: "
            f"give {side}_features of all {side}s, old and new"
        )
    return features.values
