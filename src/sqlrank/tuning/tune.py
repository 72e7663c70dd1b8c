"""`sqlrank.tune`: the settings that rank held-back training events best."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sqlrank._threads import resolve_threads
from sqlrank.data import splits
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.interactions import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.evaluation.compare import task_settings
from sqlrank.evaluation.names import parse_metric
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.task import resolve
from sqlrank.models.base import Recommender
from sqlrank.tuning.result import TuningResult, result_of
from sqlrank.tuning.space import Space
from sqlrank.tuning.study import finished, import_optuna, next_trial, open_study
from sqlrank.tuning.trial import Task, run_trial

__all__ = ["tune"]

VALIDATION_SHARE = 0.1
_SPLIT_SEEDS = 7_368_787  # far from the seeds people use: an event keeps its random number for one seed


def tune(
    model: type[Recommender] | Recommender,
    train: Interactions | Dataset,
    metric: str = "ndcg@10",
    *,
    trials: int = 40,
    seed: int = 0,
    validation: Interactions | float | None = None,
    protocol: str | Protocol = "all",
    fixed: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    storage: str | PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> TuningResult:
    """Search the model's settings for the best `metric` on a validation part of the training data.

    model       a class; or an instance, whose settings that differ from the defaults are fixed
    train       the training data, the only data that are looked at (of a `Dataset`: train and validation)
    trials      how many settings are tried in all, the same budget for every model. The first are the defaults
    validation  the part to measure on, with the same ids; or its share. Default: the last 10 % of the training
                events where there are timestamps, else 10 % drawn at random with `seed`
    protocol    what is measured. Where it ranks unseen items, models that can learn from ratings or events learn from
                events (feedback="implicit"), unless the setting is fixed
    fixed       settings that are not searched, such as {"rank": 100}
    timeout     start no more trials after so many seconds (the result then depends on the machine)
    storage     a file that remembers the trials: called again, tune goes on where it was until there are `trials`
                of them, with the result of a search that was never stopped. Or the URL of an optuna storage

    Every range stands at the setting it belongs to, see `Space.of(model)`. A trial's value is that of its best epoch;
    it ends when five epochs bring nothing, or when it is below the median of the trials before it at the same epoch.
    The same seed gives the same result, for any number of threads.
    """
    import_optuna()
    if trials < 1:
        raise ConfigError(f"trials is {trials}; it must be a whole number >= 1")
    rules = Protocol.named(protocol) if isinstance(protocol, str) else protocol
    measured = parse_metric(metric)
    if measured.kind == "gini":
        raise ConfigError("metric is 'gini', of which less is better; tune for one of which more is better")
    kind = model if isinstance(model, type) else type(model)
    rest, held_out, how = _parts(train, validation, seed)
    space = Space.of(model, {**task_settings(kind, rules), **_own_settings(model), **(fixed or {})})
    task = Task(
        space, rest, held_out, str(measured), resolve(rules, held_out), seed, resolve_threads(threads)
    )
    study = open_study(task, storage)
    _search(study, task, trials if space.ranges else 1, timeout, progress)
    return result_of(study, task, how)


def _search(study: Any, task: Task, trials: int, timeout: float | None, progress: bool) -> None:
    optuna = import_optuna()
    states = {"complete": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}
    began = time.monotonic()
    _require_defaults(study)
    while len(finished(study)) < trials:
        if timeout is not None and finished(study) and time.monotonic() - began >= timeout:
            break
        trial = next_trial(study, task.seed)
        state, value = run_trial(trial, task)
        known = optuna.trial.TrialState[states[state]]
        # A pruned trial keeps its last report as its value; optuna wants none from us.
        done = study.tell(trial, value if state == "complete" else None, state=known)
        _require_defaults(study)
        if progress:
            told = "-" if value is None else f"{value:.4f}"
            text = f"trial {len(finished(study))}/{trials}: {state}, {task.metric} {told}"
            print(f"{text}, {done.user_attrs['seconds']:.1f} s, {done.params}", file=sys.stderr, flush=True)


def _require_defaults(study: Any) -> None:
    """A search whose defaults fail is a mistake of the call, also when it is taken up again."""
    first = next(iter(finished(study)), None)
    if first is not None and first.state.name == "FAIL":
        raise ConfigError(f"the first trial, with the defaults, failed: {first.user_attrs['error']}")


def _own_settings(model: type[Recommender] | Recommender) -> dict[str, Any]:
    """What an instance was given: it wins over what the task would choose."""
    if isinstance(model, type):
        return {}
    defaults = type(model).settings_class().to_dict()
    return {name: value for name, value in model.get_params().items() if value != defaults[name]}


def _parts(
    train: Interactions | Dataset, validation: Interactions | float | None, seed: int
) -> tuple[Interactions, Interactions, str]:
    """The part to learn from, the part to measure on, and in words how they were cut."""
    if isinstance(train, Dataset):
        validation = train.validation if validation is None else validation
        train = train.train
    if not isinstance(train, Interactions):
        raise DataError(f"train is {type(train).__name__}; give interactions: sqlrank.read(...)")
    if isinstance(validation, Interactions):
        return train, validation, f"{len(validation):,} events as given"
    share = VALIDATION_SHARE if validation is None else validation
    if train.timestamps is not None:
        rest, held_out = splits.by_time(train, share)
        return rest, held_out, f"the last {share:.0%} of the training events"
    rest, held_out = splits.random(train, share, seed=_SPLIT_SEEDS + seed)
    return rest, held_out, f"{share:.0%} of the training events, drawn at random"
