"""Interactions, vocabularies and readers: from any table to integer codes, once."""

from sqlrank.data.cleaning import CleaningReport
from sqlrank.data.interactions import Interactions, ItemView
from sqlrank.data.readers import read
from sqlrank.data.vocabulary import Vocabulary

__all__ = ["CleaningReport", "Interactions", "ItemView", "Vocabulary", "read"]
