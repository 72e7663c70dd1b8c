"""Top-n lists by the definition: all scores in float64, sorted."""

from __future__ import annotations

import numpy as np


def exact_scores(users, items):
    """Inner products of float32 rows (a multiple of 8 long) in float64, added in the order of the kernels."""
    lanes = np.zeros((len(users), len(items), 8))
    for c in range(0, users.shape[1], 8):
        block = users[:, None, c : c + 8].astype(np.float64) * items[None, :, c : c + 8]
        lanes += block
    four = lanes[:, :, :4] + lanes[:, :, 4:]
    two = four[:, :, :2] + four[:, :, 2:]
    return two[:, :, 0] + two[:, :, 1]


def top(scores, n, excluded=(), candidates=None):
    """Codes and scores of the n best: score descending, then code ascending; NaN and -inf never compete."""
    codes = np.arange(len(scores)) if candidates is None else np.asarray(candidates)
    codes = np.setdiff1d(codes, np.asarray(excluded, dtype=np.int64))
    codes = codes[scores[codes] > -np.inf]
    order = np.lexsort((codes, -scores[codes]))[:n]
    with np.errstate(over="ignore"):  # beyond float32 the rounded score is inf; the order is settled
        return codes[order], scores[codes[order]].astype(np.float32)
