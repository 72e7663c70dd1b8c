"""What a bug report needs to know about this machine."""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path

from sqlrank import _core
from sqlrank._threads import explain_threads

_PACKAGES = ("sqlrank", "numpy", "scipy", "polars", "safetensors", "rich", "implicit", "optuna", "matplotlib")


@functools.cache
def code_digest() -> str:
    """Return a digest of the installed package, sources and compiled parts: numbers of other code may differ."""
    import sqlrank

    digest = hashlib.sha256()
    files = {path for folder in sqlrank.__path__ for path in Path(folder).rglob("*") if path.is_file()}
    for path in sorted(files, key=lambda path: (path.name, str(path))):
        if path.suffix in (".py", ".so", ".dylib"):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return versions and machine facts as plain text, in printing order."""
    import platform
    from importlib import metadata

    threads, reason = explain_threads()
    facts = {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "instruction set": str(_core.isa),
        "threads": f"{threads} ({reason})",
    }
    for package in _PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def show_versions() -> None:
    """Print the versions and machine facts that belong into a bug report."""
    facts = versions()
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")
