"""Does a number reproduce the paper's? Both are means with an error; so is their difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sqlrank.experiments.definition import Claim, Row
from sqlrank.experiments.trial import Record

__all__ = ["Finding", "Judged", "finding", "judge"]

REPRODUCES, EXCEEDS, FALLS_SHORT = "reproduces", "exceeds", "falls short"
LIMIT = 3.0  # standard errors of the difference


@dataclass(frozen=True)
class Finding:
    """One metric of one row: ours over the seeds, the paper's, the error of the difference, the verdict."""

    metric: str
    mean: float
    sd: float | None
    everybody: float
    paper: float | None
    error: float | None
    verdict: str | None


def finding(row: Row, metric: str, records: Sequence[Record], *, other_data: bool) -> Finding:
    """Set our numbers beside the paper's.

    The error of the difference. The paper's number is one run, ours the mean of n: sd² (1 + 1/n), the sd over seeds
    (which draw the split, too, where it is drawn). Where the data are not the paper's own, other users are measured:
    our standard error over users counts, and the paper's, which is ours for its number of users.
    """
    means = [record.metrics[metric][0] for record in records]
    everybody = [record.everybody(metric) for record in records]
    mean, ours = float(np.mean(means)), float(np.mean(everybody))
    sd = float(np.std(everybody, ddof=1)) if len(records) > 1 else None
    printed = row.paper.get(metric)
    if printed is None or sd is None:
        return Finding(metric, mean, sd, ours, printed, None, None)
    variance = sd**2 * (1 + 1 / len(records))
    if other_data:
        variance += _users_variance(metric, records, row.task.paper_users)
    error = math.sqrt(variance)
    return Finding(metric, mean, sd, ours, printed, error, _verdict(ours - printed, error))


def _users_variance(metric: str, records: Sequence[Record], paper_users: int | None) -> float:
    """Of the mean over our users, and of a mean over as many as the paper had."""
    errors = [record.metrics[metric][1] for record in records]
    own = float(np.mean([error or 0.0 for error in errors])) ** 2
    users = float(np.mean([record.metrics[metric][2] for record in records]))
    return own * (1 + users / (paper_users or users))


def _verdict(difference: float, error: float) -> str:
    if abs(difference) <= LIMIT * error:
        return REPRODUCES
    return EXCEEDS if difference > 0 else FALLS_SHORT


@dataclass(frozen=True)
class Judged:
    """A claim, what the numbers say, and whether it holds (None: nothing was measured)."""

    text: str
    holds: bool | None
    found: str


def judge(claim: Claim, measured: Mapping[str, Sequence[Record]]) -> Judged:
    """Look whether the numbers of the methods show what the paper concludes."""
    if claim.rising:
        return _rising(claim, measured)
    if claim.method is not None:
        return _reached(claim, measured)
    assert claim.better is not None and claim.worse is not None
    if not {claim.better, claim.worse} <= measured.keys():
        return Judged(claim.text, None, "not measured")
    better, worse = (_mean(measured[name], claim.metric) for name in (claim.better, claim.worse))
    more = f": {better / worse - 1:+.1%}" if worse else ""
    found = f"{claim.metric} {better:.4f} against {worse:.4f}{more}"
    return Judged(claim.text, better >= claim.factor * worse, found)


def _rising(claim: Claim, measured: Mapping[str, Sequence[Record]]) -> Judged:
    if not set(claim.rising) <= measured.keys():
        return Judged(claim.text, None, "not measured")
    values = [_mean(measured[name], claim.metric) for name in claim.rising]
    rises = all(later > earlier for earlier, later in pairwise(values))
    course = ", ".join(f"{name}: {value:.4f}" for name, value in zip(claim.rising, values, strict=True))
    return Judged(claim.text, rises, course)


def _reached(claim: Claim, measured: Mapping[str, Sequence[Record]]) -> Judged:
    if claim.method is None or claim.method not in measured or claim.reaches is None or claim.within is None:
        return Judged(claim.text, None, "not measured")
    times = []
    for record in measured[claim.method]:
        there = [seconds for _, seconds, values in record.curve if values[claim.metric] >= claim.reaches]
        times.append(min(there, default=math.inf))
    worst = max(times)
    when = f"after {worst:.2f} s at the latest" if worst < math.inf else "not with every seed"
    found = f"{claim.method} reaches {claim.metric} {claim.reaches:g} {when} ({len(times)} seeds)"
    return Judged(claim.text, worst <= claim.within, f"{found}; {claim.within:g} s were asked")


def _mean(records: Sequence[Record], metric: str) -> float:
    return float(np.mean([record.everybody(metric) for record in records]))
