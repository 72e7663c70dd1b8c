"""Metrics, protocols and the evaluation of models."""

from sqlrank.evaluation.evaluate import evaluate
from sqlrank.evaluation.names import KINDS, Metric, MetricKind, parse_metric, parse_metrics
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.result import Evaluation, Summary
from sqlrank.evaluation.task import EventCounts, UserCounts

__all__ = [
    "KINDS",
    "Evaluation",
    "EventCounts",
    "Metric",
    "MetricKind",
    "Protocol",
    "Summary",
    "UserCounts",
    "evaluate",
    "parse_metric",
    "parse_metrics",
]
