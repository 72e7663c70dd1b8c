"""The page about one fit: what was learnt from what, how well, and how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sqlrank.data import Interactions
from sqlrank.evaluation import KINDS, Evaluation
from sqlrank.report.chart import line_chart
from sqlrank.report.page import card, cards, code, page, paragraph, section, table

__all__ = ["Example", "FitFacts", "fit_report", "metric_table", "what_protocol_asks"]

_QUESTIONS = {
    "all": "Finding: every item a user has not had yet is ranked. How often are the items they took next near the top?",
    "rated": "Ordering: only the items a user rated in the test are ranked. Do the best rated come first?",
}


@dataclass(frozen=True)
class Example:
    """What one user had, and what is recommended next."""

    user: str
    history: Sequence[str]
    recommended: Sequence[str]


@dataclass(frozen=True)
class FitFacts:
    """Everything the page shows."""

    title: str
    model: str
    settings: Mapping[str, Any]
    data: Interactions
    source: str
    holdout: str
    seconds: float
    results: Mapping[str, Mapping[str, Evaluation]] = field(default_factory=dict)
    verdict: str = ""
    history: pl.DataFrame | None = None
    best_epoch: int | None = None
    kept: str = ""
    command: str = ""
    config: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    examples: Sequence[Example] = ()


def fit_report(facts: FitFacts) -> str:
    """The page as HTML."""
    parts = [_cards(facts), _quality(facts), _learning(facts), _examples(facts), _data(facts)]
    parts += [_settings(facts), _again(facts), _machine(facts)]
    return page(facts.title, f"{facts.model} on {facts.source}", filter(None, parts))


def what_protocol_asks(name: str) -> str:
    """One sentence for people about a protocol."""
    return _QUESTIONS.get(name, "")


def metric_table(results: Mapping[str, Evaluation]) -> pl.DataFrame:
    """One row per metric, one column per model, and what the metric divides by what."""
    first = next(iter(results.values()))
    rows = []
    for metric in first:
        numbers: dict[str, Any] = {name: result[metric] for name, result in results.items()}
        error = first.summaries[metric].standard_error
        rows.append(
            {"metric": metric, **numbers, "± s.e.": error, "meaning": KINDS[metric.split("@")[0]].summary}
        )
    return pl.DataFrame(rows, schema_overrides={"± s.e.": pl.Float64})


def _cards(facts: FitFacts) -> str:
    numbers = [
        card(f"{facts.data.n_users:,}", "users"),
        card(f"{facts.data.n_items:,}", "items"),
        card(f"{len(facts.data):,}", "events"),
        card(f"{facts.seconds:.1f} s", "to learn and measure"),
    ]
    for results in facts.results.values():
        name, result = next(iter(results.items()))
        numbers.append(card(f"{result['ndcg@10']:.3f}", f"NDCG@10 of {name}"))
        break
    return cards(numbers)


def _quality(facts: FitFacts) -> str:
    if not facts.results:
        return section("How good is it?", paragraph(f"Not measured: {facts.holdout}."))
    parts = [paragraph(f"Measured on events the model had not seen: {facts.holdout}.")]
    if facts.verdict:
        parts.append(paragraph(facts.verdict + "."))
    for name, results in facts.results.items():
        first = next(iter(results.values()))
        parts.append(paragraph(what_protocol_asks(name)))
        parts.append(table(metric_table(results)))
        users = first.users
        parts.append(
            paragraph(
                f"Protocol {name}: {first.protocol} · {users.evaluated:,} users measured, "
                f"{users.without_history:,} of them without an event to learn from; "
                f"{users.without_relevant:,} had nothing to find, {users.unknown:,} unknown.",
                soft=True,
            )
        )
    return section("How good is it?", *parts)


def _learning(facts: FitFacts) -> str:
    history = facts.history
    if history is None or history.height < 2:
        return ""
    epochs = [float(epoch) for epoch in history["epoch"]]
    charts = [line_chart(epochs, history["objective"].to_list(), "objective (lower is better)", "epoch")]
    for name in history.columns[3:]:
        title = f"{name} on validation events (higher is better)"
        charts.append(
            line_chart(
                epochs, history[name].to_list(), title, "epoch", facts.best_epoch, f"kept: {facts.best_epoch}"
            )
        )
    return section(
        "How it learnt", f'<div class="two">{"".join(charts)}</div>', paragraph(facts.kept, soft=True)
    )


def _examples(facts: FitFacts) -> str:
    parts = []
    for example in facts.examples:
        height = max(len(example.history), len(example.recommended))
        columns = {
            "": list(range(1, height + 1)),
            f"what {example.user} had": [*example.history, *[""] * (height - len(example.history))],
            "recommended next": [*example.recommended, *[""] * (height - len(example.recommended))],
        }
        parts.append(table(pl.DataFrame(columns)))
        parts.append("<p></p>")
    return section("Three users", *parts) if parts else ""


def _data(facts: FitFacts) -> str:
    data = facts.data
    per_user = np.diff(data.indptr)
    per_item = np.bincount(data.indices, minlength=data.n_items)
    top = np.sort(per_item)[::-1][: max(1, data.n_items // 10)].sum() / max(1, len(data))
    rows = [
        ("density", f"{data.density:.3%} of all (user, item) pairs"),
        ("events per user", f"median {np.median(per_user):.0f}, largest {per_user.max():,}"),
        ("events per item", f"median {np.median(per_item):.0f}, largest {per_item.max():,}"),
        ("popularity", f"the most popular tenth of the items has {top:.0%} of the events"),
        ("ratings", "none: every event says 'chosen'" if data.values is None else _levels(data.values)),
    ]
    frame = pl.DataFrame(rows, schema=["what", "value"], orient="row")
    cleaning = (
        code(str(data.report)) if data.report.rows else ""
    )  # made-up data has not been read from anywhere
    return section("The data", table(frame), cleaning)


def _levels(values: np.ndarray[Any, Any]) -> str:
    levels = np.unique(values)
    shown = ", ".join(f"{level:g}" for level in levels[:10])
    return f"{len(levels)} levels ({shown}{', …' if len(levels) > 10 else ''})"


def _settings(facts: FitFacts) -> str:
    rows = [(name, "none" if value is None else str(value)) for name, value in facts.settings.items()]
    if not rows:
        return ""
    return section("Settings", table(pl.DataFrame(rows, schema=["setting", "value"], orient="row")))


def _again(facts: FitFacts) -> str:
    if not facts.command:
        return ""
    parts = [code(facts.command)]
    if facts.config:
        parts += [paragraph("The same as a file for --config:"), code(facts.config)]
    return section("Do it again", *parts)


def _machine(facts: FitFacts) -> str:
    rows = list(facts.versions.items())
    return (
        section("Made with", table(pl.DataFrame(rows, schema=["what", "version"], orient="row")))
        if rows
        else ""
    )
