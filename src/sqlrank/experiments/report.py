"""The results of an experiment as parquet, Markdown and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sqlrank.errors import ConfigError
from sqlrank.evaluation.protocols import Protocol
from sqlrank.experiments.definition import TABLE
from sqlrank.experiments.runner import Outcome, RowOutcome
from sqlrank.experiments.trial import Record
from sqlrank.experiments.verdict import Finding, Judged, finding, judge

__all__ = [
    "by_task",
    "conclusions",
    "curves",
    "findings",
    "judgements",
    "markdown",
    "number",
    "protocol_lines",
    "results",
    "write_report",
]


def write_report(outcome: Outcome, folder: Path) -> None:
    """Write results.parquet, README.md, curves.parquet and figure.png (where matplotlib is there)."""
    folder.mkdir(parents=True, exist_ok=True)
    results(outcome).write_parquet(folder / "results.parquet")
    if outcome.experiment.kind != TABLE:
        curves(outcome).write_parquet(folder / "curves.parquet")
    text = markdown(outcome)
    try:
        from sqlrank.experiments.figures import draw
        from sqlrank.plotting import save

        save(draw(outcome), folder / "figure.png")
        text += f"\n![{outcome.experiment.title}](figure.png)\n"
    except ConfigError:  # no matplotlib, or nothing to draw
        pass
    (folder / "README.md").write_text(text, "utf-8")


def findings(row: RowOutcome) -> list[Finding]:
    """Every metric of a row beside the paper's."""
    metrics = [metric for metric, _ in row.row.task.metrics]
    return [
        finding(row.row, metric, row.records, other_data=row.other_data) for metric in metrics if row.records
    ]


def judgements(outcome: Outcome) -> list[Judged]:
    """What the experiment's claims came to."""
    return [judge(claim, _measured(outcome, claim.task)) for claim in outcome.experiment.claims]


def _measured(outcome: Outcome, task: str | None) -> dict[str, list[Record]]:
    """Method -> its records on one task."""
    rows = [row for row in outcome.rows if task is None or row.row.task.name == task]
    return {row.row.label: row.records for row in rows if row.records}


def by_task(rows: Sequence[RowOutcome]) -> list[RowOutcome]:
    """The rows with those of one task together: they are what is compared."""
    order = list(dict.fromkeys(row.row.task for row in rows))
    return sorted(rows, key=lambda row: order.index(row.row.task))


def results(outcome: Outcome) -> pl.DataFrame:
    """One row per task, method and metric; where a data set was not there, the reason instead of numbers."""
    rows = [values for row in by_task(outcome.rows) for values in _values(outcome.experiment.id, row)]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _values(experiment: str, row: RowOutcome) -> list[dict[str, Any]]:
    task = row.row.task
    facts: dict[str, Any] = {"experiment": experiment, "task": task.title, "method": row.row.label}
    if row.skipped is not None:
        return [{**facts, "skipped": row.skipped}]
    first = row.records[0]
    facts |= {
        "other_data": row.other_data,
        "seeds": len(row.records),
        "users": first.users,
        "paper_users": task.paper_users,
        "train_events": first.events[0],
        "test_events": first.events[1],
        "model": row.row.model,
        "settings": _settings_text(row.settings),
        "fit_seconds": float(np.mean([record.fit_seconds for record in row.records])),
    }
    protocols = dict(task.metrics)
    return [
        {
            **facts,
            "metric": found.metric,
            "mean": found.mean,
            "over_all_users": found.everybody,
            "sd": found.sd,
            "paper": found.paper,
            "standard_error": found.error,
            "verdict": found.verdict,
            "users_evaluated": first.metrics[found.metric][2],
            "protocol": f"{protocols[found.metric]}: {Protocol.named(protocols[found.metric])}",
        }
        for found in findings(row)
    ]


def _settings_text(settings: Sequence[Mapping[str, Any]]) -> str:
    """The settings of all seeds: once where they are the same, else what differs seed by seed."""
    spelt = [{name: f"{name}={value!r}" for name, value in one.items()} for one in settings]
    common = [text for name, text in spelt[0].items() if all(one[name] == text for one in spelt)]
    own = [[text for text in one.values() if text not in common] for one in spelt]
    seeds = [f"seed {seed}: {', '.join(texts)}" for seed, texts in enumerate(own) if texts]
    return "; ".join([", ".join(common), *seeds])


_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("experiment", "task", "method", "metric"), pl.String),
    **dict.fromkeys(("mean", "over_all_users", "sd", "paper", "standard_error"), pl.Float64),
    **{"verdict": pl.String, "other_data": pl.Boolean},
    **dict.fromkeys(
        ("seeds", "users", "users_evaluated", "paper_users", "train_events", "test_events"), pl.Int64
    ),
    **dict.fromkeys(("model", "settings", "protocol"), pl.String),
    **{"fit_seconds": pl.Float64, "skipped": pl.String},
}


def curves(outcome: Outcome) -> pl.DataFrame:
    """One row per method, seed, epoch and metric."""
    rows = [
        {
            "task": row.row.task.title,
            "method": row.row.label,
            "seed": seed,
            "epoch": epoch,
            "metric": metric,
            "value": value,
            "seconds": seconds,
        }
        for row in outcome.rows
        for seed, record in enumerate(row.records)
        for epoch, seconds, values in record.curve
        for metric, value in values.items()
    ]
    kinds: dict[str, Any] = {
        **dict.fromkeys(("task", "method", "metric"), pl.String),
        **dict.fromkeys(("seed", "epoch"), pl.Int64),
        **dict.fromkeys(("value", "seconds"), pl.Float64),
    }
    return pl.DataFrame(rows, schema={name: kinds[name] for name in rows[0]} if rows else kinds)


def markdown(outcome: Outcome, heading: str = "#") -> str:
    """Title, table, protocols, claims, what was skipped, notes."""
    experiment = outcome.experiment
    done = [row for row in by_task(outcome.rows) if row.records]
    parts = [f"{heading} {experiment.title}", *_tables(done), *conclusions(outcome)]
    parts += [f"- {note}" if len(experiment.notes) > 1 else note for note in experiment.notes]
    return "\n\n".join(parts) + "\n"


def conclusions(outcome: Outcome) -> list[str]:
    """The claims and what became of them; what was not run."""
    words = {True: "holds", False: "does not hold", None: "not judged"}
    claims = [f"Claim: {j.text}: {words[j.holds]} ({j.found})." for j in judgements(outcome)]
    skipped = dict.fromkeys(
        (row.row.task.title, row.skipped) for row in outcome.rows if row.skipped is not None
    )
    return claims + [f"Not run: {title}. {' '.join(reason.split())}" for title, reason in skipped]


def protocol_lines(outcome: Outcome) -> list[str]:
    """The protocols of what was measured, spelt out."""
    used = dict.fromkeys(name for row in outcome.rows if row.records for name in row.row.task.protocols)
    return [f"{name}: {Protocol.named(name)}" for name in used]


def _tables(rows: list[RowOutcome]) -> list[str]:
    """One table for the tasks that are measured alike."""
    kinds = list(dict.fromkeys(row.row.task.protocols for row in rows))
    return [
        text for kind in kinds for text in _table([row for row in rows if row.row.task.protocols == kind])
    ]


def _table(rows: list[RowOutcome]) -> list[str]:
    metrics = [metric for metric, _ in rows[0].row.task.metrics]
    compared = any(row.row.paper for row in rows)
    lines = [
        "| data | method | " + " | ".join(metrics) + " | users | fit s |",
        "|:--|:--|" + "--:|" * (len(metrics) + 2),
    ]
    for row in rows:
        found = {f.metric: f for f in findings(row)}
        cells = [_cell(found[metric], compared) for metric in metrics]
        first = row.records[0]
        evaluated = min(users for _, _, users in first.metrics.values())
        users = f"{first.users:,}" if evaluated == first.users else f"{evaluated:,} of {first.users:,}"
        seconds = float(np.mean([record.fit_seconds for record in row.records]))
        title = row.row.task.title + (" (stand-in)" if row.other_data else "")
        lines.append(f"| {title} | {row.row.label} | {' | '.join(cells)} | {users} | {seconds:.2f} |")
    seeds = sorted({len(row.records) for row in rows})
    key = f"Means ± standard deviations over {' or '.join(map(str, seeds))} seeds"
    if compared:
        key += "; below them the paper's number and the verdict"
    protocols = [f"`{name}: {Protocol.named(name)}`" for name in rows[0].row.task.protocols]
    return ["\n".join(lines), f"{key}. {'; '.join(protocols)}"]


def _cell(found: Finding, compared: bool) -> str:
    lines = [number(found.everybody, found.sd)]
    if compared:
        lines.append("-" if found.paper is None else f"{found.paper:.4f} {found.verdict or ''}".rstrip())
    return "<br>".join(lines).replace(" ", "\N{NO-BREAK SPACE}")  # a narrow page breaks between numbers only


def number(value: float, sd: float | None) -> str:
    """A mean with its spread."""
    return f"{value:.4f}" if sd is None else f"{value:.4f} ± {sd:.4f}"
