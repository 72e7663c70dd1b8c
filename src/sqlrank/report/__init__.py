"""`report.html`: one self-contained page about a fitted model."""

from sqlrank.report.fit_report import FitFacts, fit_report

__all__ = ["FitFacts", "fit_report"]
