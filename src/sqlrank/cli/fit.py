"""`sqlrank fit`: from a file to a model that has been measured."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Group, Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.config import as_toml
from sqlrank.cli.output import print_json, print_table, say, wrapped
from sqlrank.cli.places import REPORT, check_model_place, save_with_report
from sqlrank.cli.settings import MODELS, make_model, model_class, with_settings
from sqlrank.cli.workflow import Outcome, check_hold_out, fit_and_measure, hold_out, is_explicit
from sqlrank.data import Interactions
from sqlrank.errors import ConfigError
from sqlrank.evaluation import Evaluation, parse_metric
from sqlrank.models import Recommender
from sqlrank.report.fit_report import FitFacts, fit_report, metric_table, what_protocol_asks

__all__ = ["fit"]

TRAINING = Group("Training and measuring", sort_key=5)


def _flag(help: str, *names: str, negative: str = "") -> Parameter:
    return Parameter(name=names or None, help=help, group=TRAINING, negative=negative)


@with_settings
def fit(
    file: Annotated[str, Parameter(help="Parquet, CSV or other text, NDJSON; a folder or a pattern, too.")],
    /,
    *,
    output: Annotated[str, _flag("Folder for the model and its report.html.", "--output", "-o")] = "model",
    model: Annotated[str, _flag(f"Which model: {', '.join(MODELS)}.")] = "sqlrank",
    holdout: Annotated[
        float, _flag("Share of the events to measure on; 0: learn from all, measure nothing.")
    ] = 0.1,
    split: Annotated[str, _flag("What is held out: the latest (time), any (random), or auto.")] = "auto",
    metric: Annotated[str, _flag("What early stopping looks at.")] = "ndcg@10",
    patience: Annotated[int, _flag("Stop after so many epochs without a gain.")] = 5,
    refit: Annotated[
        bool,
        _flag(
            "When measured, learn again from all events; else keep what was measured.", negative="--no-refit"
        ),
    ] = True,
    seed: Annotated[int, _flag("Same seed, same model, on any number of threads.")] = 0,
    reading: Reading = Reading(),  # noqa: B008 # frozen; the default of every flag lives there
    common: Common = Common(),  # noqa: B008
    **settings: str | None,
) -> None:
    """Learn a model from a file of ratings or events, measure it and save it.

    Part of the events is held out: some to know when to stop, some to measure. Then the model learns again from all
    events, for the number of epochs found, and is saved. A model that was there is replaced only at the very end.
    """
    place = Path(output)
    parse_metric(metric)
    if patience < 1:
        raise ConfigError(f"--patience is {patience}; it must be a whole number >= 1")
    learner = make_model(model, settings)
    check_model_place(place)
    check_hold_out(holdout, split)
    data = reading.read(file, common)
    parts = hold_out(data, holdout, split, seed)
    say(f"{len(parts.train):,} events to learn from; {parts.how}", common.quiet)
    rivals = rivals_of(model, "popularity")
    outcome = fit_and_measure(
        learner,
        data,
        parts,
        metric=metric,
        patience=patience,
        refit=refit,
        seed=seed,
        common=common,
        rivals=rivals,
    )
    values = {"output": output, "model": model, "holdout": holdout, "split": split, "metric": metric}
    values |= {"patience": patience, "refit": refit, "seed": seed, "reading": reading, "settings": settings}
    config = as_toml(("fit",), values)
    command = f"sqlrank fit {shlex.quote(file)} --config fit.toml"
    facts = facts_of(outcome, data, file, f"Report of {place.name}", command, config)
    save_with_report(outcome.model, place, fit_report(facts))
    _tell(outcome, place, common)


def rivals_of(model: str, *names: str) -> dict[str, Recommender]:
    """Simple models to compare with, by the names of their classes."""
    made = [model_class(name)() for name in names if name in MODELS and name != model]
    return {type(rival).__name__: rival for rival in made}


def facts_of(
    outcome: Outcome, data: Interactions, source: str, title: str, command: str, config: str = "", **more: Any
) -> FitFacts:
    """What the report says about a run."""
    from sqlrank._versions import versions

    history = getattr(outcome.measured, "history", None)
    return FitFacts(
        title=title,
        model=type(outcome.model).__name__,
        settings=outcome.model.get_params(),
        data=data,
        source=source,
        holdout=outcome.parts.how,
        seconds=outcome.seconds,
        results=outcome.results,
        verdict=". ".join(verdicts(outcome.results)),
        history=history,
        best_epoch=outcome.best_epoch,
        kept=_kept(outcome),
        command=command,
        config=config,
        versions=versions(),
        **more,
    )


def verdicts(results: dict[str, dict[str, Evaluation]]) -> list[str]:
    """A line per protocol: a model may order well what was rated and find badly what will be."""
    said = {name: verdict(models) for name, models in results.items()}
    if len(said) == 1:
        return [text for text in said.values() if text]
    return [f"{what_protocol_asks(name).partition(':')[0]}: {text}" for name, text in said.items() if text]


def verdict(results: dict[str, Evaluation], metric: str = "ndcg@10") -> str:
    """One line: is it better than the best of the simple models, user by user?"""
    names = list(results)
    if len(names) < 2:
        return ""
    ours, rival = names[0], max(names[1:], key=lambda name: results[name][metric])
    gains = _gains(results[ours], results[rival], metric)
    error = float(gains.std(ddof=1)) / len(gains) ** 0.5 if len(gains) > 1 else float("inf")
    mean = float(gains.mean())
    clear = "better than" if mean > 0 else "worse than"
    word = clear if abs(mean) >= 2 * error else "about as good as"
    numbers = f"{metric} {results[ours][metric]:.4f} against {results[rival][metric]:.4f}"
    return f"{ours} is {word} {rival} here: {numbers} (difference {mean:+.4f} ± {error:.4f})"


def _gains(ours: Evaluation, theirs: Evaluation, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The difference of every user's number, ours minus theirs."""
    pairs = ours.per_user.select("user", metric).join(
        theirs.per_user.select("user", theirs=metric), on="user"
    )
    pairs = pairs.drop_nulls()
    return (pairs[metric] - pairs["theirs"]).to_numpy()


def users_measured(result: Evaluation) -> str:
    """How many users the numbers are about, and of how many of them nothing was known."""
    known = f", {result.users.without_history:,} of them without an event to learn from"
    return f"{result.users.evaluated:,} users measured{known if result.users.without_history else ''}"


def print_results(results: dict[str, dict[str, Evaluation]]) -> None:
    """The tables of all protocols on stdout."""
    for name, models in results.items():
        first = next(iter(models.values()))
        print(wrapped(what_protocol_asks(name)))
        print(wrapped(f"protocol {name}: {first.protocol}", "  "))
        print(users_measured(first))
        print_table(metric_table(models).drop("meaning"), "  ")
        print()


def _tell(outcome: Outcome, place: Path, common: Common) -> None:
    if common.json:
        print_json(
            {
                "model": str(place),
                "report": str(place / REPORT),
                "best_epoch": outcome.best_epoch,
                "seconds": round(outcome.seconds, 3),
                "holdout": outcome.parts.how,
                "metrics": {
                    protocol: {name: result.as_dict() for name, result in results.items()}
                    for protocol, results in outcome.results.items()
                },
            }
        )
        return
    print_results(outcome.results)
    for line in filter(None, [*verdicts(outcome.results), _kept(outcome)]):
        say(line, common.quiet)
    if is_explicit(outcome.model):
        text = "It learnt the order of the ratings. To find what people will choose next, add --implicit."
        say(text, common.quiet)
    say(
        f"saved {place}/ with {REPORT}; next: sqlrank recommend {place} --user {_somebody(outcome)}",
        common.quiet,
    )


def _somebody(outcome: Outcome) -> str:
    return shlex.quote(str(outcome.model.users.ids[0]))


def _kept(outcome: Outcome) -> str:
    text = f"Early stopping kept epoch {outcome.best_epoch}. " if outcome.best_epoch else ""
    if outcome.refitted:
        epochs = f" for {outcome.best_epoch} epochs" if outcome.best_epoch else ""
        return f"{text}The saved model has then learnt from all events{epochs}; the numbers are of the one before."
    return text + "The saved model is the one that was measured." if outcome.results else text
