"""Which column is the user, the item, the rating and the time: asked for, or guessed from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlrank.data.ids import close_matches
from sqlrank.errors import ConfigError, DataError

__all__ = ["ROLES", "ColumnChoice", "are_positions", "choose_columns", "is_usual_name"]

ROLES = ("user", "item", "rating", "time")

# The first name that fits wins; case, spaces, dots and underscores do not matter (CustomerID, customer_id).
_USUAL_NAMES: Mapping[str, str] = {
    "user": "user userid uid usr customer customerid member memberid reviewer reviewerid visitor "
    "visitorid account accountid client clientid buyer buyerid shopper shopperid person personid "
    "player playerid profile profileid username userno customerno userindex useridx u session "
    "sessionid",
    "item": "item itemid iid movie movieid product productid sku stockcode article articleid asin "
    "parentasin song songid track trackid artist artistid book bookid isbn game gameid video "
    "videoid venue venueid business businessid poi place placeid location locationid content "
    "contentid document documentid doc docid news newsid course courseid recipe recipeid anime "
    "animeid show showid film filmid restaurant restaurantid itemno productno itemindex itemidx i",
    "rating": "rating ratings score scores stars star ratingscore userrating value overall preference rate",
    "time": "timestamp ts time date datetime eventtime eventdate eventtimestamp unixtimestamp "
    "unixreviewtime reviewtime ratedat createdat createdon orderdate ordertime purchasedate "
    "purchasetime invoicedate visittime day t",
}


@dataclass(frozen=True)
class ColumnChoice:
    """Column names by role; the roles in ``guessed`` were not asked for."""

    names: Mapping[str, str]
    guessed: tuple[str, ...]


def choose_columns(
    columns: Sequence[str], wanted: Mapping[str, str | int | bool | None], where: str, *, header: bool = True
) -> ColumnChoice:
    """Pick the columns of a table.

    ``wanted[role]`` is a name, a position (from 0), None for "guess", or False for "leave it out".
    Without a header the usual order is assumed: user, item, rating, time.
    """
    names: dict[str, str] = {}
    for role in ROLES:
        request = wanted.get(role)
        if request is not None and request is not False:
            names[role] = _asked_for(columns, role, request, where)
    open_roles = [role for role in ROLES if wanted.get(role) is None]
    guesses = _by_name(columns, open_roles, names) if header else _by_position(columns, open_roles, names)
    names |= guesses
    for role in ("user", "item"):
        if role not in names:
            raise DataError(_not_found(columns, role, where))
    _check_distinct(names)
    ordered = {role: names[role] for role in ROLES if role in names}
    return ColumnChoice(ordered, tuple(role for role in ordered if role in guesses))


def _asked_for(columns: Sequence[str], role: str, request: str | int | bool, where: str) -> str:
    if isinstance(request, bool) or (role in ("user", "item") and request is False):
        raise ConfigError(f"{role}={request!r} is neither a column name nor a position.")
    if isinstance(request, int):
        if not 0 <= request < len(columns):
            raise DataError(
                f"{where} has {len(columns)} columns; {role}={request} must be from 0 to {len(columns) - 1}."
            )
        return columns[request]
    if request not in columns:
        hint = close_matches(request, columns)
        raise DataError(f"{where} has no column {request!r}{hint}; its columns are {_listed(columns)}.")
    return request


def _by_name(columns: Sequence[str], roles: Sequence[str], taken: Mapping[str, str]) -> dict[str, str]:
    free = [name for name in columns if name not in taken.values()]
    plain = {_plain(name): name for name in reversed(free)}
    found = {}
    for role in roles:
        name = next((plain[usual] for usual in _USUAL_NAMES[role].split() if usual in plain), None)
        if name is not None:
            found[role] = name
    return found


def _plain(name: str) -> str:
    # RecBole writes the type behind the name: "user_id:token".
    return re.sub(r"[\W_]", "", name.split(":")[0].lower())


def is_usual_name(name: str) -> bool:
    """Whether a column of this name would be recognised."""
    return any(_plain(name) in names.split() for names in _USUAL_NAMES.values())


def _by_position(columns: Sequence[str], roles: Sequence[str], taken: Mapping[str, str]) -> dict[str, str]:
    return {
        role: columns[position]
        for position, role in enumerate(ROLES)
        if role in roles and position < len(columns) and columns[position] not in taken.values()
    }


def _not_found(columns: Sequence[str], role: str, where: str) -> str:
    return (
        f"{where} has no column that looks like the {role}: its columns are {_listed(columns)}; "
        f"say which one it is with {role}=."
    )


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in columns[:20])
    return f"{shown} and {len(columns) - 20} more" if len(columns) > 20 else shown


def _check_distinct(names: Mapping[str, str]) -> None:
    for role, name in names.items():
        twin = next((other for other in names if other != role and names[other] == name), None)
        if twin is not None:
            raise ConfigError(f"Column {name!r} cannot be both the {role} and the {twin}.")


def are_positions(*columns: str | int | None) -> bool:
    """Whether all columns are asked for by their places: in a text file, the first line may be an event then."""
    return all(isinstance(column, int) for column in columns)
