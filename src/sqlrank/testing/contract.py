"""``ModelContract``: what users of any model may rely on, as tests."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sqlrank.data import Interactions, read
from sqlrank.errors import ConfigError, DataError, NotFittedError
from sqlrank.models import ItemLists, Recommender
from sqlrank.testing.checks import assert_same_model, assert_well_formed, by_user, raises
from sqlrank.testing.data import example_events, example_table, with_silent_ids

__all__ = ["ModelContract"]


class ModelContract:
    """Subclass it in a test module and say how to make the model; pytest finds the rest.

    Set ``ratings = True`` for a model that learns from ratings.
    """

    ratings = False

    @abstractmethod
    def make_model(self) -> Recommender:
        """An unfitted model with settings that make it quick to fit."""

    def data(self, seed: int = 0) -> Interactions:
        """The events the model is fitted on."""
        return example_events(ratings=self.ratings, seed=seed)

    def history(self, items: list[Any]) -> list[Any]:
        """What somebody did: items, with ratings from 1 to 5 for a model that learns from them."""
        return [(item, 1.0 + place % 5) for place, item in enumerate(items)] if self.ratings else list(items)

    def fitted(self, **how: Any) -> Recommender:
        """A model fitted on :meth:`data`."""
        return self.make_model().fit(self.data(), **{"seed": 1, "threads": 2, **how})

    # --- fitting -----------------------------------------------------------------------------------------

    def test_fit_returns_the_model(self) -> None:
        model = self.make_model()
        settings = model.settings
        assert not model.is_fitted
        assert model.fit(self.data()) is model
        assert model.is_fitted
        assert model.settings == settings
        assert type(model).from_settings(settings).settings == settings
        assert type(model)(**model.get_params()).settings == settings

    def test_unfitted_model_says_so(self) -> None:
        model = self.make_model()
        for use in (
            lambda: model.recommend(users=["user 00"]),
            lambda: model.score(["user 00"], ["item 00"]),
            lambda: model.users,
            lambda: model.seen,
            lambda: model.save("never written"),
        ):
            with raises(NotFittedError):
                use()

    def test_second_fit_starts_afresh(self) -> None:
        again = self.make_model().fit(self.data(seed=5), seed=3)
        assert_same_model(again.fit(self.data(), seed=1), self.fitted())

    def test_same_seed_same_bits_for_any_threads(self) -> None:
        first = self.fitted(threads=1)
        for threads in (1, 2, 3, 8):
            assert_same_model(self.fitted(threads=threads), first)

    def test_order_of_rows_does_not_matter(self) -> None:
        shuffled = example_table(ratings=self.ratings).sample(fraction=1.0, shuffle=True, seed=3)
        assert_same_model(
            self.make_model().fit(read(shuffled, verbose=False), seed=1, threads=2), self.fitted()
        )

    def test_all_table_kinds(self) -> None:
        import pytest

        expected = self.fitted()
        table = example_table(ratings=self.ratings)
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
        columns = table.to_dict(as_series=False)
        sources = [table, table.lazy(), arrow.table(columns), table.to_pandas(), columns, table.rows()]
        for source in sources:
            assert_same_model(self.make_model().fit(read(source, verbose=False), seed=1, threads=2), expected)

    def test_integer_ids_and_read_only_arrays(self) -> None:
        data = self.data()
        columns: dict[str, Any] = {}
        for name, codes in (("user", data.user_codes), ("item", data.indices)):
            columns[name] = (100 + codes).astype(np.int64)
        if data.values is not None:
            columns["rating"] = data.values.copy()
        results = []
        for dtype in (np.int64, np.int32, np.uint16):
            given = {
                name: array if name == "rating" else array.astype(dtype) for name, array in columns.items()
            }
            for array in given.values():
                array.flags.writeable = False
            model = self.make_model().fit(read(given, verbose=False), seed=1, threads=2)
            assert_well_formed(model, model.recommend(users=np.unique(given["user"])[:3], n=4))
            results.append(model)
        assert results[0].users.ids.dtype == pl.Int64
        for other in results[1:]:
            assert_same_model(results[0], other)

    def test_users_and_items_without_events(self) -> None:
        model = self.make_model().fit(with_silent_ids(self.data()), seed=1)
        table = model.recommend(users=["user without events", "user 00"], n=5)
        assert_well_formed(model, table)

    def test_partial_fit_goes_on(self) -> None:
        model = self.fitted()
        partial_fit = getattr(model, "partial_fit", None)
        if partial_fit is None:
            return
        columns: dict[str, Any] = {"user": ["new user", "user 01"], "item": ["item 03", "new item"]}
        if self.ratings:
            columns["rating"] = [4.0, 2.0]
        old = model.users.ids
        assert partial_fit(read(columns, verbose=False), seed=2) is model
        assert model.users.ids.head(len(old)).equals(old)
        assert "new item" in model.items.ids
        table = model.recommend(users=["new user", "user 01"], n=30)
        assert_well_formed(model, table)
        assert "new item" not in by_user(table)["user 01"]

    # --- lists -------------------------------------------------------------------------------------------

    def test_lists_are_well_formed(self) -> None:
        model = self.fitted()
        for n in (1, 3, 10):
            table = model.recommend(n=n)
            assert_well_formed(model, table)
            assert table.group_by("user").len()["len"].max() == n

    def test_equal_scores_are_listed_by_code(self) -> None:
        model = self.fitted()
        users = np.arange(len(model.users), dtype=np.int32)
        ranked = model.rank_codes(users, len(model.items))
        inner = ranked.row_numbers[1:] == ranked.row_numbers[:-1]
        exactly = model.score_codes(ranked.row_numbers.astype(np.int32), ranked.items)
        assert exactly.tobytes() == ranked.scores.tobytes()
        # Rounded scores may be equal where the exact ones differ: look at twins of one another alone.
        same = model.score_codes(
            users[:1].repeat(len(model.items)), np.arange(len(model.items), dtype=np.int32)
        )
        if len(np.unique(same)) == 1:
            assert ranked.row(0)[0].tolist() == list(range(len(model.items)))
        assert (ranked.scores[1:][inner] <= ranked.scores[:-1][inner]).all()

    def test_batch_equals_single(self) -> None:
        model = self.fitted()
        together = model.recommend(n=6)
        alone = [model.recommend(users=[user], n=6) for user in model.users.ids.to_list()]
        assert pl.concat(alone).equals(together)

    def test_threads_do_not_change_lists(self) -> None:
        model = self.fitted()
        expected = model.recommend(n=6, threads=1)
        for threads in (2, 3, 8):
            assert model.recommend(n=6, threads=threads).equals(expected)

    def test_more_than_the_catalogue(self) -> None:
        model = self.fitted()
        everything = by_user(model.recommend(n=1000, exclude_seen=False))
        for listed in everything.values():
            assert sorted(map(str, listed)) == sorted(map(str, model.items.ids))
        unseen = by_user(model.recommend(n=1000))
        for code, user in enumerate(model.users.ids):
            assert len(unseen.get(user, [])) == len(model.items) - len(model.seen.row(code))

    def test_scores_agree_with_lists(self) -> None:
        model = self.fitted()
        table = model.recommend(n=8)
        assert model.score(table["user"], table["item"]).tobytes() == table["score"].to_numpy().tobytes()

    # --- filters -----------------------------------------------------------------------------------------

    def test_filters_compose(self) -> None:
        model = self.fitted()
        whole = by_user(model.recommend(n=1000, exclude_seen=False))
        seen = {user: set(model.items.decode(model.seen.row(c))) for c, user in enumerate(model.users.ids)}
        first, second, third = model.users.ids.to_list()[:3]
        items = model.items.ids.to_list()
        deny_all, deny = items[::4], {first: items[1:3], second: []}
        allow_all, allow = items[:18], {first: items[:9], second: items[5:], third: items[3:4]}
        for unseen_only in (True, False):
            for exclude in (None, deny_all, deny):
                for candidates in (None, allow_all, allow):
                    table = model.recommend(
                        [first, second, third],
                        n=9,
                        exclude_seen=unseen_only,
                        exclude=exclude,
                        candidates=candidates,
                    )
                    lists = by_user(table)
                    for user in (first, second, third):
                        denied = set(_for(user, exclude) or ()) | (seen[user] if unseen_only else set())
                        allowed = _for(user, candidates)
                        expected = [
                            item
                            for item in whole[user]
                            if item not in denied and (allowed is None or item in allowed)
                        ]
                        assert lists.get(user, []) == expected[:9]

    def test_codes_take_the_same_filters(self) -> None:
        model = self.fitted()
        users = np.array([3, 0], np.int32)
        deny = ItemLists.from_pairs([0, 0, 1], [2, 5, 1], n_rows=2)
        ranked = model.rank_codes(users, 5, exclude=deny, candidates=np.array([1, 2, 3, 5, 8], np.int32))
        assert 2 not in ranked.row(0)[0]
        assert sorted(ranked.row(0)[0].tolist()) == [1, 3, 8]
        assert sorted(ranked.row(1)[0].tolist()) == [2, 3, 5, 8]

    def test_on_unknown(self) -> None:
        model = self.fitted()
        known = model.users.ids[0]
        with raises(DataError):
            model.recommend(users=[known, "nobody"])
        with raises(ConfigError):
            model.recommend(users=[known], on_unknown="perhaps")  # type: ignore[arg-type] # a wrong one, on purpose
        expected = model.recommend(users=[known], n=3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.recommend(users=[known, "nobody"], n=3, on_unknown="ignore").equals(expected)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert model.recommend(users=["nobody", known], n=3, on_unknown="warn").equals(expected)
        assert len(caught) == 1
        scores = model.score([known, known], [model.items.ids[0], "nothing"], on_unknown="ignore")
        assert np.isnan(scores).tolist() == [False, True]

    def test_wrong_requests_are_refused(self) -> None:
        model = self.fitted()
        for n in (0, -1, 2.5, "ten"):
            with raises(ConfigError):
                model.recommend(n=n)  # type: ignore[arg-type] # wrong ones, on purpose
        with raises(DataError):
            model.recommend(users="user 00")
        with raises(DataError):
            model.rank_codes(np.array([len(model.users)], np.int32), 3)

    # --- people the model has never seen -----------------------------------------------------------------

    def test_histories(self) -> None:
        model = self.fitted()
        items = model.items.ids.to_list()
        bought = {"new 1": items[:3], "new 2": items[4:9], "new 3": items[2:3]}
        histories = {user: self.history(own) for user, own in bought.items()}
        try:
            table = model.recommend(histories=histories, n=6)
        except ConfigError:
            assert model._fold_in(*model.seen, None, None) is None
            return
        assert_well_formed(model, table)
        lists = by_user(table)
        assert list(lists) == list(histories)
        for user, own in bought.items():
            assert not set(lists[user]) & set(own)
            single = model.recommend(histories={user: histories[user]}, n=6, threads=1)
            assert single.equals(table.filter(pl.col("user") == user)), "batch differs from single"
        with_unknown = {"new 1": histories["new 1"] + self.history(["nothing"])}
        known_only = model.recommend(histories=with_unknown, n=6, on_unknown="ignore")
        assert known_only.equals(table.filter(pl.col("user") == "new 1"))
        with raises(DataError):
            model.recommend(histories=with_unknown)
        with raises(DataError):
            model.recommend(histories={"new 1": []})
        with raises(ConfigError):
            model.recommend(users=[model.users.ids[0]], histories=histories)

    # --- on disk -----------------------------------------------------------------------------------------

    def test_saved_and_loaded(self, tmp_path: Path) -> None:
        import sqlrank

        model = self.fitted()
        for _ in range(2):  # the second time it replaces what is there
            loaded = sqlrank.load(model.save(tmp_path / "model"), verify=True)
            assert_same_model(loaded, model)
        again = sqlrank.load(loaded.save(tmp_path / "model"))
        assert_same_model(again, model)
        assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
        assert_same_model(again.fit(self.data(), seed=1, threads=2), model)


def _for(user: object, lists: Any) -> Any:
    return lists.get(user) if isinstance(lists, dict) else lists
