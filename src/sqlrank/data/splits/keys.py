"""Random numbers for splits: a 64-bit key per user or event that depends on the seed and the ids alone.

Neither the order of the rows nor the other users and items have a say, so an event keeps its key when the
data grow. The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank.data.interactions import Interactions
from sqlrank.data.vocabulary import Vocabulary
from sqlrank.errors import ConfigError

Keys = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_USER, _ITEM, _EVENT = (np.uint64(x) for x in (0x75736572, 0x6974656D, 0x6576656E74))


def user_keys(users: Vocabulary, seed: int) -> Keys:
    """Return one uniform 64-bit number per user."""
    return _mix(_id_hashes(users) ^ _seed_word(seed, _USER))


def event_keys(data: Interactions, seed: int) -> Keys:
    """Return one uniform 64-bit number per event (user, item), in the order of `data.indices`."""
    of_user = user_keys(data.users, seed)
    of_item = _mix(_id_hashes(data.items) ^ _seed_word(seed, _ITEM))
    # Not symmetric in user and item, or (3, 5) and (5, 3) would share a key when both sides use numbers as
    # ids.
    return _mix(np.repeat(_mix(of_user + _EVENT), np.diff(data.indptr)) ^ of_item[data.indices])


def share_below(keys: Keys, share: float) -> NDArray[np.bool_]:
    """Mark each key with probability `share`, independently of the others."""
    # Compared as 53-bit fractions: a float64 holds them exactly, and share = 1.0 takes every key.
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share


def _id_hashes(vocabulary: Vocabulary) -> Keys:
    ids = vocabulary.ids
    if ids.dtype == pl.Int64:
        return _mix(ids.to_numpy().view(np.uint64) + _GOLDEN)
    digests = (blake2b(text.encode(), digest_size=8).digest() for text in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)


def _seed_word(seed: int, purpose: np.uint64) -> np.uint64:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ConfigError(f"seed is {seed!r}; give a whole number")
    word = np.array([(int(seed) + int(purpose) * int(_GOLDEN)) % 2**64], dtype=np.uint64)
    return np.uint64(_mix(word)[0])


def _mix(x: Keys) -> Keys:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
