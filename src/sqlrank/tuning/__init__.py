"""Tuning: search spaces made from the models' settings, and the search (extra `sqlrank[tune]`)."""

from sqlrank.tuning.result import TuningResult
from sqlrank.tuning.space import Space
from sqlrank.tuning.tune import tune

__all__ = ["Space", "TuningResult", "tune"]
