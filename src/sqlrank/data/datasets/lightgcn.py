"""Implicit splits in LightGCN's layout, ``user item item ...`` per line: Gowalla, MovieLens-1M 70/10/20."""

from __future__ import annotations

from pathlib import Path

from sqlrank.data.datasets.events import to_interactions
from sqlrank.data.datasets.spec import Counts, Download, Layout, Loaded, Source, Spec
from sqlrank.data.datasets.tables import read_lists, read_parquet

__all__ = ["SPECS"]

# One commit of the owners' repository: the address itself fixes the content.
_REPOSITORY = (
    "https://raw.githubusercontent.com/geon0325/LightGCNpp/a18af1e1f65dc4b6a432ce5aeaae5bbe75ac1c2e/data"
)
_PARTS = {"train": "train", "valid": "validation", "test": "test"}


def _load_lists(folder: Path) -> Loaded:
    parts = {}
    for file, part in _PARTS.items():
        path = folder / f"{file}.txt"
        if path.is_file():
            parts[part] = to_interactions(read_lists(path), path)
    return Loaded(parts)


def _load_parquet(folder: Path) -> Loaded:
    parts = {}
    for file, part in _PARTS.items():
        path = folder / f"{file}.parquet"
        parts[part] = to_interactions(read_parquet(path, ["user", "item"]), path)
    return Loaded(parts)


def _layouts(two_parts: bool) -> tuple[Layout, ...]:
    layouts = [
        Layout("LightGCN++", ("train.txt", "valid.txt", "test.txt"), _load_lists),
        Layout("parquet", ("train.parquet", "valid.parquet", "test.parquet"), _load_parquet),
    ]
    if two_parts:
        layouts.append(
            Layout("LightGCN, whose train holds the validation part", ("train.txt", "test.txt"), _load_lists)
        )
    return tuple(layouts)


def _source(folder: str) -> Source:
    downloads = tuple(Download((f"{_REPOSITORY}/{folder}/{file}.txt",), f"{file}.txt") for file in _PARTS)
    return Source("https://github.com/geon0325/LightGCNpp", downloads)


_LIGHTGCN = "G. Lee, K. Kim and K. Shin (2024), Revisiting LightGCN, RecSys"

SPECS = (
    Spec(
        name="gowalla",
        title="Gowalla check-ins, the LightGCN split with a validation part (not a uniformly random split)",
        folders=("gowalla",),
        layouts=_layouts(two_parts=True),
        source=_source("gowalla"),
        citation=f"E. Cho, S. A. Myers and J. Leskovec (2011), Friendship and Mobility, KDD; {_LIGHTGCN}.",
        counts=Counts(29_858, 40_981, 719_081, 91_047, 217_242),
    ),
    Spec(
        name="ml-1m-70-10-20",
        title="MovieLens-1M as implicit feedback, split 70/10/20 by the authors of LightGCN++",
        folders=("ml-1m-70-10-20",),
        layouts=_layouts(two_parts=False),
        source=_source("ml-1m"),
        citation=f"F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets, ACM TiiS; {_LIGHTGCN}.",
        counts=Counts(6_039, 3_628, 590_733, 80_897, 164_848),
    ),
)
