import pytest

import sqlrank
from sqlrank.errors import ConfigError
from sqlrank.models.names import models_at_hand
from sqlrank.tuning import Space


@pytest.mark.parametrize("name", list(models_at_hand()))
def test_every_default_lies_in_its_range_and_every_range_within_its_rule(name: str) -> None:
    kind = models_at_hand()[name]
    rules = kind.settings_class.rules()
    space = Space.of(kind)
    for setting, search in space.ranges.items():
        ends = search.choices or (search.low, search.high)
        for value in ends:
            rules[setting].checked(setting, value)
        if search.choices:
            assert space.start[setting] in search.choices
        else:
            assert search.low <= space.start[setting] <= search.high


def test_what_an_instance_was_given_is_fixed() -> None:
    space = Space.of(sqlrank.SQLRank(rank=100, regularization=5.0), {"link": "identity"})
    assert space.fixed == {"rank": 100, "regularization": 5.0, "link": "identity"}
    assert not {"rank", "regularization", "link"} & set(space.ranges)
    assert {"decay", "negatives"} <= set(space.ranges)


def test_unknown_fixed_setting() -> None:
    with pytest.raises(ConfigError, match="did you mean 'rank'"):
        Space.of(sqlrank.SQLRank, {"rnk": 3})
