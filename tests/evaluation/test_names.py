import pytest

from sqlrank.errors import ConfigError
from sqlrank.evaluation import KINDS, Metric, parse_metric, parse_metrics
from sqlrank.evaluation.kernels import KIND_CODES


def test_names_are_read_and_written_back() -> None:
    for kind in KINDS.values():
        name = f"{kind.name}@7" if kind.needs_cutoff else kind.name
        assert str(parse_metric(name)) == name
    assert parse_metric(" NDCG@010 ") == Metric("ndcg", 10)
    assert parse_metrics("mrr@5, hit@5,mrr@5") == (Metric("mrr", 5), Metric("hit", 5))


def test_every_metric_per_user_has_a_kernel() -> None:
    assert set(KIND_CODES) == {kind.name for kind in KINDS.values() if kind.per_user} - {"auc"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ncdg@10", "unknown; did you mean 'ndcg'"),
        ("recal@5", "did you mean 'recall'"),
        ("zzzz@5", "unknown; known: precision, recall"),
        ("precision", "lacks its cut-off; write for example 'precision@10'"),
        ("auc@5", "has no cut-off; write 'auc'"),
        ("ndcg@0", "from 1 to 100000"),
        ("ndcg@-1", "is not a name such as"),
        ("ndcg@", "is not a name such as"),
        (10, "is not a name such as"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_metric(name)


def test_no_names() -> None:
    with pytest.raises(ConfigError, match="metrics is empty"):
        parse_metrics([])
