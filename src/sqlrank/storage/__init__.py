"""Models on disk: a directory that is whole or not there, holds no code, and is mapped instead of read."""

from sqlrank.storage.directory import load_model, save_model

__all__ = ["load_model", "save_model"]
