"""One model of a comparison: fitted and measured for every seed, here or in a process of its own."""

from __future__ import annotations

import contextlib
import pickle
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sqlrank.data.interactions import Interactions
from sqlrank.data.readers import read
from sqlrank.errors import SqlrankError
from sqlrank.evaluation.child import can_travel, in_child, peak_memory, reset_peak
from sqlrank.evaluation.evaluate import evaluate
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.result import Evaluation
from sqlrank.models.base import Recommender
from sqlrank.training.callbacks import WholeOrNothing

__all__ = ["Contestant", "Parts", "Trial", "run_contestant"]

LIST_LENGTH = 10
MOST_TIMED_USERS = 10_000


@dataclass(frozen=True)
class Parts:
    """What a model is fitted on and measured with. A validation part is masked: it is neither learnt nor sought."""

    train: Interactions
    test: Interactions
    validation: Interactions | None = None

    @property
    def seen(self) -> list[Interactions]:
        """What is not recommended."""
        return [self.train] if self.validation is None else [self.train, self.validation]


@dataclass(frozen=True)
class Plan:
    """What all contestants are put through: seeds, the file with each seed's parts, and how to measure."""

    seeds: tuple[int, ...]
    files: tuple[Path, ...]
    metrics: tuple[str, ...]
    protocol: Protocol
    threads: int


@dataclass(frozen=True)
class Trial:
    """One fit: how good, how long it took, how fast it recommends."""

    seed: int
    evaluation: Evaluation
    fit_seconds: float
    users_per_second: float


@dataclass
class Contestant:
    """A model's settings, and what became of it."""

    name: str
    model: str
    settings: dict[str, Any]
    trials: list[Trial] = field(default_factory=list)
    peak_memory: int | None = None
    """Bytes; None where the model ran in the process that called `compare`."""
    error: str | None = None


def run_contestant(name: str, template: Recommender, plan: Plan, *, isolate: bool) -> Contestant:
    """Fit and measure one model for all seeds; an error ends up in the result."""
    kind, settings = type(template), template.get_params()
    done = Contestant(name, kind.__name__, settings)
    apart = isolate and can_travel(kind)
    try:
        run = in_child(_run, kind, settings, plan) if apart else _run(kind, settings, plan)
    except SqlrankError as error:
        done.error = " ".join(str(error).split())
    except MemoryError:
        done.error = "out of memory"
    except Exception as error:  # a model of somebody else may raise anything; the other models are to go on
        done.error = " ".join(f"{type(error).__name__}: {error}".split())
    else:
        done.trials, peak = run
        done.peak_memory = peak if apart else None
    return done


def save_parts(parts: Parts, path: Path) -> Path:
    """Write the parts where every child can read them."""
    with path.open("wb") as stream:
        pickle.dump(parts, stream, protocol=pickle.HIGHEST_PROTOCOL)
    return path


def _run(kind: type[Recommender], settings: dict[str, Any], plan: Plan) -> tuple[list[Trial], int | None]:
    trials: list[Trial] = []
    peak: int | None = None
    loaded: Path | None = None
    _warm_up(kind(**settings), plan.threads)
    for seed, path in zip(plan.seeds, plan.files, strict=True):
        if path != loaded:
            with path.open("rb") as stream:
                parts: Parts = pickle.load(stream)
            loaded = path
        # Where the count cannot start anew, the first seed's is the last that measuring has not touched.
        counts = reset_peak() or not trials
        model, seconds = _fit(kind(**settings), parts, seed, plan.threads)
        speed = _users_per_second(model, plan.threads)
        if counts and (now := peak_memory()) is not None:
            peak = max(peak or 0, now)
        result = evaluate(
            model, parts.test, plan.metrics, plan.protocol, seen=parts.seen, threads=plan.threads
        )
        trials.append(Trial(seed, result, seconds, speed))
        del model, result  # the next seed's peak is not to hold this one's arrays
    return trials, peak


def _warm_up(model: Recommender, threads: int) -> None:
    """Learn from next to nothing: what is imported and started once is not on the first seed's clock."""
    events = [(user, item, 1.0 + (user + item) % 2) for user in range(6) for item in range(6) if user != item]
    toy = read(events, verbose=False)
    with contextlib.suppress(Exception):  # what is wrong with the model shows in the fits that count
        model.fit(toy, seed=0, threads=threads).recommend(users=toy.users.ids, n=1, threads=threads)


def _fit(model: Recommender, parts: Parts, seed: int, threads: int) -> tuple[Recommender, float]:
    began = time.perf_counter()
    model.fit(parts.train, seed=seed, threads=threads, callbacks=[WholeOrNothing()])
    return model, time.perf_counter() - began


def _users_per_second(model: Recommender, threads: int) -> float:
    """How many users get their ten best unseen items in a second: the better of two calls."""
    ids = model.users.ids.gather(np.arange(min(len(model.users), MOST_TIMED_USERS)))
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        model.recommend(users=ids, n=LIST_LENGTH, threads=threads)
        seconds.append(time.perf_counter() - began)
    return len(ids) / max(min(seconds), 1e-9)
