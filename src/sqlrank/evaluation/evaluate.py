"""`sqlrank.evaluate`: a model, test events, a protocol; numbers one can trust."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sqlrank._threads import resolve_threads
from sqlrank.data.interactions import Interactions
from sqlrank.errors import ConfigError
from sqlrank.evaluation.histories import FoldedIn
from sqlrank.evaluation.kernels import list_metrics
from sqlrank.evaluation.names import KINDS, Metric, parse_metrics
from sqlrank.evaluation.protocols import Protocol
from sqlrank.evaluation.ranking import auc_of_users, ranked_blocks
from sqlrank.evaluation.result import Evaluation, Summary
from sqlrank.evaluation.shown import ShownItems
from sqlrank.evaluation.task import Task, prepare, resolve, seen_rows
from sqlrank.models.base import Recommender

__all__ = ["evaluate"]


def evaluate(
    model: Recommender,
    test: Interactions,
    metrics: str | Iterable[str] | None = None,
    protocol: str | Protocol = "all",
    *,
    seen: Interactions | Sequence[Interactions] | None = None,
    histories: Interactions | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Measure how well a model ranks the test events of its users.

    model       a fitted model
    test        what the users did later; ids are matched with the model's, vocabularies need not be the same
    metrics     names such as "ndcg@10" (see `sqlrank.evaluation.metrics`); None: those of the protocol
    protocol    a `Protocol` or the name of one: "all", "rated", "paper-implicit", "paper-explicit", ...
    seen        events to mask instead of the model's own training events, for example [train, validation]
    histories   for users the model was not fitted on (`fold_in` of `split.user_holdout`): what they did before;
                each of them is folded in, and is not recommended what the history holds
    threads     number of threads; the numbers do not depend on it

    Each metric is computed per user and averaged over the users for whom it is defined: those with a relevant
    test item (for graded NDCG: with a positive gain). Users without one, and users the model does not know,
    are counted in `result.users`. Memory is bounded by blocks of users; nothing of size users x items is
    built. `auc` scores all candidates of all users and takes much longer than the rest.
    """
    began = time.perf_counter()
    rules = resolve(Protocol.named(protocol) if isinstance(protocol, str) else protocol, test)
    wanted = parse_metrics(rules.metrics if metrics is None else metrics)
    if seen is not None and histories is not None:
        raise ConfigError("give seen or histories, not both: what a history holds is masked anyway")
    ranker = model if histories is None else FoldedIn(model, histories)
    n_threads = resolve_threads(threads)
    task = prepare(ranker, test, rules, seen_rows(ranker, seen), n_threads)
    bits = _item_bits(model, task.n_codes)
    per_user, overall = _measure(ranker, task, wanted, bits, rules.candidates == "rated", n_threads)
    summaries = {
        str(m): Summary.of(per_user[m]) if m in per_user else Summary(overall[m], None, len(task.users))
        for m in wanted
    }
    columns = {str(metric): values for metric, values in per_user.items()}
    table = pl.DataFrame({"user": ranker.users.decode(task.users), **columns})
    metadata = _metadata(model, task, rules, summaries)
    metadata["seconds"] = time.perf_counter() - began
    table = table.with_columns(pl.col(pl.Float64).fill_nan(None))
    return Evaluation(summaries, table, task.user_counts, task.event_counts, rules, metadata)


def _measure(
    model: Recommender | FoldedIn,
    task: Task,
    wanted: Sequence[Metric],
    item_bits: NDArray[np.float64],
    rated: bool,
    threads: int,
) -> tuple[dict[Metric, NDArray[np.float64]], dict[Metric, float]]:
    """Return the numbers per user, and those of all lists together."""
    of_lists = [m for m in wanted if KINDS[m.kind].per_user and m.kind != "auc"]
    together = [m for m in wanted if not KINDS[m.kind].per_user]
    numbers = np.empty((len(of_lists), len(task.users)))
    shown = ShownItems({m.k for m in together if m.k is not None}, task.n_candidates, task.n_codes)
    deepest = max((m.k for m in (*of_lists, *together) if m.k is not None), default=0)
    if deepest:
        for block in ranked_blocks(model, task, deepest, rated, threads):
            if of_lists:
                truth = task.truth.block(block.begin, block.end)
                values = list_metrics(block.lists, truth, of_lists, item_bits, threads)
                numbers[:, block.begin : block.end] = values.T
            shown.add(block.lists)
    per_user = dict(zip(of_lists, numbers, strict=True))
    if Metric("auc", None) in wanted:
        per_user[Metric("auc", None)] = auc_of_users(model, task, rated, threads)
    ordered = {metric: per_user[metric] for metric in wanted if metric in per_user}
    return ordered, {metric: shown.value(metric) for metric in together}


def _item_bits(model: Recommender, n_codes: int) -> NDArray[np.float64]:
    """Return -log2(share of the training users who have the item); nobody counts as one."""
    users_of_item = np.bincount(model.seen.indices, minlength=n_codes)
    training_users = max(int(np.count_nonzero(model.seen.lengths)), 1)
    bits: NDArray[np.float64] = np.log2(training_users / np.maximum(users_of_item, 1))
    return bits


def _metadata(
    model: Recommender, task: Task, protocol: Protocol, summaries: dict[str, Summary]
) -> dict[str, Any]:
    from importlib import metadata

    return {
        "model": type(model).__name__,
        "settings": model.get_params(),
        "metrics": {name: summary.value for name, summary in summaries.items()},
        "protocol": {**protocol.as_dict(), "text": str(protocol)},
        "users": asdict(task.user_counts),
        "events": asdict(task.event_counts),
        "candidate_items": task.n_candidates,
        "sqlrank": metadata.version("sqlrank"),
    }
