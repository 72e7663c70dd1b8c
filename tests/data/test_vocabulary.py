import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrank.data import Vocabulary, vocabulary
from sqlrank.errors import DataError

NAMES = ["bob", "ann", "bob", "zoe"]


@pytest.mark.parametrize(
    "values",
    [
        NAMES,
        tuple(NAMES),
        iter(NAMES),
        np.array(NAMES),
        np.array(NAMES, object),
        pl.Series(NAMES),
        pl.Series(NAMES, dtype=pl.Categorical),
        pd.Series(NAMES),
        pd.Series(NAMES, dtype=object),
        pd.Series(NAMES, dtype="category"),
        pa.array(NAMES),
        pa.chunked_array([NAMES[:1], NAMES[1:]]),
    ],
    ids=lambda values: type(values).__module__ + "." + type(values).__name__,
)
def test_same_vocabulary_from_any_container(values):
    assert Vocabulary.from_values(values).ids.to_list() == ["ann", "bob", "zoe"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float64"])
def test_integers_are_widened(dtype):
    vocabulary = Vocabulary.from_values(np.array([5, 3, 5], dtype))
    assert vocabulary.ids.dtype == pl.Int64
    assert vocabulary.ids.to_list() == [3, 5]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(st.text(max_size=5)))
def test_encode_and_decode_are_inverse(values):
    vocabulary = Vocabulary.from_values(values)
    codes = vocabulary.encode(values)
    assert codes.dtype == np.int32
    assert vocabulary.decode(codes).to_list() == values
    assert vocabulary.ids.to_list() == sorted(
        set(values), key=lambda v: v.encode() if isinstance(v, str) else v
    )


def test_lookup_marks_the_unknown():
    codes, known = Vocabulary.from_values(["a", "b"]).lookup(["b", "x", "a"])
    assert codes.tolist() == [1, 0, 0]
    assert known.tolist() == [True, False, True]
    codes, known = Vocabulary.range(3).lookup([2, -1, 3, 0])
    assert codes.tolist() == [2, 0, 0, 0]
    assert known.tolist() == [True, False, False, True]


def test_lookup_never_confuses_a_null_or_another_type():
    assert not Vocabulary.from_values(["1"]).lookup([1])[1].any()
    assert not Vocabulary.from_values([1]).lookup(["1"])[1].any()
    assert Vocabulary.range(2).lookup([None, 1])[1].tolist() == [False, True]


def test_unknown_ids_are_named_with_near_misses():
    vocabulary = Vocabulary.from_values(["alice", "bob"])
    with pytest.raises(DataError, match=r"'alicia' \(did you mean 'alice'\?\), 'qq'"):
        vocabulary.encode(["bob", "alicia", "qq"])
    with pytest.raises(DataError, match="strings, but 7"):
        vocabulary.encode([7])


def test_extended_keeps_codes():
    old = Vocabulary.from_values(["m", "b"])
    new = old.extended(["z", "a", "b", "z"])
    assert new.ids.to_list() == ["b", "m", "a", "z"]
    assert old.extended(["b"]) is old
    with pytest.raises(DataError, match="strings, but 1"):
        old.extended([1])
    assert Vocabulary.range(0).extended(["x"]).ids.to_list() == ["x"]


def test_equality_is_by_content():
    assert Vocabulary.range(3) == Vocabulary.from_values([2, 0, 1])
    assert Vocabulary.range(3) != Vocabulary.range(4)
    assert Vocabulary.from_values(["1"]) != Vocabulary.from_values([1])
    assert Vocabulary.range(3) != "something else"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "1"], "mixed type: 1 (int, row 1), '1' (str, row 2)"),
        ([1.5], "not a whole number"),
        ([2.0**60], "not a whole number"),
        ([2**63], "64 signed bits"),
        (np.array([2**63], np.uint64), "64 signed bits"),
        ([True], "True (bool"),
        ([(1, 2)], "cannot be an id"),
        ("abc", "wrap it in a list"),
        ([None, 1], "null id"),
        ([float("nan"), 1], "null id"),
        (np.ones((2, 2)), "array of shape (2, 2)"),
        (pl.Series([[1]]), "cannot be ids"),
        (pd.Series([1, "1"]), "mixed type"),
    ],
)
def test_bad_ids(values, message):
    with pytest.raises(DataError) as caught:
        Vocabulary.from_values(values)
    assert message in str(caught.value)


def test_constructor_checks():
    with pytest.raises(DataError, match="3 appears more than once"):
        Vocabulary(pl.Series([3, 1, 3]))
    with pytest.raises(DataError, match="null"):
        Vocabulary(pl.Series(["a", None]))


@pytest.mark.parametrize("codes", [[2], [-1], [0.5], [[0]]])
def test_decode_refuses_what_is_no_code(codes):
    with pytest.raises(DataError):
        Vocabulary.range(2).decode(codes)


def test_size_limit(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_IDS", 3)
    assert len(Vocabulary.from_values([1, 2, 3])) == 3
    for build in (lambda: Vocabulary.from_values([1, 2, 3, 4]), lambda: Vocabulary.range(4)):
        with pytest.raises(DataError, match="31 bits"):
            build()
