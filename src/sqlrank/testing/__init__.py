"""The contract every model must keep, as tests that any package can run against its own models::

    from sqlrank.testing import ModelContract

    class TestMyModel(ModelContract):
        def make_model(self):
            return MyModel(rank=8)

Run it with pytest.
"""

from sqlrank.testing.contract import ModelContract
from sqlrank.testing.data import example_events, example_table

__all__ = ["ModelContract", "example_events", "example_table"]
