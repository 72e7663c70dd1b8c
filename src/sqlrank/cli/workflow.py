"""Hold events out, fit, measure, fit again on everything: what `fit` and `demo` do."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlrank.cli.common import Common
from sqlrank.cli.output import say
from sqlrank.data import Interactions, splits
from sqlrank.errors import ConfigError, DataError
from sqlrank.evaluation import Evaluation, evaluate
from sqlrank.models import Recommender
from sqlrank.training.callbacks import Callback, TrainingRun
from sqlrank.training.early_stopping import EarlyStopping

__all__ = [
    "SPLITS",
    "Holdout",
    "Outcome",
    "check_hold_out",
    "fit_and_measure",
    "hold_out",
    "is_explicit",
]

SPLITS = ("auto", "time", "random")
METRICS = ("ndcg@10", "precision@10", "recall@10", "hit@10", "coverage@10")
_ENOUGH_USERS = 20  # fewer than these to measure on, and the numbers say nothing


class _Watch(Callback):
    """Remembers what ended a run."""

    stopped: str | None = None

    def after_training(self, run: TrainingRun) -> None:
        """Keep the reason."""
        self.stopped = run.stopped


@dataclass(frozen=True)
class Holdout:
    """Parts of the data, and in words how they were cut."""

    train: Interactions
    validation: Interactions | None = None
    test: Interactions | None = None
    how: str = "nothing was held out"


@dataclass
class Outcome:
    """What `fit` found out."""

    model: Recommender
    """The model to keep."""
    measured: Recommender
    """The model that was measured: it has not seen the held-out events."""
    parts: Holdout
    seconds: float
    results: dict[str, dict[str, Evaluation]] = field(default_factory=dict)
    """Protocol -> name of a model -> its result."""
    best_epoch: int | None = None
    refitted: bool = False


def check_hold_out(share: float, how: str) -> None:
    """Raise :class:`ConfigError` for flags that :func:`hold_out` cannot take, before a file is read for nothing."""
    if not 0 <= share <= 0.5:
        raise ConfigError(f"--holdout is {share:g}; it must be a share from 0 (hold nothing out) to 0.5")
    if how not in SPLITS:
        raise ConfigError(f"--split is '{how}'; it must be {', '.join(SPLITS)}")


def hold_out(data: Interactions, share: float, how: str, seed: int) -> Holdout:
    """Cut a test part and a validation part off, by time where there is one, else at random."""
    check_hold_out(share, how)
    if share == 0:
        return Holdout(data)
    if how == "time" and data.timestamps is None:
        raise ConfigError("--split time needs times; name their column with --time, or use --split random")
    kinds = (
        ["time", "random"]
        if how == "auto" and data.timestamps is not None
        else [how.replace("auto", "random")]
    )
    for kind in kinds:
        try:
            parts = _cut(data, share, kind, seed)
        except (DataError, ConfigError):
            if how != "auto":
                raise
            continue
        if how != "auto" or _usable(parts.train, parts.test) >= _ENOUGH_USERS:
            return parts
    return Holdout(data, how="nothing was held out: too few events to measure on")


def fit_and_measure(
    model: Recommender,
    data: Interactions,
    parts: Holdout,
    *,
    metric: str,
    patience: int,
    refit: bool,
    seed: int,
    common: Common,
    rivals: dict[str, Recommender],
) -> Outcome:
    """Fit with early stopping, measure beside the rivals on the test part, then fit on all events."""
    began = time.perf_counter()
    run: dict[str, Any] = {"seed": seed, "threads": common.threads}
    watch = _Watch()
    if "epochs" in model.settings.rules():  # the others have nothing to stop
        stopper = [EarlyStopping(metric, patience=patience)] if parts.validation is not None else []
        run_once = {**run, "validation": parts.validation, "callbacks": [*stopper, watch]}
    else:
        run_once = run
    model.fit(parts.train, progress=not common.quiet, **run_once)
    outcome = Outcome(model, model, parts, 0.0, best_epoch=getattr(model, "best_epoch", None))
    if parts.test is not None:
        field_of_rivals = {name: rival.fit(parts.train, **run) for name, rival in rivals.items()}
        outcome.results = measure({type(model).__name__: model, **field_of_rivals}, parts, common)
    if parts.test is not None and refit and watch.stopped != "interrupted":
        outcome.model = _refitted(model, data, run, common)
        outcome.refitted = True
    outcome.seconds = time.perf_counter() - began
    return outcome


def measure(
    models: dict[str, Recommender], parts: Holdout, common: Common
) -> dict[str, dict[str, Evaluation]]:
    """Every model under every protocol that fits the data."""
    assert parts.test is not None
    first = next(iter(models.values()))
    seen = [part for part in (parts.train, parts.validation) if part is not None]
    results: dict[str, dict[str, Evaluation]] = {}
    for protocol in ("rated", "all") if is_explicit(first) else ("all",):
        metrics = ["ndcg@10"] if protocol == "rated" else list(METRICS)
        for name, model in models.items():
            result = evaluate(model, parts.test, metrics, protocol, seen=seen, threads=common.threads)
            results.setdefault(protocol, {})[name] = result
    return results


def is_explicit(model: Recommender) -> bool:
    """Whether the model has learnt from ratings."""
    return bool(getattr(model, "is_explicit", False))


def _refitted(model: Recommender, data: Interactions, run: dict[str, Any], common: Common) -> Recommender:
    settings = model.settings
    epochs = getattr(model, "best_epoch", None)
    if epochs:
        settings = settings.replace(epochs=epochs)
    fresh = type(model).from_settings(settings)
    say("now again, from all events", common.quiet)
    return fresh.fit(data, progress=not common.quiet, **run)


def _cut(data: Interactions, share: float, kind: str, seed: int) -> Holdout:
    if kind == "time":
        rest, test = splits.by_time(data, share)
        train, validation = splits.by_time(rest, share)
        how = f"the last {share:.0%} of the events are the test, the last {share:.0%} before them validation"
    else:
        with warnings.catch_warnings():  # asked for, or the only way that is left
            warnings.simplefilter("ignore", splits.LeakageWarning)
            rest, test = splits.random(data, share, seed=seed)
            train, validation = splits.random(rest, share, seed=seed + 1)
        how = f"{share:.0%} of the events, drawn at random, are the test, {share:.0%} of the rest validation"
    if not len(train) or not len(validation) or not len(test):
        raise DataError(f"{len(data)} events are too few to hold {share:g} of them out; use --holdout 0")
    return Holdout(train, validation if _usable(train, validation) else None, test, how)


def _usable(train: Interactions, test: Interactions | None) -> int:
    """How many users have events on both sides."""
    if test is None:
        return 0
    return int(np.count_nonzero((np.diff(train.indptr) > 0) & (np.diff(test.indptr) > 0)))
