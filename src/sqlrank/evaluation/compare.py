"""`sqlrank.compare`: many models, one split, one protocol, one table."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sqlrank._threads import resolve_threads
from sqlrank.data import splits
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.interactions import Interactions
from sqlrank.errors import ConfigError, DataError
from sqlrank.evaluation.comparison import Comparison
from sqlrank.evaluation.contest import Contestant, Parts, Plan, run_contestant, save_parts
from sqlrank.evaluation.names import parse_metrics
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.task import resolve
from sqlrank.models.base import Recommender

__all__ = ["compare", "task_settings"]

Models = Mapping[str, Recommender] | Iterable[str] | str
Split = Callable[..., tuple[Interactions, Interactions]]
TEST_SHARE = 0.1


def compare(
    models: Models,
    data: Interactions | Dataset | tuple[Interactions, Interactions],
    *,
    split: Split | tuple[Interactions, Interactions] | None = None,
    protocol: str | Protocol = "all",
    metrics: str | Iterable[str] | None = None,
    seeds: int | Sequence[int] = 3,
    threads: int | None = None,
    progress: bool = False,
    output: str | PathLike[str] | None = None,
    isolate: bool = True,
) -> Comparison:
    """Fit all models on the same events, measure them on the same test, and say which differences are real.

    models      name -> model, of which the settings count (a fresh copy is fitted for every seed); or names:
                "sqlrank,wmf,ease,popularity". A model given by name learns what the protocol asks: to find unseen
                items (feedback="implicit") unless only the user's own test items are ranked
    data        interactions, a `Dataset`, or (train, test) as they are
    split       a function such as `sqlrank.split.last_n` (called with `seed=` where it takes one), or (train, test).
                Default: the last 10 % of the events where there are timestamps, else 10 % at random. A data set
                that has a test part is taken as it is; its validation part is masked, not learnt
    metrics     the first one orders the table; None: those of the protocol
    seeds       how many (0, 1, …), or which: of the fits, and of the split where it is random
    progress    say on stderr which model is done
    output      folder to save into, see `Comparison.save`
    isolate     run each model in a fresh process, so that its peak of memory is its own (interpreter and training
                data included) and that running out of memory ends that model alone. Models whose class stands in a
                script or notebook run in this process; their memory is then not known

    A model that fails (too large a catalogue for EASE, an extra that is not installed) is reported in its row with
    the reason. All numbers but seconds, speed and memory are the same in every run, for any number of threads.
    """
    chosen = _seeds(seeds)
    rules = Protocol.named(protocol) if isinstance(protocol, str) else protocol
    contestants = _templates(models, rules)
    names = tuple(str(metric) for metric in parse_metrics(rules.metrics if metrics is None else metrics))
    cut, how = _cutter(data, split)
    with tempfile.TemporaryDirectory(prefix="sqlrank-") as folder:
        files, line = _write_parts(cut, chosen, Path(folder), rules)
        plan = Plan(chosen, files, names, rules, resolve_threads(threads))
        rows = []
        for name, template in contestants.items():
            rows.append(run_contestant(name, template, plan, isolate=isolate))
            if progress:
                print(_told(rows[-1]), file=sys.stderr, flush=True)
    result = Comparison(rows, names, chosen, rules, f"{how}; {line}")
    if output is not None:
        result.save(output)
    return result


def task_settings(kind: type[Recommender], protocol: Protocol) -> dict[str, Any]:
    """What a model must be set to for the task a protocol measures: implicit feedback where unseen items are ranked.

    With ratings in the data, `feedback="auto"` would learn to order the rated items, which is another task.
    """
    rule = kind.settings_class.rules().get("feedback")
    implicit = protocol.candidates != "rated" and rule is not None and "implicit" in rule.words
    return {"feedback": "implicit"} if implicit else {}


def _templates(models: Models, protocol: Protocol) -> dict[str, Recommender]:
    if isinstance(models, Mapping):
        for name, model in models.items():
            if not isinstance(model, Recommender):
                raise ConfigError(f"models[{name!r}] is {model!r}; give a model such as sqlrank.SQLRank()")
        chosen = dict(models)
    else:
        from sqlrank.models.names import model_class

        words = models.split(",") if isinstance(models, str) else list(models)
        kinds = [model_class(word) for word in words if word.strip()]
        chosen = {kind.__name__: kind(**task_settings(kind, protocol)) for kind in kinds}
    if not chosen:
        raise ConfigError("models is empty; give at least one, such as 'sqlrank,popularity'")
    return chosen


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(int(seed) for seed in seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ConfigError(f"seeds is {seeds!r}; give a number of at least 1, or different seeds")
    return chosen


def _cutter(
    data: Interactions | Dataset | tuple[Interactions, Interactions], split: Any
) -> tuple[Callable[[int], Parts] | Parts, str]:
    """How the events are cut, as a function of the seed or once for all, and in words."""
    if isinstance(data, Dataset):
        if split is None and data.test is not None:
            return Parts(data.train, data.test, data.validation), f"{data.name}, train and test as published"
        data = data.train
    if isinstance(data, tuple):
        if split is not None:
            raise ConfigError("data is (train, test) already; leave split out")
        split = data
    if isinstance(split, tuple):
        return Parts(*_pair(split)), "train and test as given"
    whole = _events(data)
    if split is None and whole.timestamps is not None:
        return Parts(
            *splits.by_time(whole, TEST_SHARE)
        ), f"the last {TEST_SHARE:.0%} of the events are the test"
    if split is None:
        cut = lambda seed: Parts(*splits.random(whole, TEST_SHARE, seed=seed))  # noqa: E731 # three of a kind
        return cut, f"{TEST_SHARE:.0%} of the events, drawn by seed, are the test"
    if not callable(split):
        raise ConfigError(
            f"split is {split!r}; give a function such as sqlrank.split.by_time, or (train, test)"
        )
    name = getattr(split, "__name__", None) or getattr(
        getattr(split, "func", None), "__name__", "own function"
    )
    if "seed" in inspect.signature(split).parameters:
        return lambda seed: Parts(*_pair(split(whole, seed=seed))), f"split by {name}, with the seed"
    return Parts(*_pair(split(whole))), f"split by {name}"


def _events(data: Any) -> Interactions:
    if not isinstance(data, Interactions):
        raise DataError(f"data is {type(data).__name__}; give interactions: sqlrank.read(...)")
    return data


def _pair(parts: Any) -> tuple[Interactions, Interactions]:
    if not isinstance(parts, tuple) or len(parts) != 2:
        raise DataError("a split must give (train, test); kfold and user_holdout do not: call them yourself")
    return _events(parts[0]), _events(parts[1])


def _write_parts(
    cut: Callable[[int], Parts] | Parts, seeds: tuple[int, ...], folder: Path, protocol: Protocol
) -> tuple[tuple[Path, ...], str]:
    """One file per different cut; and how large the parts of the first are."""
    if isinstance(cut, Parts):
        first, files = cut, (save_parts(cut, folder / "parts"),) * len(seeds)
        _check(first, protocol)
    else:
        pieces: list[Path] = []
        for seed in seeds:
            parts = cut(seed)
            _check(parts, protocol)
            first = parts if not pieces else first
            pieces.append(save_parts(parts, folder / f"parts-{seed}"))
        files = tuple(pieces)
    n_users, n_items = first.train.shape
    line = f"{len(first.train):,} train, {len(first.test):,} test, {n_users:,} users, {n_items:,} items"
    return files, line


def _check(parts: Parts, protocol: Protocol) -> None:
    """Complain once about what would fail for every model."""
    if not len(parts.train) or not len(parts.test):
        raise DataError(
            f"the split leaves {len(parts.train)} events for training and {len(parts.test)} for the test"
        )
    resolve(protocol, parts.test)


def _told(row: Contestant) -> str:
    if row.error is not None:
        return f"{row.name}: failed: {row.error}"
    seconds = sum(trial.fit_seconds for trial in row.trials)
    return f"{row.name}: {len(row.trials)} fits in {seconds:.1f} s"
