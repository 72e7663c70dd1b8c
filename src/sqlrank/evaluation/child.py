"""Run a function in a process of its own: its peak of memory is then its own, and so is its death.

A fresh interpreter, not a fork: threads (those of polars, of BLAS, of our pool) do not survive a fork, and a forked
child starts with all the pages of its parent in its peak. And not `multiprocessing`'s spawn, which runs the caller's
script once more and breaks scripts without ``if __name__ == "__main__"``.

Arguments and results travel as pickles through a private directory, between two processes of one user running the
same code; nothing here reads a pickle from anywhere else.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlrank.errors import SqlrankError

__all__ = ["can_travel", "in_child", "peak_memory", "reset_peak"]

_ENTRY = "from sqlrank.evaluation.child import main; main()"


def can_travel(kind: type) -> bool:
    """Whether another process can import this class: not when it stands in a script, a notebook or a function."""
    if kind.__module__ == "__main__":
        return False
    try:
        pickle.dumps(kind)
    except (pickle.PicklingError, AttributeError):
        return False
    return True


def in_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return `function(*arguments)`, computed by a fresh Python process; its exceptions are raised here."""
    with tempfile.TemporaryDirectory(prefix="sqlrank-") as folder:
        question, answer = Path(folder) / "question", Path(folder) / "answer"
        with question.open("wb") as stream:
            pickle.dump((function, arguments), stream, protocol=pickle.HIGHEST_PROTOCOL)
        code = _wait([sys.executable, "-c", _ENTRY, str(question), str(answer)])
        if not answer.exists():
            raise SqlrankError(_cause_of_death(code))
        with answer.open("rb") as stream:
            failed, value = pickle.load(stream)
    if failed:
        raise value
    return value


def main() -> None:
    """Answer one question: what the child runs."""
    question, answer = map(Path, sys.argv[1:3])
    with question.open("rb") as stream:
        function, arguments = pickle.load(stream)
    result: tuple[bool, Any]
    try:
        result = False, function(*arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # whatever it is, the parent is to know
        result = True, _portable(error)
    unfinished = answer.with_suffix(".part")
    with unfinished.open("wb") as stream:
        pickle.dump(result, stream, protocol=pickle.HIGHEST_PROTOCOL)
    unfinished.replace(answer)


def reset_peak() -> bool:
    """Start the count of the peak anew from what is in use now; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory() -> int | None:
    """The peak of this process's resident memory in bytes; None where the system does not tell."""
    try:
        # Not ru_maxrss on Linux: it is handed down from the process that started this one.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return None
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _wait(command: list[str]) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
    try:
        return process.wait()
    finally:
        if process.poll() is None:  # interrupted
            process.terminate()
            process.wait()


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an exception class may do anything when it is made again
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _cause_of_death(code: int) -> str:
    if code == -signal.SIGKILL:
        return "its process was killed (signal 9): most likely the machine ran out of memory"
    if code < 0:
        return f"its process died of {signal.Signals(-code).name}"
    return f"its process ended with exit code {code} and without an answer"
