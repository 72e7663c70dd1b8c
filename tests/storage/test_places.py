"""Where a model is saved: through links, below files, into the directory one works in."""

from pathlib import Path

import pytest

import sqlrank
from sqlrank.errors import FormatError
from sqlrank.storage import atomic
from sqlrank.testing import example_events


def fit(rank):
    return sqlrank.SQLRank(rank=rank, epochs=1).fit(example_events(), seed=0)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_saving_through_a_link_replaces_what_it_points_to(tmp_path):
    fit(3).save(tmp_path / "v1")
    link = tmp_path / "current"
    link.symlink_to("v1")
    assert fit(4).save(link) == link
    assert link.is_symlink()
    assert names(tmp_path) == ["current", "v1"]
    assert [sqlrank.load(tmp_path / name).settings.rank for name in ("v1", "current")] == [4, 4]


def test_a_link_to_nothing_yet_is_followed(tmp_path):
    (tmp_path / "current").symlink_to("v1")
    fit(3).save(tmp_path / "current")
    assert names(tmp_path) == ["current", "v1"]
    assert sqlrank.load(tmp_path / "current").settings.rank == 3


def test_a_link_to_itself_leads_nowhere(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for use in (fit(3).save, sqlrank.load):
        with pytest.raises(FormatError, match="loop"):
            use(tmp_path / "loop")


def test_a_model_set_aside_is_found_through_a_link(tmp_path):
    """What a crash between two renames leaves: the model is beside its place, not beside the link."""
    fit(3).save(tmp_path / "models" / "v1")
    (tmp_path / "current").symlink_to("models/v1")
    (tmp_path / "models" / "v1").rename(tmp_path / "models" / ".v1.previous")
    assert sqlrank.load(tmp_path / "current").settings.rank == 3


def test_nothing_is_saved_below_a_file(tmp_path):
    (tmp_path / "file").write_text("precious")
    for place in ("file/model", "file/some/model"):
        with pytest.raises(FormatError, match=r"Nothing can be saved in .*file"):
            fit(3).save(tmp_path / place)
        with pytest.raises(FormatError, match="does not exist"):
            sqlrank.load(tmp_path / place)
    assert (tmp_path / "file").read_text() == "precious"


def test_the_directory_one_works_in_stays(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for place in (".", folder, "../here"):
        with pytest.raises(FormatError, match="current working directory"):
            fit(3).save(place)
    assert Path.cwd() == folder
    assert names(tmp_path) == ["here"]
    assert fit(3).save("below") == folder / "below"


def test_links_that_an_earlier_save_left_are_removed(tmp_path):
    fit(3).save(tmp_path / "v1")
    left = f".model.saving-{atomic.socket.gethostname()}-999999999-abcd"
    (tmp_path / left).symlink_to("v1")
    (tmp_path / ".model.previous").symlink_to("v1")
    fit(3).save(tmp_path / "model")
    assert names(tmp_path) == ["model", "v1"]
    assert sqlrank.load(tmp_path / "v1").settings.rank == 3


def test_without_an_exchange_a_link_set_aside_is_no_hindrance(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    fit(3).save(tmp_path / "model")
    (tmp_path / ".model.previous").symlink_to("nowhere")
    fit(4).save(tmp_path / "model")
    assert names(tmp_path) == ["model"]
    assert sqlrank.load(tmp_path / "model").settings.rank == 4
