"""Named data sets, and artificial ones of any size.

``load`` reads a data set that lies on this machine, ``fetch`` downloads it from its owner, ``names`` lists
them; ``make_ratings`` and ``make_events`` draw artificial data from the model itself.
"""

from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.datasets.fetch import fetch
from sqlrank.data.datasets.generators import Synthetic, Truth, make_events, make_ratings
from sqlrank.data.datasets.registry import load, names

__all__ = ["Dataset", "Synthetic", "Truth", "fetch", "load", "make_events", "make_ratings", "names"]
