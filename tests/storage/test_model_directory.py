"""Model directories: whole or not there, and errors that say what is wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sqlrank
from sqlrank.errors import FormatError
from sqlrank.storage import atomic, directory
from sqlrank.storage.tensors import header_of, map_arrays, write_arrays
from sqlrank.testing import example_events

GOLDEN = Path(__file__).parent / "golden"


def fit(seed=0):
    return sqlrank.SQLRank(rank=5, epochs=2).fit(example_events(), seed=seed)


@pytest.fixture
def saved(tmp_path):
    return fit().save(tmp_path / "model")


def test_arrays_are_mapped_aligned_and_read_only(saved):
    model = sqlrank.load(saved)
    for factors in (model._user_factors, model._item_factors):
        assert not factors.flags.writeable
        assert factors.ctypes.data % 64 == 0
        base = factors
        while not isinstance(base, np.memmap):
            base = base.base
        assert Path(base.filename) == saved / "factors.safetensors"


def test_the_safetensors_package_reads_our_files_and_we_read_its(tmp_path):
    from safetensors.numpy import load_file, save_file

    arrays = {
        "floats": np.arange(48, dtype=np.float32).reshape(3, 16),
        "offsets": np.arange(5),
        "codes": np.arange(3, dtype=np.int32),
        "empty": np.zeros((0, 16), np.float32),
        "flags": np.array([True, False]),
    }
    with (tmp_path / "ours").open("wb") as file:
        write_arrays(file, arrays)
    save_file(arrays, tmp_path / "theirs")
    for read in (
        load_file(tmp_path / "ours"),
        map_arrays(tmp_path / "ours"),
        map_arrays(tmp_path / "theirs"),
    ):
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype


def test_same_model_same_bytes(tmp_path):
    first, second = fit().save(tmp_path / "a"), fit().save(tmp_path / "b")
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_model_replaces_itself_while_mapped(saved):
    model = sqlrank.load(saved)
    expected = model.recommend(n=3)
    model.save(saved)
    assert model.recommend(n=3).equals(expected)
    assert sqlrank.load(saved, verify=True).recommend(n=3).equals(expected)


def change(path, **content):
    """Change model.json and leave its checksum out, as the first directories had none."""
    manifest = json.loads((path / "model.json").read_text())
    (path / "model.json").write_text(json.dumps({**manifest, "checksum": None, **content}))


def change_inside(path, *where, value):
    manifest = json.loads((path / "model.json").read_text())
    inner = manifest
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    change(path, **manifest | {"checksum": None})


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-10])


DAMAGES = {
    "not a model directory": lambda p: (p / "model.json").unlink(),
    "model.json is damaged": lambda p: (p / "model.json").write_text("{"),
    "describes a 'cake'": lambda p: change(p, format="cake"),
    "reads up to 1. Upgrade": lambda p: change(p, format_version=2),
    "a model 'Oracle', which is unknown": lambda p: change(p, model="Oracle"),
    "a model 'FactorModel', which is unknown": lambda p: change(p, model="FactorModel"),
    "model.json is damaged: format_version is True": lambda p: change(p, format_version=True),
    "model.json is damaged: format_version is 0": lambda p: change(p, format_version=0),
    "model.json is damaged: format_version is -3": lambda p: change(p, format_version=-3),
    "model.json is damaged: format_version is '1'": lambda p: change(p, format_version="1"),
    "model.json is damaged: facts is ": lambda p: change(p, facts=[]),
    "model.json is damaged: settings is ": lambda p: change(p, settings=[]),
    "model.json is damaged: model is ": lambda p: change(p, model=[]),
    "model.json is damaged: checksum is 5": lambda p: change(p, checksum=5),
    "model.json is damaged: its checksum is .* instead of abc": lambda p: change(p, checksum="abc"),
    "model.json is damaged: maximum recursion": lambda p: (p / "model.json").write_text("[" * 100_000),
    "model.json is damaged: .*no length and checksum": lambda p: change_inside(
        p, "files", "users.parquet", "sha256", value=5
    ),
    "model.json is damaged: .*bytes=-1.*": lambda p: change_inside(
        p, "files", "users.parquet", "bytes", value=-1
    ),
    "model.json: rank is 'x'": lambda p: change_inside(p, "facts", "rank", value="x"),
    "model.json: rank is None": lambda p: change_inside(p, "facts", "rank", value=None),
    "model.json: rank is 2; with these settings it is 5": lambda p: change_inside(
        p, "facts", "rank", value=2
    ),
    "model.json: epochs_done is 'x'": lambda p: change_inside(p, "facts", "epochs_done", value="x"),
    "unknown setting 'colour'": lambda p: change(p, settings={"colour": "red"}),
    "does not mention": lambda p: change(p, files={}),
    "factors.safetensors is missing": lambda p: (p / "factors.safetensors").unlink(),
    "users.parquet is missing": lambda p: (p / "users.parquet").unlink(),
    "factors.safetensors is truncated": lambda p: truncate(p / "factors.safetensors"),
    "items.parquet is truncated": lambda p: truncate(p / "items.parquet"),
    "items.parquet is damaged: its checksum": lambda p: flip(p / "items.parquet", 60),
    "factors.safetensors is damaged": lambda p: flip(p / "factors.safetensors", 20),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damage_is_named(saved, message):
    DAMAGES[message](saved)
    with pytest.raises(FormatError, match=message):
        sqlrank.load(saved)


def test_a_changed_fact_is_found_by_the_checksum_of_the_manifest(saved):
    text = (saved / "model.json").read_text()
    (saved / "model.json").write_text(text.replace('"epochs_done": 2', '"epochs_done": 3'))
    with pytest.raises(FormatError, match=r"model\.json is damaged: its checksum"):
        sqlrank.load(saved)
    (saved / "model.json").write_text(json.dumps(json.loads(text)))  # what it says is the same
    sqlrank.load(saved)


def test_damaged_factors_are_found_when_asked_for(saved):
    flip(saved / "factors.safetensors", len(header_of(saved / "factors.safetensors")) + 5)
    sqlrank.load(saved)
    with pytest.raises(FormatError, match="checksum"):
        sqlrank.load(saved, verify=True)


def test_nothing_there(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        sqlrank.load(tmp_path / "nowhere")


def test_other_files_are_not_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(FormatError, match=r"thesis\.tex"):
        fit().save(tmp_path)
    with pytest.raises(FormatError, match="is a file"):
        fit().save(tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "precious"
    (tmp_path / "empty").mkdir()
    sqlrank.load(fit().save(tmp_path / "empty"))


STEPS = [
    (os, "fsync"),
    (atomic, "_exchange"),
    (atomic.shutil, "rmtree"),
    (atomic.Path, "rename"),
    (atomic.Path, "mkdir"),
    (directory, "write_arrays"),
    (directory.pl.DataFrame, "write_parquet"),
    (directory.Path, "write_text"),
]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_every_moment_shows_the_old_or_the_new_model(tmp_path, monkeypatch, can_exchange):
    """What a crash would leave at any step is what the disk shows at that step."""
    models = [fit(seed) for seed in (0, 1)]
    expected = [model.recommend(n=4) for model in models]
    assert not expected[0].equals(expected[1])
    disk, moments = tmp_path / "disk", []
    path = models[0].save(disk / "model")
    copy = shutil.copytree

    def watched(function):
        def call(*arguments, **keywords):
            moments.append(copy(disk, tmp_path / f"before {len(moments)}"))
            result = function(*arguments, **keywords)
            moments.append(copy(disk, tmp_path / f"after {len(moments)}"))
            return result

        return call

    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    for place, name in STEPS:
        monkeypatch.setattr(place, name, watched(getattr(place, name)))
    models[1].save(path)
    monkeypatch.undo()

    outcomes = []
    for moment in moments:
        found = sqlrank.load(moment / "model", verify=True).recommend(n=4)
        outcomes.append(next(i for i in (0, 1) if found.equals(expected[i])))
        models[1].save(moment / "model")  # and the next save works and tidies up
        assert sqlrank.load(moment / "model").recommend(n=4).equals(expected[1])
    assert len(outcomes) > 20
    assert outcomes == sorted(outcomes), "once the new model is in place it stays"
    assert set(outcomes) == {0, 1}


KILLED = """
import os, sys
import sqlrank
from sqlrank.storage import atomic, directory
from sqlrank.testing import example_events

atomic._put_in_place = lambda fresh, path: os._exit(77)
sqlrank.SQLRank(rank=5, epochs=2).fit(example_events()).save(sys.argv[1])
"""


def test_leftovers_of_a_killed_save_are_removed_by_the_next(saved):
    expected = sqlrank.load(saved).recommend(n=4)
    done = subprocess.run([sys.executable, "-c", KILLED, str(saved)], check=False)
    assert done.returncode == 77
    assert len(list(saved.parent.iterdir())) == 2
    assert sqlrank.load(saved, verify=True).recommend(n=4).equals(expected)
    fit(seed=1).save(saved)
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["fsync", "rename"])
def test_an_error_leaves_the_old_model(saved, monkeypatch, name):
    expected = sqlrank.load(saved).recommend(n=4)

    def fail(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail) if name == "fsync" else monkeypatch.setattr(
        atomic, "_put_in_place", fail
    )
    with pytest.raises(OSError, match="no space"):
        fit(seed=1).save(saved)
    monkeypatch.undo()
    assert sqlrank.load(saved, verify=True).recommend(n=4).equals(expected)
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


def test_a_reader_never_sees_a_mixture(tmp_path):
    """Load over and over while another process replaces the model."""
    models = [fit(seed) for seed in (0, 1)]
    expected = [model.recommend(n=4) for model in models]
    path = models[0].save(tmp_path / "model")
    other = models[1].save(tmp_path / "other")
    code = (
        "import sqlrank, sys\n"
        "models = [sqlrank.load(sys.argv[2]), sqlrank.load(sys.argv[1])]\n"
        "for turn in range(25): models[turn % 2].save(sys.argv[1])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path), str(other)]) as writer:
        while writer.poll() is None:
            found = sqlrank.load(path).recommend(n=4)
            assert any(found.equals(table) for table in expected)
    assert writer.returncode == 0


@pytest.mark.parametrize("version", sorted(path.name for path in GOLDEN.iterdir()))
def test_golden_models_stay_readable(version):
    folder = GOLDEN / version
    model = sqlrank.load(folder / "model", verify=True)
    expected = pl.read_csv(folder / "expected.csv", schema_overrides={"score": pl.Float32, "rank": pl.Int32})
    assert model.recommend(n=4).equals(expected)
    assert model.recommend(histories={"somebody": ["item 01", "item 07"]}, n=3).height == 3
