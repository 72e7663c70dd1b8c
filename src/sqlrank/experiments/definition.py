"""An experiment as data: tasks, rows, seeds, the paper's numbers; read from TOML and checked."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from sqlrank.errors import ConfigError
from sqlrank.evaluation.names import parse_metric
from sqlrank.evaluation.protocols import Protocol
from sqlrank.models.names import model_class

__all__ = ["Claim", "Experiment", "Row", "Task", "Tuning", "load_experiment", "names"]

TABLE, EPOCHS, SECONDS = KINDS = ("table", "epochs", "seconds")
_ORDER = (
    *("table1", "table2", "table3", "table4"),
    *("figure-sq", "figure-topk", "figure-time-ml1m", "figure-time-foursquare", "tuned"),
)

Made = TypeVar("Made")


@dataclass(frozen=True)
class Task:
    """A data set, how it is cut, and how a model is measured on it.

    n_train     events of each user to learn from, drawn by seed; None: the data set's own train and test
    min_value   only events of at least this value count, and the values are forgotten: implicit feedback
    min_events  users with fewer events leave; min_rows counts repeated events, too (where the data set tells)
    protocols   names; their metrics are computed
    tune_for    the metric that settings are chosen by, under the first protocol
    paper_users how many users the paper's numbers are means over
    stand_in    the beginning of a layout's name that is less than what the paper used
    """

    name: str
    title: str
    dataset: str
    protocols: tuple[str, ...]
    tune_for: str
    n_train: int | None = None
    min_value: float | None = None
    min_events: int = 0
    min_rows: int = 0
    paper_users: int | None = None
    stand_in: str | None = None

    def __post_init__(self) -> None:
        parse_metric(self.tune_for)
        for name in self.protocols:
            Protocol.named(name)

    @property
    def metrics(self) -> list[tuple[str, str]]:
        """(metric, protocol) of everything that is measured."""
        return [(metric, name) for name in self.protocols for metric in Protocol.named(name).metrics]


@dataclass(frozen=True)
class Tuning:
    """How the settings of rows with `search` are found: on a share of the training events, by so many trials."""

    trials: int
    validation: float = 0.1


@dataclass(frozen=True)
class Row:
    """One method on one task.

    search  settings that are searched on validation data; "all" for every one that has a range. Empty: none
    paper   metric -> what the paper printed
    """

    task: Task
    label: str
    model: str
    preset: str | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    search: tuple[str, ...] = ()
    paper: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        kind = model_class(self.model)
        known = kind.settings_class.rules()
        kind(**({} if self.preset is None else kind.preset(self.preset).get_params()) | dict(self.settings))
        for name in self.search:
            if name != "all" and (name not in known or known[name].search is None):
                raise ConfigError(f"search: {kind.__name__} has no setting {name!r} with a range")


@dataclass(frozen=True)
class Claim:
    """What the paper concludes or somebody hopes, as something that the numbers show or do not.

    task                    the name of the task whose rows are meant; None where the experiment has only one
    better, worse, factor   the one method's number is at least `factor` times the other's
    rising                  the metric rises along these methods
    method, reaches, within the method has reached this number after so many seconds of training
    """

    text: str
    metric: str
    task: str | None = None
    better: str | None = None
    worse: str | None = None
    factor: float = 1.0
    rising: tuple[str, ...] = ()
    method: str | None = None
    reaches: float | None = None
    within: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    kind    "table": numbers at the end; "epochs" and "seconds": a curve over the epochs or the time of training
    notes   what is understood of the differences from the paper
    """

    id: str
    title: str
    kind: str
    seeds: int
    rows: tuple[Row, ...]
    tuning: Tuning | None = None
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"kind is {self.kind!r}; it must be {', '.join(KINDS)}")
        if self.seeds < 1:
            raise ConfigError(f"seeds is {self.seeds}; it must be at least 1")
        tasks = {row.task.name for row in self.rows}
        for claim in self.claims:
            if claim.task is None and len(tasks) > 1:
                raise ConfigError(f"the claim {claim.text!r} must say which task it is about")
            if claim.task is not None and claim.task not in tasks:
                raise ConfigError(f"the claim {claim.text!r} is about {claim.task!r}, which no row is")
        if self.tuning is None and any(row.search for row in self.rows):
            raise ConfigError("rows have settings to search, but there is no [tuning]")


def names() -> list[str]:
    """The experiments that come with the package, in the order of the paper."""
    return list(_ORDER)


def load_experiment(name: str) -> Experiment:
    """One of :func:`names`, or one of your own: the path of a TOML file."""
    if name.endswith(".toml"):
        path = Path(name)
        try:
            return parse_experiment(tomllib.loads(path.read_text("utf-8")), path.stem, str(path))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from None
    if name not in _ORDER:
        close = difflib.get_close_matches(name, _ORDER, 1)
        hint = f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(_ORDER)}"
        raise ConfigError(f"there is no experiment '{name}'{hint}")
    return parse_experiment(_shipped(name), name, f"{name}.toml")


def parse_experiment(table: dict[str, Any], name: str, where: str) -> Experiment:
    """Make an experiment from a parsed TOML file; its own [tasks] join those that come with the package."""
    try:
        own = dict(table)
        tasks = {**_shipped("tasks")["tasks"], **own.pop("tasks", {})}
        known = {key: _made(Task, {"name": key, **_frozen(value)}) for key, value in tasks.items()}
        rows = tuple(row for entry in own.pop("rows", []) for row in _rows(entry, known))
        tuning = own.pop("tuning", None)
        claims = tuple(_made(Claim, _frozen(claim)) for claim in own.pop("claims", []))
        more = {"tuning": None if tuning is None else _made(Tuning, tuning), "claims": claims}
        return _made(Experiment, {"id": name, "rows": rows, **more, **_frozen(own)})
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _rows(entry: dict[str, Any], tasks: Mapping[str, Task]) -> list[Row]:
    """A row may stand for several tasks."""
    given = _frozen(entry)
    wanted = given.pop("task", None) or ()
    rows = []
    for name in (wanted,) if isinstance(wanted, str) else wanted:
        if name not in tasks:
            raise ConfigError(f"there is no task {name!r}; there are {', '.join(tasks)}")
        rows.append(_made(Row, {"task": tasks[name], **given}))
    if not rows:
        raise ConfigError(f"the row {entry.get('label')!r} names no task")
    return rows


def _made(kind: type[Made], values: dict[str, Any]) -> Made:
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type] # all are dataclasses
    for name in values:
        if name not in fields:
            close = difflib.get_close_matches(name, fields, 1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(fields)}"
            raise ConfigError(f"unknown key '{name}'{hint}")
    needed = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    missing = [name for name in needed if name not in values]
    if missing:
        raise ConfigError(
            f"{kind.__name__.lower()} {values.get('name', '')}: {', '.join(missing)} is missing"
        )
    return kind(**values)


def _frozen(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _shipped(name: str) -> dict[str, Any]:
    text = resources.files("sqlrank.experiments").joinpath(f"definitions/{name}.toml").read_text("utf-8")
    return tomllib.loads(text)
