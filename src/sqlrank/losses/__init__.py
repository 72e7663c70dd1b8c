"""List losses: small objects that name a kernel and state its formula."""

from sqlrank.losses.base import ListLoss
from sqlrank.losses.plackett_luce import PlackettLuce

__all__ = ["ListLoss", "PlackettLuce"]
