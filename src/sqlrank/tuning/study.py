"""The search itself, by optuna: seeded trial by trial, so that a search that is resumed goes on as if never stopped."""

from __future__ import annotations

import json
import warnings
import zlib
from importlib import metadata
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.errors import ConfigError
from sqlrank.tuning.trial import Task

__all__ = ["checksum", "finished", "next_trial", "open_study"]

FIRST_RANDOM = 8  # trials drawn at random before the sampler learns
PRUNE_AFTER_TRIALS, PRUNE_AFTER_EPOCHS = 5, 5


def import_optuna() -> Any:
    """Return the package, or say how to get it."""
    try:
        import optuna
    except ImportError as error:
        raise ConfigError("tune needs the package optuna: pip install 'sqlrank[tune]'") from error
    return optuna


def open_study(task: Task, storage: str | PathLike[str] | None) -> Any:
    """A new study, or the one the storage holds for this very task."""
    optuna = import_optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(
            storage=_storage(storage),
            study_name=f"{task.space.model.__name__} {task.metric}",
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(PRUNE_AFTER_TRIALS, PRUNE_AFTER_EPOCHS),
        )
    finally:
        optuna.logging.set_verbosity(before)
    _check_same(study, task, storage)
    if not any(trial.state.is_finished() or trial.state.name == "WAITING" for trial in study.get_trials()):
        study.enqueue_trial(task.space.start)
    return study


def finished(study: Any) -> list[Any]:
    """The trials that ended, in order; one that was cut off by the end of its process is not among them."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]


def next_trial(study: Any, seed: int) -> Any:
    """Draw the next trial: it depends on the seed and on the trials that ended, not on the life of this process.

    The constant liar would look at trials that are still running: here, those of processes that were killed.
    """
    optuna = import_optuna()
    place = len(finished(study))
    study.sampler = optuna.samplers.TPESampler(
        seed=zlib.crc32(f"{seed} {place}".encode()), n_startup_trials=FIRST_RANDOM, constant_liar=False
    )
    return study.ask()


def _storage(storage: str | PathLike[str] | None) -> Any:
    if storage is None:
        return None
    text = fspath(storage)
    if "://" in text:
        return text
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = Path(text)
    if not path.parent.is_dir():
        raise ConfigError(f"storage is {text!r}, but there is no folder {path.parent}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna_experimental())
        return JournalStorage(JournalFileBackend(text))


def optuna_experimental() -> type[Warning]:
    """The category of warnings about parts of optuna that may still change."""
    warning: type[Warning] = import_optuna().exceptions.ExperimentalWarning
    return warning


def _check_same(study: Any, task: Task, storage: Any) -> None:
    """A study goes on only with the task it began with: other data or rules would mix numbers that do not compare."""
    now = {
        **task.space.describe(),
        "protocol": task.protocol.as_dict(),
        "version": metadata.version("sqlrank"),
        "seed": task.seed,
        "train": checksum(task.train),
        "validation": checksum(task.validation),
    }
    now = json.loads(json.dumps(now))  # as it comes back from the storage
    then = study.user_attrs.get("task")
    if then is None:
        study.set_user_attr("task", now)
        return
    different = [name for name in now if then.get(name) != now[name]]
    if different:
        raise ConfigError(
            f"storage {fspath(storage)!r} holds a search for {study.study_name} with another "
            f"{' and '.join(different)}; use another file, or call tune as before"
        )


def checksum(data: Interactions) -> str:
    """Of the events, their order, their values and their ids (by which protocols name items, and splits draw)."""
    arrays: tuple[NDArray[Any] | None, ...] = (data.indptr, data.indices, data.values)
    sums = [zlib.crc32(array.data) for array in arrays if array is not None]
    sums += [zlib.crc32("\0".join(map(str, ids)).encode()) for ids in (data.users.ids, data.items.ids)]
    return f"{len(data)} events, {' '.join(f'{part:08x}' for part in sums)}"
