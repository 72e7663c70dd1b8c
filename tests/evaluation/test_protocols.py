import numpy as np
import pytest

from sqlrank.errors import ConfigError
from sqlrank.evaluation import Protocol


def test_the_papers_protocols() -> None:
    implicit = Protocol.named("paper-implicit")
    assert implicit.metrics == ("precision@1", "precision@5", "precision@10")
    assert str(implicit) == (
        "candidates: all items unseen in training | relevant: every test event | ndcg gain: 1 | users: all"
    )
    assert str(Protocol.named("paper-implicit-1000")).endswith("users: 1,000 drawn with seed 0")
    explicit = Protocol.named("paper-explicit")
    assert (explicit.candidates, explicit.graded, explicit.threshold) == ("rated", True, 4.0)
    assert explicit.metrics == ("ndcg@10",)
    assert str(explicit) == (
        "candidates: the user's own test items | relevant: value >= 4 | ndcg gain: 2^value - 1 | users: all"
    )
    precision = Protocol.named("paper-explicit-precision")
    assert (precision.candidates, precision.mask_seen, precision.threshold) == ("all", True, 4.0)


def test_every_name_prints_one_line() -> None:
    for name in ("all", "rated", "paper-implicit", "paper-explicit", "paper-explicit-precision"):
        protocol = Protocol.named(name)
        assert "\n" not in str(protocol) and len(str(protocol)) < 140
        assert protocol.as_dict()["candidates"] == protocol.candidates


def test_given_candidates_become_a_tuple() -> None:
    for given in (["a", "b", "a"], ("a", "b"), np.array(["a", "b"])):
        protocol = Protocol(candidates=given)
        assert protocol.candidates == ("a", "b")
        assert str(protocol).startswith("candidates: 2 given items unseen in training")
        assert protocol.as_dict()["candidates"] == ["a", "b"]
    assert Protocol(candidates=[1]) == Protocol(candidates=(1,), name="other name")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Protocol.named("papr-implicit"), "did you mean 'paper-implicit"),
        (lambda: Protocol.named("xyz"), "known: all, rated"),
        (lambda: Protocol(candidates="unseen"), "'all', 'rated' or a sequence"),
        (lambda: Protocol(candidates=[]), "empty sequence"),
        (lambda: Protocol(max_users=0), "max_users is 0"),
        (lambda: Protocol(metrics=("ndgc@5",)), "did you mean 'ndcg'"),
    ],
)
def test_messages(make, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
