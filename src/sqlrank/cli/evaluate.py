"""`sqlrank evaluate`: a saved model on events it has not seen."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.output import print_json
from sqlrank.cli.places import load_model

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, Parameter(help="Folder of a saved model.")],
    file: Annotated[str, Parameter(help="Events that happened after those it was fitted on.")],
    /,
    *,
    protocol: Annotated[
        str | None,
        Parameter(
            help="all: find unseen items; rated: order the rated ones; or one of the paper's.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        Parameter(help="Such as ndcg@10,recall@20; default: those of the protocol.", show_default=False),
    ] = None,
    reading: Reading = Reading(),  # noqa: B008 # frozen
    common: Common = Common(),  # noqa: B008
) -> None:
    """Measure a saved model on events it has not seen.

    Events that the model was fitted on do not count; users it does not know are counted and left out. Without
    --protocol it is `rated` for a model of ratings on a file with ratings, `all` otherwise.
    """
    from sqlrank.evaluation import evaluate as measure
    from sqlrank.evaluation import parse_metrics
    from sqlrank.evaluation.protocols import Protocol

    names = None if metrics is None else [str(metric) for metric in parse_metrics(metrics)]
    if protocol is not None:
        Protocol.named(protocol)
    loaded = load_model(model)
    test = reading.read(file, common)
    # Events without ratings are all equal: any order of them is perfect, and says nothing.
    ordered = getattr(loaded, "is_explicit", False) and test.values is not None
    rules = protocol or ("rated" if ordered else "all")
    result = measure(loaded, test, names, rules, threads=common.threads)
    if common.json:
        print_json({"metrics": result.as_dict(), **result.metadata})
    else:
        print(result)
