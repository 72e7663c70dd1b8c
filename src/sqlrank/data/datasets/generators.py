r"""Artificial data drawn from the model itself, at any size.

Every user ``i`` and item ``j`` has a vector; their product is the score :math:`x_{ij} = u_i \cdot v_j`, of
variance about 1. A user is *exposed* to some items, drawn without replacement by popularity
(:math:`p_j \propto (1 + r_j)^{-\text{skew}}`, r a random order of the items). Those items then run an
**exponential race**: item ``j`` arrives at a time

.. math:: T_{ij} \sim \mathrm{Exp}(\varphi(x_{ij})), \qquad \varphi(x) = \exp(x / \text{noise}).

By Theorem 1 of the SQL-Rank paper the order of arrival is Plackett-Luce distributed with the weights
:math:`\varphi(x_{ij})`. The first to arrive become the user's events; ratings cut the noisy utilities
:math:`-\text{noise} \cdot \log T_{ij} = x_{ij} + \text{noise} \cdot \text{Gumbel}` into levels.

All random numbers are counter-based (keyed by seed, purpose and user): the number of threads does not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank import _core
from sqlrank._threads import resolve_threads
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.datasets.names import GENRES, people, titles
from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import ConfigError

__all__ = ["Synthetic", "Truth", "make_events", "make_ratings"]

# Streams of factors; models start theirs at 0 and 1, and must not start at the truth.
_USER_SIDE, _ITEM_SIDE, _GENRE_SIDE, _ACTIVITY_SIDE = 1_001, 1_002, 1_003, 1_004
_NAMED_UP_TO = 100_000
_YEAR_SECONDS = 365 * 86_400
_EPOCH_2025 = 1_735_689_600
_EULER_GAMMA = 0.5772156649015329


@dataclass(frozen=True, eq=False)
class Truth:
    """The model that an artificial data set was drawn from."""

    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]
    log_popularity: NDArray[np.float64]
    """Log of the chance that the first item a user is shown is this one."""
    noise: float

    def scores(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        """The true scores of these (user code, item code) pairs."""
        scores: NDArray[np.float32] = np.einsum(
            "ij,ij->i", self.user_factors[users], self.item_factors[items]
        )
        return scores


@dataclass(frozen=True, eq=False, repr=False)
class Synthetic(Dataset):
    """An artificial data set: all events in ``train`` (split it as you like), and the truth behind it."""

    truth: Truth = field(kw_only=True)


def make_events(
    n_users: int = 1_000,
    n_items: int = 500,
    *,
    rank: int = 8,
    events_per_user: float | None = None,
    density: float | None = None,
    popularity_skew: float = 0.8,
    activity_spread: float = 0.5,
    noise: float = 0.3,
    exposure: float | None = 6.0,
    timestamps: bool = True,
    named: bool | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Synthetic:
    """Implicit feedback: which items each user chose, and when.

    ``events_per_user`` (default 20) is a mean, log-normally spread over the users by ``activity_spread``;
    ``density`` says the same as a share of all pairs. A user with n events was shown ``exposure * n`` items
    drawn by popularity, and took the first n to arrive; None shows everything to everyone, which makes
    the choices Plackett-Luce over the whole catalogue and popularity irrelevant. Times are uniform over 2025.
    ``named`` gives readable ids (default: up to 100,000 users or items).

    >>> data = make_events(100, 50, events_per_user=5, seed=1)
    >>> data.train.n_users, data.items.columns
    (100, ['item', 'genre', 'popularity'])
    """
    if exposure is not None and not exposure >= 1:
        raise ConfigError(
            f"exposure={exposure} shows a user fewer items than the user takes; give 1 or more, or None."
        )
    world = _World.draw(n_users, n_items, rank, popularity_skew, noise, named, seed, threads)
    counts = world.events_of_users(_mean_events(events_per_user, density, n_items), activity_spread)
    shown = np.full(n_users, n_items) if exposure is None else np.minimum(np.ceil(counts * exposure), n_items)
    races = world.race(counts, shown, utilities=False, seconds=timestamps)
    return world.dataset("make_events", races, values=None)


def make_ratings(
    n_users: int = 1_000,
    n_items: int = 500,
    *,
    rank: int = 8,
    events_per_user: float | None = None,
    density: float | None = None,
    popularity_skew: float = 0.8,
    activity_spread: float = 0.5,
    noise: float = 0.3,
    levels: int = 5,
    timestamps: bool = False,
    named: bool | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Synthetic:
    """Explicit feedback: ratings 1 … ``levels`` of items drawn by popularity alone.

    The rating is the noisy utility of the item, cut at fixed thresholds: the order of a user's list is
    Plackett-Luce, seen through ties. The other arguments are those of :func:`make_events`.

    >>> data = make_ratings(100, 50, events_per_user=5, seed=1)
    >>> sorted(set(data.train.values.tolist()))
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    if levels < 2:
        raise ConfigError(f"levels={levels} cannot tell items apart; give 2 or more.")
    world = _World.draw(n_users, n_items, rank, popularity_skew, noise, named, seed, threads)
    counts = world.events_of_users(_mean_events(events_per_user, density, n_items), activity_spread)
    races = world.race(counts, counts, utilities=True, seconds=timestamps)
    assert races.utilities is not None
    _cut_into_levels(races.utilities, noise, levels)
    return world.dataset("make_ratings", races, values=races.utilities)


@dataclass(frozen=True)
class _Races:
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    utilities: NDArray[np.float32] | None
    seconds: NDArray[np.int64] | None


@dataclass(frozen=True)
class _World:
    """The users and items, before anything happens."""

    truth: Truth
    users: Vocabulary
    items: Vocabulary
    item_genres: NDArray[np.int32]
    genre_centres: NDArray[np.float32]
    seed: int
    threads: int

    @classmethod
    def draw(
        cls,
        n_users: int,
        n_items: int,
        rank: int,
        popularity_skew: float,
        noise: float,
        named: bool | None,
        seed: int,
        threads: int | None,
    ) -> _World:
        for name, value in (("n_users", n_users), ("n_items", n_items), ("rank", rank)):
            if not 1 <= value < 2**31:
                raise ConfigError(f"{name}={value} must be a whole number of at least 1.")
        if not (noise > 0 and math.isfinite(noise)):
            raise ConfigError(
                f"noise={noise} must be positive; small values make the choices follow the scores."
            )
        if not (popularity_skew >= 0 and math.isfinite(popularity_skew)):
            raise ConfigError(f"popularity_skew={popularity_skew} must be 0 (all items alike) or more.")
        if not 0 <= seed < 2**64:
            raise ConfigError(f"seed={seed} must be a whole number from 0 to 2^64 - 1.")
        width = resolve_threads(threads)
        items, genres = _item_ids(n_items, named, seed)
        centres = _normals(seed, _GENRE_SIDE, len(GENRES), rank, 1.0, width)
        own = _normals(seed, _ITEM_SIDE, n_items, rank, 1.0, width)
        # Half genre, half its own: scaled so that scores have variance 1.
        own += centres[genres]
        own *= np.float32(1 / math.sqrt(2 * rank))
        tastes = _normals(seed, _USER_SIDE, n_users, rank, 1.0, width)
        truth = Truth(tastes, own, _log_popularity(n_items, popularity_skew, seed), noise)
        return cls(truth, _user_ids(n_users, named, seed), items, genres, centres, seed, width)

    def events_of_users(self, mean: float, spread: float) -> NDArray[np.int64]:
        """How many events each user has: log-normal around the mean, at least 1, at most every item."""
        if not spread >= 0:
            raise ConfigError(f"activity_spread={spread} must be 0 (everyone alike) or more.")
        n_users, n_items = len(self.users), len(self.items)
        normal = _normals(self.seed, _ACTIVITY_SIDE, n_users, 1, 1.0, self.threads)[:, 0].astype(np.float64)
        counts = np.rint(mean * np.exp(spread * normal - spread**2 / 2))
        return np.clip(counts, 1, n_items).astype(np.int64)

    def race(
        self, counts: NDArray[np.int64], shown: NDArray[np.generic], *, utilities: bool, seconds: bool
    ) -> _Races:
        indptr = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=indptr[1:])
        n_events = int(indptr[-1])
        keep, other = np.empty(len(self.items), np.uint32), np.empty(len(self.items), np.int32)
        _core.alias_table(self.truth.log_popularity, keep, other)
        races = _Races(
            indptr,
            np.empty(n_events, np.int32),
            np.empty(n_events, np.float32) if utilities else None,
            np.empty(n_events, np.int64) if seconds else None,
        )
        _core.generate_race(
            self.seed,
            self.truth.user_factors,
            self.truth.item_factors,
            self.truth.log_popularity,
            keep,
            other,
            shown.astype(np.int32),
            indptr,
            self.truth.noise,
            races.indices,
            races.utilities,
            races.seconds,
            _YEAR_SECONDS,
            self.threads,
        )
        return races

    def dataset(self, name: str, races: _Races, values: NDArray[np.float32] | None) -> Synthetic:
        timestamps = races.seconds
        if timestamps is not None:
            timestamps += _EPOCH_2025
            timestamps *= 1_000_000
        train = Interactions.from_csr(self.users, self.items, races.indptr, races.indices, values, timestamps)
        genres = pl.Series(GENRES)
        popularity = np.exp(self.truth.log_popularity)
        items = pl.DataFrame(
            {"item": self.items.ids, "genre": genres.gather(self.item_genres), "popularity": popularity}
        )
        favourite = (self.truth.user_factors @ self.genre_centres.T).argmax(axis=1)
        users = pl.DataFrame({"user": self.users.ids, "favourite_genre": genres.gather(favourite)})
        description = (
            f"artificial, sqlrank.datasets.{name}(seed={self.seed}, ...): drawn by exponential races"
        )
        return Synthetic(name, train, items=items, users=users, description=description, truth=self.truth)


def _mean_events(events_per_user: float | None, density: float | None, n_items: int) -> float:
    if events_per_user is not None and density is not None:
        raise ConfigError("events_per_user and density say the same thing; give one of them.")
    mean = 20.0 if events_per_user is None else events_per_user
    if density is not None:
        if not 0 < density <= 1:
            raise ConfigError(f"density={density} must be above 0 and at most 1.")
        mean = density * n_items
    if not (mean > 0 and math.isfinite(mean)):
        raise ConfigError(f"events_per_user={events_per_user} must be positive.")
    return mean


def _normals(
    seed: int, side: int, rows: int, columns: int, scale: float, threads: int
) -> NDArray[np.float32]:
    out = np.empty((rows, columns), np.float32)
    _core.normal_rows(seed, side, 0, columns, scale, out, threads)
    return out


def _item_ids(n: int, named: bool | None, seed: int) -> tuple[Vocabulary, NDArray[np.int32]]:
    if named or (named is None and n <= _NAMED_UP_TO):
        names, genres = titles(n, seed)
        return Vocabulary(names), genres
    genres = np.random.default_rng(seed).integers(len(GENRES), size=n, dtype=np.int32)
    return Vocabulary.range(n), genres


def _user_ids(n: int, named: bool | None, seed: int) -> Vocabulary:
    if named or (named is None and n <= _NAMED_UP_TO):
        return Vocabulary(people(n, seed))
    return Vocabulary.range(n)


def _log_popularity(n_items: int, skew: float, seed: int) -> NDArray[np.float64]:
    """Zipf's law over a random order of the items, normalised."""
    place = np.random.default_rng([seed, 1]).permutation(n_items)
    logs = -skew * np.log1p(place.astype(np.float64))
    normalised: NDArray[np.float64] = logs - np.log(np.exp(logs).sum())
    return normalised


def _cut_into_levels(utilities: NDArray[np.float32], noise: float, levels: int) -> None:
    """Turn x / noise + Gumbel into 1 … levels, in place: few low marks, most in the upper middle."""
    # Mean and variance of x + noise * Gumbel where x has mean 0 and variance 1.
    mean, deviation = noise * _EULER_GAMMA, math.sqrt(1 + noise**2 * math.pi**2 / 6)
    cuts = np.linspace(-1.5, 1.0, levels - 1) if levels > 2 else np.array([-0.25])
    thresholds = ((mean + deviation * cuts) / noise).astype(np.float32)
    for start in range(0, len(utilities), 1 << 20):
        block = utilities[start : start + (1 << 20)]
        block[:] = np.searchsorted(thresholds, block, side="right") + 1
