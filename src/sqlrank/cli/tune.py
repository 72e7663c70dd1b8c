"""`sqlrank tune`: settings for `sqlrank fit`, found on a part of the file that is not the test."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.output import print_json, say
from sqlrank.cli.settings import make_model, with_settings
from sqlrank.cli.workflow import check_hold_out, hold_out
from sqlrank.errors import ConfigError

__all__ = ["tune"]

SEARCH = Group("Search", sort_key=5)


def _flag(help: str, *names: str) -> Parameter:
    return Parameter(name=names or None, help=help, group=SEARCH)


@with_settings
def tune(
    file: Annotated[str, Parameter(help="The file that fit will be given.")],
    /,
    *,
    output: Annotated[str, _flag("The settings, for fit --config.", "--output", "-o")] = "tuned.toml",
    model: Annotated[str, _flag("Which model, as in fit.")] = "sqlrank",
    metric: Annotated[str, _flag("What is to be large.")] = "ndcg@10",
    trials: Annotated[int, _flag("How many settings are tried in all; the first are the defaults.")] = 40,
    protocol: Annotated[str, _flag("all: find unseen items; rated: order the rated ones.")] = "all",
    timeout: Annotated[float | None, _flag("Start no more trials after so many seconds.")] = None,
    storage: Annotated[str | None, _flag("File that remembers the trials: go on where it stopped.")] = None,
    holdout: Annotated[
        float, _flag("Share that fit will hold out to measure; the search leaves it alone.")
    ] = 0.1,
    split: Annotated[str, _flag("What fit will hold out: time, random, or auto.")] = "auto",
    seed: Annotated[int, _flag("Same seed, same search; and the seed that fit will be given.")] = 0,
    reading: Reading = Reading(),  # noqa: B008 # frozen
    common: Common = Common(),  # noqa: B008
    **settings: str | None,
) -> None:
    """Search the settings of a model, and write them for `sqlrank fit --config`.

    Settings that are given as flags are not searched. The events that fit holds out to measure are cut off first, in
    the same way; another part validates.
    """
    from sqlrank.tuning import tune as search

    place = Path(output)
    if place.suffix != ".toml":
        raise ConfigError(f"--output is {output}; the settings are written as .toml")
    template = make_model(model, settings)
    fixed = {name: template.get_params()[name] for name, text in settings.items() if text is not None}
    check_hold_out(holdout, split)
    parts = hold_out(reading.read(file, common), holdout, split, seed)
    say(f"{len(parts.train):,} events to learn from; {parts.how}", common.quiet)
    result = search(
        type(template),
        parts.train,
        metric,
        trials=trials,
        seed=seed,
        validation=parts.validation,
        protocol=protocol,
        fixed=fixed,
        timeout=timeout,
        storage=storage,
        threads=common.threads,
        progress=not common.quiet,
    )
    result.save(place)
    if common.json:
        facts = {"value": result.value, "default_value": result.default_value, "metric": result.metric}
        print_json({**facts, "settings": result.settings, "protocol": result.protocol, "file": str(place)})
    else:
        print(result)
    # The same events are to be held out: those that the search has left alone.
    cut = f"--holdout {holdout} --split {split} --seed {seed}"
    words = ["sqlrank fit", shlex.quote(file), "--config", shlex.quote(str(place)), reading.flags(), cut]
    say(f"saved {place}; next: {' '.join(filter(None, words))}", common.quiet)
