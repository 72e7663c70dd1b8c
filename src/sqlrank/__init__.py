"""sqlrank: one personalised order of the items for every user, learnt from ratings or clicks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrank._public import *  # noqa: F403 # the public names are listed in one place


def __getattr__(name: str) -> Any:
    # Numpy and polars are imported with the first public name, so that `sqlrank --help` does without.
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'sqlrank' has no attribute {name!r}")
    public = import_module("sqlrank._public")
    if hasattr(public, name):
        globals()[name] = getattr(public, name)
        return globals()[name]
    try:
        return import_module(f"sqlrank.{name}")  # sqlrank.plotting
    except ModuleNotFoundError:
        raise AttributeError(f"module 'sqlrank' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
