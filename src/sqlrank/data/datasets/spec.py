"""What the registry knows about a data set: where its files are, how they are laid out, how to get them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary

__all__ = ["Counts", "Download", "Layout", "Loaded", "Source", "Spec"]


@dataclass(frozen=True)
class Loaded:
    """What a layout's loader returns: the parts (train, validation, test) and the tables."""

    parts: dict[str, Interactions]
    items: pl.DataFrame | None = None
    users: pl.DataFrame | None = None
    user_ids: Vocabulary | None = None
    """All users there are, where the files number them and some have no events; likewise the items."""
    item_ids: Vocabulary | None = None


@dataclass(frozen=True)
class Layout:
    """One way in which the files of a data set may lie in its folder."""

    what: str
    files: tuple[str, ...]
    """Files that must all be there; the first layout that is complete is read."""
    load: Callable[[Path], Loaded]


@dataclass(frozen=True)
class Counts:
    """The published sizes."""

    users: int
    items: int
    train: int
    validation: int = 0
    test: int = 0


@dataclass(frozen=True)
class Download:
    """One file of its owner. Alternative addresses are tried in turn."""

    urls: tuple[str, ...]
    file: str
    """Its name in the data set's folder; a ``.zip`` is unpacked there, without its top folder."""
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """Where the owner publishes the data."""

    page: str
    """The page for people, with the terms of use."""
    downloads: tuple[Download, ...] = ()
    """Empty where the owner gives the files only on request."""


@dataclass(frozen=True)
class Spec:
    """A named data set."""

    name: str
    title: str
    folders: tuple[str, ...]
    """Names that its folder may have; downloads go into the first."""
    layouts: tuple[Layout, ...]
    source: Source
    citation: str
    counts: Counts
