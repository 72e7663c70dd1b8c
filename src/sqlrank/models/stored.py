"""What a model directory gives back, checked: damage must end in an error, never in memory that is not ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrank.errors import FormatError
from sqlrank.models.lists import ItemLists
from sqlrank.storage.manifest import FACTORS, MANIFEST

__all__ = ["stored_array", "stored_lists", "stored_number", "stored_values", "stored_words"]

Arrays = dict[str, NDArray[Any]]


def stored_array(arrays: Arrays, name: str, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array of this name, type and shape; None in the shape is any length."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, length) for length, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        raise FormatError(
            f"{FACTORS}: {name} is of type {array.dtype} and shape {array.shape}; it must be {np.dtype(dtype)} "
            f"of {wanted}"
        )
    return array


def stored_lists(arrays: Arrays, name: str, n_rows: int, n_items: int) -> ItemLists:
    """The lists `name`_indptr, `name`_indices: kernels follow the offsets and the codes without looking again."""
    indptr = stored_array(arrays, f"{name}_indptr", np.int64, (n_rows + 1,))
    indices = stored_array(arrays, f"{name}_indices", np.int32, (None,))
    if indptr[0] != 0 or indptr[-1] != len(indices) or bool((indptr[1:] < indptr[:-1]).any()):
        raise FormatError(f"{FACTORS}: {name}_indptr does not rise from 0 to {len(indices)}")
    # Seen without a sign, a negative code is larger than any: one pass looks at both ends.
    if len(indices) and int(indices.view(np.uint32).max()) >= n_items:
        raise FormatError(f"{FACTORS}: {name}_indices holds codes outside the {n_items} items")
    return ItemLists(indptr, indices)


def stored_values(arrays: Arrays, seen: ItemLists) -> NDArray[np.float32] | None:
    """The values of the seen items, None where the model keeps none."""
    if "seen_values" not in arrays:
        return None
    return stored_array(arrays, "seen_values", np.float32, (len(seen.indices),))


def stored_number(facts: dict[str, Any], name: str, low: int, high: int = 2**31) -> int:
    """The whole number of this name."""
    number = facts[name]
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise FormatError(f"{MANIFEST}: {name} is {number!r}; it must be a whole number >= {low}")
    return number


def stored_words(facts: dict[str, Any], name: str) -> list[str]:
    """The list of words of this name."""
    words = facts[name]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FormatError(f"{MANIFEST}: {name} is {words!r}; it must be a list of words")
    return words
