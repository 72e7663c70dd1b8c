"""Directories whose checksums are right and whose arrays are not: they must not reach the kernels."""

import numpy as np
import pytest

import sqlrank
from sqlrank.errors import FormatError
from sqlrank.storage import load_model
from sqlrank.storage.tensors import map_arrays, write_arrays
from sqlrank.testing import example_events

MODELS = {
    "SQLRank": sqlrank.SQLRank(rank=5, epochs=2),
    "MatrixFactorization": sqlrank.MatrixFactorization(rank=3, epochs=2),
    "LinearRanker": sqlrank.LinearRanker(rank=2, epochs=2),
    "ItemKNN": sqlrank.ItemKNN(weights="values"),
    "EASE": sqlrank.EASE(weights="values"),
    "Popularity": sqlrank.Popularity(),
    "Random": sqlrank.Random(),
}


def shifted(array):
    return array + 1


def wild(array):
    array[:] = 2**30
    return array


def negative(array):
    array[-1] = -1
    return array


def falling(array):
    array[1] = array[-1] + 2**40
    return array


def shorter(array):
    return array[:-1]


def wider(array):
    return array.astype(np.float64 if array.dtype == np.float32 else np.float32)


LISTS = [
    ("indices", wild),
    ("indices", negative),
    ("indices", shorter),
    ("indptr", shifted),
    ("indptr", falling),
    ("indptr", shorter),
    ("indptr", wider),
]
WRONG = [
    *[(model, f"seen_{part}", damage) for model in MODELS for part, damage in LISTS],
    *[("ItemKNN", f"neighbours_{part}", damage) for part, damage in LISTS],
    *[
        (model, name, damage)
        for model, name in [
            ("ItemKNN", "similarities"),
            ("ItemKNN", "seen_values"),
            ("EASE", "coefficients"),
            ("EASE", "seen_values"),
            ("Popularity", "counts"),
            ("SQLRank", "user_factors"),
            ("SQLRank", "item_factors"),
            ("SQLRank", "seen_values"),
            ("MatrixFactorization", "item_factors"),
            ("LinearRanker", "weights"),
            ("LinearRanker", "item_features"),
            ("LinearRanker", "user_features"),
        ]
        for damage in (shorter, wider)
    ],
]


@pytest.mark.parametrize(("model", "name", "damage"), WRONG)
def test_wrong_arrays_are_named_and_not_used(tmp_path, monkeypatch, model, name, damage):
    fitted = MODELS[model].fit(example_events(ratings=True), seed=0)

    def write(file, arrays):
        write_arrays(file, {**arrays, name: damage(arrays[name].copy())})

    monkeypatch.setattr("sqlrank.storage.directory.write_arrays", write)
    fitted.save(tmp_path / "model")
    lists = (
        name.removesuffix("indices") if damage is shorter else name
    )  # codes that lack are found by the offsets
    with pytest.raises(FormatError, match=rf"model is damaged: factors\.safetensors: {lists}"):
        load_model(tmp_path / "model", verify=True)


@pytest.mark.parametrize("seed", [-1, 2**64, "x", None, True])
def test_the_seed_of_random_is_checked(tmp_path, seed):
    model = sqlrank.Random().fit(example_events(), seed=0)
    model._seed = seed
    model.save(tmp_path / "model")
    with pytest.raises(FormatError, match=r"model\.json: seed is"):
        sqlrank.load(tmp_path / "model")


def test_arrays_that_start_anywhere_are_copied_into_place(tmp_path):
    """A header of other length than ours moves the arrays off their boundaries."""
    with (tmp_path / "arrays").open("wb") as file:
        write_arrays(file, {"numbers": np.arange(5)})
    content = (tmp_path / "arrays").read_bytes()
    length = int.from_bytes(content[:8], "little")
    moved = (length + 3).to_bytes(8, "little") + content[8 : 8 + length] + b"   " + content[8 + length :]
    (tmp_path / "arrays").write_bytes(moved)
    numbers = map_arrays(tmp_path / "arrays")["numbers"]
    assert numbers.flags.aligned
    assert numbers.tolist() == [0, 1, 2, 3, 4]


def test_a_header_nested_without_end(tmp_path):
    header = b"[" * 100_000
    (tmp_path / "arrays").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(FormatError, match="arrays is damaged"):
        map_arrays(tmp_path / "arrays")
