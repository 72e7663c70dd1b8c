"""The command line: one thin module per command; stdout is data, stderr is talk."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of this process) and return its exit code."""
    from sqlrank.cli.app import run

    return run(argv)
