"""Training: the epoch loop, callbacks, early stopping, progress; and the trainer of the list-loss models."""

from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun, WholeOrNothing, history_table
from sqlrank.training.early_stopping import EarlyStopping
from sqlrank.training.progress import PlainProgress, RichProgress, progress_callback

__all__ = [
    "Callback",
    "EarlyStopping",
    "EpochRecord",
    "PlainProgress",
    "RichProgress",
    "TrainingRun",
    "WholeOrNothing",
    "history_table",
    "progress_callback",
]
