"""`sqlrank compare`: many models on one file, one split, one table."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Annotated, Any

from cyclopts import Group, Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.output import print_json, say
from sqlrank.errors import ConfigError

__all__ = ["compare"]

COMPARING = Group("Comparing", sort_key=5)
SPLITS = ("auto", "time", "random", "last")
USUAL = ("sqlrank", "wmf", "ease", "itemknn", "popularity", "random")


def _flag(help: str, *names: str) -> Parameter:
    return Parameter(name=names or None, help=help, group=COMPARING)


def compare(
    file: Annotated[str, Parameter(help="Parquet, CSV or other text, NDJSON; a folder or a pattern, too.")],
    /,
    *,
    models: Annotated[
        str | None,
        Parameter(
            help=f"Which, with commas [{','.join(USUAL)}; wmf where implicit is installed].",
            group=COMPARING,
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str,
        _flag("What tests: the latest events (time), any (random), each user's last one (last), or auto."),
    ] = "auto",
    holdout: Annotated[float, _flag("Share of the events to measure on, for time and random.")] = 0.1,
    protocol: Annotated[str, _flag("all: find unseen items; rated: order the rated ones.")] = "all",
    metrics: Annotated[str, _flag("The first one orders the table.")] = "ndcg@10,precision@10,recall@10",
    seeds: Annotated[int, _flag("How many fits of each model.")] = 3,
    output: Annotated[
        str | None, _flag("Folder for the table as parquet and Markdown, and a figure.", "--output", "-o")
    ] = None,
    reading: Reading = Reading(),  # noqa: B008 # frozen
    common: Common = Common(),  # noqa: B008
) -> int:
    """Fit several models on the same part of the events, and measure them on the rest.

    Every model runs in a process of its own. A model that fails has a row with the reason; the exit code is 1 only
    when all of them fail.
    """
    from sqlrank.evaluation.compare import compare as run
    from sqlrank.evaluation.names import parse_metrics
    from sqlrank.evaluation.protocols import Protocol
    from sqlrank.models.names import model_class

    # Mistakes in the flags come out before the file is read.
    usual = [word for word in USUAL if word != "wmf" or find_spec("implicit") is not None]
    wanted = usual if models is None else [word for word in models.split(",") if word.strip()]
    names = [model_class(word).__name__ for word in wanted]
    parse_metrics(metrics), Protocol.named(protocol)
    if split not in SPLITS:
        raise ConfigError(f"--split is '{split}'; it must be {', '.join(SPLITS)}")
    data = reading.read(file, common)
    say(f"{len(data):,} events; comparing {', '.join(names)}", common.quiet)
    result = run(
        names,
        data,
        split=_splitter(split, holdout, data.timestamps is not None),
        protocol=protocol,
        metrics=metrics,
        seeds=seeds,
        threads=common.threads,
        progress=not common.quiet,
        output=output,
    )
    if common.json:
        table = json.loads(result.table.write_json())
        print_json({"models": table, "protocol": result.protocol_line, "split": result.setup})
    else:
        result.show()
    if output is not None:
        say(f"saved {output}/comparison.md, .parquet, and .png where matplotlib is installed", common.quiet)
    return 0 if result.ranking else 1


def _splitter(kind: str, share: float, timed: bool) -> Any:
    from sqlrank.data import splits

    if kind == "last":
        return splits.last_n

    def time(data: Any) -> Any:
        return splits.by_time(data, share)

    def random(data: Any, seed: int) -> Any:
        return splits.random(data, share, seed=seed)

    return time if kind == "time" or (kind == "auto" and timed) else random
