"""The paper's experiments as data, and one runner: `sqlrank reproduce`."""

from sqlrank.experiments.definition import Experiment, load_experiment, names
from sqlrank.experiments.runner import Outcome, reproduce

__all__ = ["Experiment", "Outcome", "load_experiment", "names", "reproduce"]
