"""Metrics, protocols and the evaluation of models."""

from sqlrank.evaluation.compare import compare
from sqlrank.evaluation.comparison import Comparison
from sqlrank.evaluation.evaluate import evaluate
from sqlrank.evaluation.names import KINDS, Metric, MetricKind, parse_metric, parse_metrics
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.result import Evaluation, Summary
from sqlrank.evaluation.significance import Difference, paired_bootstrap
from sqlrank.evaluation.task import EventCounts, UserCounts

__all__ = [
    "KINDS",
    "Comparison",
    "Difference",
    "Evaluation",
    "EventCounts",
    "Metric",
    "MetricKind",
    "Protocol",
    "Summary",
    "UserCounts",
    "compare",
    "evaluate",
    "paired_bootstrap",
    "parse_metric",
    "parse_metrics",
]
