"""The errors sqlrank raises: one small tree, so that one `except` can catch what it means to catch."""


class SqlrankError(Exception):
    """Base of every error raised on purpose by sqlrank."""


class DataError(SqlrankError, ValueError):
    """The data cannot be used as it is: says which file, row, column and value, and what to do."""


class ConfigError(SqlrankError, ValueError):
    """A setting is unknown or out of range: says which one, what it got and what it takes."""


class NotFittedError(SqlrankError, RuntimeError):
    """The model has not been fitted (or loaded) yet."""


class FormatError(SqlrankError, OSError):
    """A model directory is damaged, incomplete, or of a version this release cannot read."""
