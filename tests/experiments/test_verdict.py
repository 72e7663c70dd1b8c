"""Verdicts and claims on numbers made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sqlrank.experiments.definition import Claim, Row, load_experiment
from sqlrank.experiments.trial import Record
from sqlrank.experiments.verdict import finding, judge

ROW = load_experiment("table3").rows[0]


def record(
    value: float, evaluated: int = 100, curve: list[tuple[int, float, dict[str, float]]] | None = None
) -> Record:
    metrics = {f"precision@{k}": (value, 0.02, evaluated) for k in (1, 5, 10)}
    return Record(metrics, 100, (10, 10), 1.0, curve or [], "run")


def printed(value: float) -> Row:
    return replace(ROW, paper={"precision@1": value})


@pytest.mark.parametrize(
    ("paper", "verdict"),
    [(0.53, "reproduces"), (0.48, "reproduces"), (0.56, "falls short"), (0.40, "exceeds")],
)
def test_within_three_standard_errors_of_the_difference(paper: float, verdict: str) -> None:
    # Two seeds 0.49 and 0.51: sd 0.01414, error of the difference sqrt(0.0002 * 1.5) = 0.01732, three of them 0.052.
    found = finding(printed(paper), "precision@1", [record(0.49), record(0.51)], other_data=False)
    assert found.mean == pytest.approx(0.5)
    assert found.error == pytest.approx(math.sqrt(0.0002 * 1.5))
    assert found.verdict == verdict


def test_other_data_add_the_errors_over_users() -> None:
    found = finding(printed(0.25), "precision@1", [record(0.5), record(0.5)], other_data=True)
    assert ROW.task.paper_users == 3937
    assert found.error == pytest.approx(0.02 * math.sqrt(1 + 100 / 3937))  # 0.02 is the error over 100 users


def test_users_with_nothing_to_find_count_as_the_paper_counts_them() -> None:
    found = finding(
        printed(0.4), "precision@1", [record(0.5, evaluated=80), record(0.5, evaluated=80)], other_data=False
    )
    assert found.mean == 0.5 and found.everybody == 0.4


def test_no_verdict_without_a_printed_number_or_with_one_seed() -> None:
    assert finding(printed(0.4), "precision@5", [record(0.5), record(0.4)], other_data=False).verdict is None
    assert finding(printed(0.4), "precision@1", [record(0.5)], other_data=False).verdict is None


def test_claims() -> None:
    measured = {"a": [record(0.5)], "b": [record(0.46)], "c": [record(0.4)]}
    more = Claim("", "precision@1", better="a", worse="b", factor=1.1)
    assert judge(more, measured).holds is False
    assert judge(replace(more, factor=1.05), measured).holds is True
    assert judge(replace(more, worse="z"), measured).holds is None
    assert judge(more, {**measured, "b": [record(0.0)]}).holds is True
    assert judge(Claim("", "precision@1", rising=("c", "b", "a")), measured).holds is True
    assert judge(Claim("", "precision@1", rising=("c", "a", "b")), measured).holds is False


def test_reached_in_time_by_the_slowest_seed() -> None:
    curves = [[(1, 0.2, {"precision@1": 0.6}), (2, late, {"precision@1": 0.75})] for late in (0.4, 0.9)]
    measured = {"a": [record(0.75, curve=curve) for curve in curves]}
    claim = Claim("", "precision@1", method="a", reaches=0.73, within=1.0)
    assert judge(claim, measured).holds is True
    assert judge(replace(claim, within=0.5), measured).holds is False
    assert judge(replace(claim, reaches=0.8), measured).holds is False
    assert "0.90 s" in judge(claim, measured).found
