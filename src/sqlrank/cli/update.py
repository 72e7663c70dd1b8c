"""`sqlrank update`: yesterday's events into a saved model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sqlrank.cli.common import Common, Reading
from sqlrank.cli.output import print_json, say
from sqlrank.cli.places import check_model_place, load_model, report_after_update, save_with_report
from sqlrank.errors import ConfigError

__all__ = ["update"]


def update(
    model: Annotated[str, Parameter(help="Folder of a saved model.")],
    file: Annotated[str, Parameter(help="New events; an event it has seen takes the new rating.")],
    /,
    *,
    output: Annotated[
        str | None,
        Parameter(name=("--output", "-o"), help="Folder of the new model [the same].", show_default=False),
    ] = None,
    epochs: Annotated[
        int | None, Parameter(help="Passes over all events [a twelfth of a full fit].", show_default=False)
    ] = None,
    seed: Annotated[int, Parameter(help="Same seed, same model.")] = 0,
    reading: Reading = Reading(),  # noqa: B008 # frozen
    common: Common = Common(),  # noqa: B008
) -> None:
    """Go on with new events: new users and items included.

    The old model is replaced in one step when the new one is complete; who is serving it sees one or the other.
    """
    if epochs is not None and epochs < 1:
        raise ConfigError(f"--epochs is {epochs}; it must be a whole number >= 1")
    place = Path(output or model)
    check_model_place(place)
    loaded = load_model(model)
    learn = getattr(loaded, "partial_fit", None)
    if learn is None:
        raise ConfigError(
            f"{type(loaded).__name__} cannot go on with new events; fit it again on all of them"
        )
    before = len(loaded.users), len(loaded.items)
    events = reading.read(file, common)
    began = time.perf_counter()
    options = {} if epochs is None else {"epochs": epochs}
    learn(events, seed=seed, threads=common.threads, progress=not common.quiet, **options)
    seconds = time.perf_counter() - began
    save_with_report(loaded, place, report_after_update(Path(model), len(events)))
    new_users, new_items = len(loaded.users) - before[0], len(loaded.items) - before[1]
    if common.json:
        facts = {"model": str(place), "events": len(events), "new_users": new_users, "new_items": new_items}
        print_json({**facts, "seconds": round(seconds, 3)})
    else:
        line = f"{len(events):,} events, {new_users:,} new users, {new_items:,} new items in {seconds:.1f} s"
        say(f"{line}; saved {place}/", common.quiet)
