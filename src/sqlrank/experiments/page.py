"""The docs page of the reproduction: made from the results, and from nothing else."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlrank.errors import ConfigError
from sqlrank.experiments.definition import EPOCHS, Experiment, load_experiment
from sqlrank.experiments.preparation import miniature
from sqlrank.experiments.report import findings, judgements, markdown
from sqlrank.experiments.runner import Outcome, RowOutcome
from sqlrank.experiments.trial import Record

__all__ = ["load_outcomes", "page_text", "save_outcomes", "write_page"]

HEAD = """# The paper's tables and figures, run again

Made by the command below from the numbers in `reproduction.json`; do not edit.

    sqlrank reproduce all --data-dir DATA -o results/ --page docs/

Under each of our numbers stands the paper's, and what comes of the comparison: *reproduces* when the two lie within
three standard errors of their difference, else *exceeds* or *falls short*. The paper's number is one run, ours the mean
of several seeds (of the fit, and of the split where it is drawn): the variance of the difference is sd² (1 + 1/seeds).
Where other data stand in for the paper's (marked *stand-in*), the errors over users of both sides come on top, and the
verdict says little. Precision is taken as the paper takes it: over all users with training events, also those for whom
the test holds nothing to find.
"""


def write_page(outcomes: Sequence[Outcome], folder: Path, facts: dict[str, Any]) -> list[Path]:
    """Write reproduction.md, its numbers, and the figures of the experiments with curves."""
    from sqlrank.experiments.figures import draw
    from sqlrank.plotting import save

    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    numbers, page = folder / "reproduction.json", folder / "reproduction.md"
    drawn = []
    for outcome in outcomes:
        try:
            drawn.append(save(draw(outcome), images / _figure(outcome.experiment)))
        except ConfigError:  # all of its rows were skipped
            continue
    save_outcomes(outcomes, numbers, {**facts, "figures": [path.name for path in drawn]})
    page.write_text(page_text(numbers), "utf-8")
    return [page, numbers, *drawn]


def page_text(numbers: Path) -> str:
    """The page of saved results."""
    outcomes, facts = load_outcomes(numbers)
    machine = ", ".join(f"{name} {value}" for name, value in facts.items() if name != "figures")
    parts = [HEAD, f"Measured with {machine}.\n", "## In short\n\n" + _summary(outcomes)]
    for outcome in outcomes:
        figure = _figure(outcome.experiment)
        shown = f"\n![{outcome.experiment.title}](images/{figure})\n" if figure in facts["figures"] else ""
        parts.append(markdown(outcome, "##") + shown)
    return "\n".join(parts)


def _summary(outcomes: Sequence[Outcome]) -> str:
    lines = [
        "| experiment | reproduces | exceeds | falls short | claims that hold | not run |",
        "|:--|" + "--:|" * 5,
    ]
    for outcome in outcomes:
        verdicts = Counter(
            found.verdict for row in outcome.rows if not row.other_data for found in findings(row)
        )
        claims = [judged.holds for judged in judgements(outcome)]
        counts = [str(verdicts[word] or "") for word in ("reproduces", "exceeds", "falls short")]
        held = f"{claims.count(True)} of {len(claims)}" if claims else ""
        skipped = sum(row.skipped is not None for row in outcome.rows)
        lines.append(f"| {outcome.experiment.id} | {' | '.join(counts)} | {held} | {skipped or ''} |")
    return "\n".join(lines) + "\n\nNumbers of metrics, stand-ins left out.\n"


def _figure(experiment: Experiment) -> str:
    return f"reproduction-{experiment.id}.png"


def save_outcomes(outcomes: Sequence[Outcome], path: Path, facts: dict[str, Any]) -> None:
    """Keep the results of shipped experiments; curves over epochs are left out, they are drawn and nothing else."""
    listed = {
        outcome.experiment.id: [
            {
                "settings": row.settings,
                "records": [_lean(record, outcome.experiment) for record in row.records],
                "other_data": row.other_data,
                "skipped": row.skipped,
            }
            for row in outcome.rows
        ]
        for outcome in outcomes
    }
    path.write_text(json.dumps({"facts": facts, "experiments": listed}, indent=1) + "\n", "utf-8")


def _lean(record: Record, experiment: Experiment) -> dict[str, Any]:
    values = dataclasses.asdict(record)
    if experiment.kind == EPOCHS:
        values["curve"] = []
    return values


def load_outcomes(path: Path) -> tuple[list[Outcome], dict[str, Any]]:
    """Take back what :func:`save_outcomes` has written."""
    saved = json.loads(path.read_text("utf-8"))
    small = bool(saved["facts"].get("small"))
    outcomes = []
    for name, rows in saved["experiments"].items():
        experiment = load_experiment(name)
        experiment = miniature(experiment) if small else experiment
        outcomes.append(
            Outcome(experiment, [_row(row, kept) for row, kept in zip(experiment.rows, rows, strict=True)])
        )
    return outcomes, saved["facts"]


def _row(row: Any, kept: dict[str, Any]) -> RowOutcome:
    records = [Record.from_dict(record) for record in kept["records"]]
    return RowOutcome(row, kept["settings"], records, kept["other_data"], kept["skipped"])
