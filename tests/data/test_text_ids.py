"""Ids of text files: integers in one file and strings in the next are the same ids."""

import pickle

import polars as pl
import pytest

import sqlrank
from sqlrank.data import Vocabulary, read
from sqlrank.data.datasets.dataset import share_vocabularies
from sqlrank.errors import DataError

MIXED = "user,item\n1,85123A\n1,22423\n2,22423\n2,71053\n3,85123A\n3,71053\n"
DIGITS = "user,item\n1,71053\n3,22423\n4,22423\n4,10002\n"


@pytest.fixture
def mixed(tmp_path):
    return _read(tmp_path / "mixed.csv", MIXED)


@pytest.fixture
def digits(tmp_path):
    return _read(tmp_path / "digits.csv", DIGITS)


def _read(path, text):
    path.write_text(text)
    return read(path, verbose=False)


def _model():
    return sqlrank.SQLRank(rank=2, epochs=2, feedback="implicit")


def test_integers_from_text_are_remembered(mixed, digits):
    assert (mixed.items.ids.dtype, digits.items.ids.dtype) == (pl.String, pl.Int64)
    assert (mixed.items.read_from_text, digits.items.read_from_text) == (False, True)
    kept = digits.filter(min_item_events=2).items
    assert kept.ids.to_list() == [22423]
    for same in (kept, pickle.loads(pickle.dumps(kept)), Vocabulary.from_values(kept.ids)):
        assert same.read_from_text
    assert digits.items == Vocabulary.from_values(digits.items.ids.to_list())
    assert not Vocabulary.from_values(digits.items.ids.to_list()).read_from_text


def test_text_beside_a_typed_source_is_typed(tmp_path):
    (tmp_path / "1.csv").write_text("user,item\n1,2\n")
    pl.DataFrame({"user": [3], "item": [4]}).write_parquet(tmp_path / "2.parquet")
    assert not read(f"{tmp_path}/?.*", verbose=False).items.read_from_text


def test_vocabularies_meet_in_both_directions(mixed, digits):
    spelt = digits.with_vocabularies(digits.users, mixed.items.extended(["10002"])).to_table()
    assert sorted(spelt.rows()) == [(user, str(item)) for user, item in sorted(digits.to_table().rows())]
    strings, integers = mixed.items, digits.items
    assert strings.lookup(integers.ids)[1].tolist() == [False, True, True]
    assert strings.encode(integers.decode([1])).tolist() == [0]
    grown = strings.extended(integers.ids)
    assert grown.ids.to_list() == [*strings.ids, "10002"]

    assert integers.lookup(strings.ids)[1].tolist() == [True, True, False]
    grown = integers.extended(strings.ids)
    assert grown.ids.to_list() == ["10002", "22423", "71053", "85123A"]
    assert not grown.read_from_text
    assert integers.extended(["22423"]) is integers
    assert not integers.lookup(["022423"])[1].any()
    with pytest.raises(DataError, match="Unknown ids: '7'"):
        strings.encode(Vocabulary.trusted(integers.ids.head(1).replace({10002: 7})).ids)


def test_integers_that_were_integers_never_equal_strings(mixed, digits):
    typed = Vocabulary.from_values([10002, 22423])
    for refuse in (mixed.items.encode, mixed.items.extended):
        with pytest.raises(DataError, match=r"strings, but 10002 was asked for \(integers\)"):
            refuse(typed.ids)
    with pytest.raises(DataError, match=r"integers, but '22423' was asked for \(strings\)"):
        typed.extended(mixed.items.ids)
    for first, second in ((digits.items, Vocabulary.from_values([5])), (typed, digits.items)):
        assert not first.extended(second.ids).read_from_text
    assert Vocabulary.from_values(digits.items.ids.head(1)).extended(digits.items.ids).read_from_text


def test_parts_of_a_data_set_share_their_ids(mixed, digits):
    parts = share_vocabularies({"train": digits, "test": mixed})
    assert parts["train"].items.ids.to_list() == ["10002", "22423", "71053", "85123A"]
    assert len(parts["train"]) == len(digits)


@pytest.mark.parametrize("saved", [False, True])
def test_a_nightly_file_of_digits_goes_on_with_a_model_of_strings(mixed, digits, saved, tmp_path):
    model = _model().fit(mixed, progress=False)
    if saved:
        model = sqlrank.load(model.save(tmp_path / "model"))
    table = model.recommend(histories=digits, n=1, exclude_seen=False, on_unknown="ignore")
    assert table.height == 3
    assert sqlrank.evaluate(model, digits, metrics=["ndcg@10"]) is not None
    held_out = sqlrank.evaluate(model, digits, metrics=["ndcg@10"], seen=mixed)
    assert held_out is not None
    model.partial_fit(digits, progress=False)
    assert model.items.ids.to_list() == ["22423", "71053", "85123A", "10002"]
    assert model.users.ids.to_list() == [1, 2, 3, 4]


def test_a_nightly_file_of_strings_goes_on_with_a_model_of_digits(mixed, digits):
    model = _model().fit(digits, progress=False)
    assert model.recommend(histories=mixed, n=1, exclude_seen=False, on_unknown="ignore").height == 3
    assert sqlrank.evaluate(model, mixed, metrics=["ndcg@10"]) is not None
    model.partial_fit(mixed, progress=False)
    assert model.items.ids.to_list() == ["10002", "22423", "71053", "85123A"]


def test_a_table_of_integers_still_raises(mixed):
    model = _model().fit(mixed, progress=False)
    events = read({"user": [1], "item": [22423]}, verbose=False)
    for use in (lambda: model.partial_fit(events), lambda: model.recommend(histories=events)):
        with pytest.raises(DataError, match="strings, but 22423"):
            use()
