"""Progress on the terminal, in a notebook, or as plain lines where neither is looking."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from sqlrank.errors import ConfigError
from sqlrank.training.callbacks import Callback, EpochRecord, TrainingRun

_BLOCKS = "▁▂▃▄▅▆▇█"


def progress_callback(progress: bool | str | Callback) -> Callback | None:
    """Return the callback for `progress`: True picks by where the output goes; "rich", "plain" and False say it."""
    if isinstance(progress, Callback):
        return progress
    if progress is False:
        return None
    if progress == "plain" or (progress is True and not _is_live(sys.stderr)):
        return PlainProgress()
    if progress == "rich" or progress is True:
        return RichProgress()
    raise ConfigError(f'progress is {progress!r}; it must be True, False, "rich", "plain" or a Callback')


def _is_live(stream: TextIO) -> bool:
    return stream.isatty() or "ipykernel" in sys.modules


def sparkline(values: list[float], width: int = 20) -> str:
    """Return the last values as a line of small bars, the lowest to the highest.

    >>> sparkline([1.0, 2.0, 3.0, 8.0])
    '▁▂▃█'
    """
    values = values[-width:]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[int((v - low) / span * (len(_BLOCKS) - 1) + 0.5)] for v in values)


def _speed(run: TrainingRun, seconds: float) -> str:
    return f"{run.entries / seconds / 1e6:.1f} M entries/s" if seconds > 0 else ""


class PlainProgress(Callback):
    """One line per `every` seconds (and for the last epoch), to stderr: for logs and pipes."""

    def __init__(self, every: float = 2.0, stream: TextIO | None = None) -> None:
        self.every = every
        self.stream = stream
        self._last = 0.0

    def before_training(self, run: TrainingRun) -> None:
        """Start the clock."""
        self._last = time.perf_counter()

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Print a line if it is time for one."""
        now = time.perf_counter()
        if now - self._last < self.every and record.epoch not in (1, run.epochs):
            return None
        self._last = now
        metrics = "".join(f"  {name} {value:.4f}" for name, value in record.metrics.items())
        speed = _speed(run, record.seconds)
        self._say(f"epoch {record.epoch}/{run.epochs}  objective {record.objective:.6g}{metrics}  {speed}")
        return None

    def after_training(self, run: TrainingRun) -> None:
        """Say why it ended early, if it did."""
        if run.stopped:
            self._say(f"stopped after epoch {len(run.history)}: {run.stopped}")

    def _say(self, line: str) -> None:
        print(line, file=self.stream or sys.stderr, flush=True)


class RichProgress(Callback):
    """One live line per run: bar, epoch, objective, validation metric with its course, speed, time left."""

    def __init__(self, console: Any = None) -> None:
        self.console = console
        self._bar: Any = None
        self._task: Any = None

    def before_training(self, run: TrainingRun) -> None:
        """Open the live line."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(compact=True),
            console=self.console or Console(stderr=True),
        )
        self._bar.start()
        self._task = self._bar.add_task(type(run.model).__name__, total=run.epochs, state="")

    def after_epoch(self, run: TrainingRun, record: EpochRecord) -> str | None:
        """Move the live line on."""
        self._bar.update(self._task, completed=record.epoch, state=self._state(run, record))
        return None

    def after_training(self, run: TrainingRun) -> None:
        """Close the live line; say why it ended early, if it did."""
        self._bar.stop()
        if run.stopped:
            self._bar.console.print(f"stopped after epoch {len(run.history)}: {run.stopped}")

    @staticmethod
    def _state(run: TrainingRun, record: EpochRecord) -> str:
        parts = [f"objective {record.objective:.6g}"]
        for name in record.metrics:
            course = [r.metrics[name] for r in run.history if name in r.metrics]
            parts.append(f"{name} {record.metrics[name]:.4f} {sparkline(course)}")
        return "  ".join([*parts, _speed(run, record.seconds)])
