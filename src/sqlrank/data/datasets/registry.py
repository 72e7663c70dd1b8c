"""The data sets by name."""

from __future__ import annotations

import os
from importlib import import_module

from sqlrank.data.datasets.dataset import Dataset, share_vocabularies
from sqlrank.data.datasets.folders import locate
from sqlrank.data.datasets.spec import Spec
from sqlrank.data.ids import close_matches
from sqlrank.errors import ConfigError

__all__ = ["find", "load", "names"]

# Which module knows which data sets: `import sqlrank` need not load them all.
_FAMILIES = {
    "movielens": ("ml-1m", "ml-100k"),
    "oneclass": ("ml-1m-oc50",),
    "lightgcn": ("ml-1m-70-10-20", "gowalla"),
    "foursquare": ("foursquare", "foursquare-with-tips"),
    "amazon": ("amazon-musical-instruments",),
    "unbiased": ("coat", "yahoo-r3"),
    "retail": ("online-retail",),
}
_SPECS: dict[str, Spec] = {}


def names() -> list[str]:
    """The names that :func:`load` knows.

    >>> "ml-1m" in names()
    True
    """
    return [name for family in _FAMILIES.values() for name in family]


def find(name: str) -> Spec:
    """What is known about a data set; :class:`ConfigError` with a close match when there is none."""
    family = next((module for module, members in _FAMILIES.items() if name in members), None)
    if family is None:
        hint = close_matches(str(name), names())
        raise ConfigError(f"There is no data set called {name!r}{hint}; there are {', '.join(names())}.")
    if name not in _SPECS:
        _SPECS.update({spec.name: spec for spec in import_module(f"{__package__}.{family}").SPECS})
    return _SPECS[name]


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """A named data set from files on this machine.

    ``data_dir`` is the folder that holds the data sets' folders (``data_dir/ml-1m/ratings.dat``), or one of
    these itself; by default SQLRANK_DATA, then the user's cache, where :func:`fetch` puts its downloads. The
    files may lie as their owner publishes them. Nothing is written.

    >>> load("ml-1m", "no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sqlrank.errors.DataError: The data set 'ml-1m' was not found: looked for ratings.dat or ...
    """
    spec = find(name)
    folder, layout = locate(spec, data_dir)
    loaded = layout.load(folder)
    return Dataset(
        name,
        **share_vocabularies(loaded.parts, loaded.user_ids, loaded.item_ids),
        items=loaded.items,
        users=loaded.users,
        description=f"{spec.title}. Read from {folder} ({layout.what}). Cite: {spec.citation}",
    )
