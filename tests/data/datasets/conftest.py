"""Files of tiny data sets."""

import pytest


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
        return path

    return write_file
