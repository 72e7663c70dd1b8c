"""Downloads, from a server on this machine."""

import hashlib
import http.server
import io
import threading
import zipfile
from pathlib import Path
from typing import ClassVar

import pytest

from sqlrank.data.datasets import fetch as public_fetch
from sqlrank.data.datasets import registry
from sqlrank.data.datasets.dataset import Dataset
from sqlrank.data.datasets.fetch import _fetch, _lines, _unpack
from sqlrank.data.datasets.registry import find
from sqlrank.data.datasets.spec import Counts, Download, Source, Spec
from sqlrank.errors import ConfigError, DataError

RATINGS = b"1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n"


class Handler(http.server.BaseHTTPRequestHandler):
    files: ClassVar[dict[str, bytes]] = {}
    ranges = True
    break_after: int | None = None
    log: ClassVar[list[str | None]] = []

    def do_GET(self):
        self.log.append(self.headers.get("Range"))
        if self.path not in self.files:
            self.send_error(404)
            return
        content, start = self.files[self.path], 0
        wanted = self.headers.get("Range")
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : self.break_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    handler = type("Fresh", (Handler,), {"files": {}, "log": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        handler.url = f"http://127.0.0.1:{running.server_port}"
        yield handler
        running.shutdown()
        thread.join(timeout=10)


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def spec(server, monkeypatch):
    """ml-1m as it would be if it had three ratings and lay on this server."""
    content = zipped({"ml-1m/ratings.dat": RATINGS, "ml-1m/README": b"terms"})
    server.files["/ml-1m.zip"] = content
    real = find("ml-1m")
    download = Download(
        (f"{server.url}/ml-1m.zip",), "ml-1m.zip", len(content), hashlib.md5(content).hexdigest(),
        hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    local = changed(real, downloads=(download,), counts=Counts(2, 2, 3))
    monkeypatch.setitem(registry._SPECS, "ml-1m", local)
    return local


def changed(spec: Spec, *, downloads=None, counts=None) -> Spec:
    from dataclasses import replace

    source = spec.source if downloads is None else Source(spec.source.page, downloads)
    return replace(spec, source=source, counts=counts or spec.counts)


def test_download_check_unpack_load(spec, server, tmp_path):
    seen = []
    folder = public_fetch("ml-1m", tmp_path, progress=lambda *args: seen.append(args))
    assert folder == tmp_path / "ml-1m"
    assert sorted(path.name for path in folder.iterdir()) == ["README", "ratings.dat"]
    size = len(server.files["/ml-1m.zip"])
    assert seen[0] == ("ml-1m.zip", 0, size) and seen[-1] == ("ml-1m.zip", size, size)
    data = registry.load("ml-1m", tmp_path)
    assert isinstance(data, Dataset) and len(data.train) == 3
    assert public_fetch("ml-1m", tmp_path) == folder
    assert len(server.log) == 1  # the second call found it


def test_goes_on_where_it_stopped(spec, server, tmp_path):
    content = server.files["/ml-1m.zip"]
    part = tmp_path / "ml-1m" / "ml-1m.zip.part"
    part.parent.mkdir()
    part.write_bytes(content[:50])
    _fetch(spec, tmp_path)
    assert server.log == ["bytes=50-"]
    assert not part.exists()


def test_broken_connection_keeps_the_piece(spec, server, tmp_path):
    server.break_after = 60
    with pytest.raises(DataError, match=r"broke after 60|IncompleteRead"):
        _fetch(spec, tmp_path)
    part = tmp_path / "ml-1m" / "ml-1m.zip.part"
    assert part.stat().st_size == 60
    server.break_after = None
    _fetch(spec, tmp_path)
    assert server.log == [None, "bytes=60-"]


def test_server_without_ranges_starts_again(spec, server, tmp_path):
    server.ranges = False
    part = tmp_path / "ml-1m" / "ml-1m.zip.part"
    part.parent.mkdir()
    part.write_bytes(b"something else")
    _fetch(spec, tmp_path)
    assert (tmp_path / "ml-1m" / "ratings.dat").read_bytes() == RATINGS


def test_piece_longer_than_the_file_starts_again(spec, server, tmp_path):
    part = tmp_path / "ml-1m" / "ml-1m.zip.part"
    part.parent.mkdir()
    part.write_bytes(server.files["/ml-1m.zip"] + b"more")
    _fetch(spec, tmp_path)
    assert len(server.log) == 2 and server.log[1] is None


@pytest.mark.parametrize("kind", ["size", "md5", "sha256"])
def test_wrong_checksum_leaves_nothing(spec, tmp_path, kind):
    from dataclasses import replace

    wrong = {"size": 1, "md5": "0" * 32, "sha256": "0" * 64}
    download = replace(spec.source.downloads[0], **{kind: wrong[kind]})
    with pytest.raises(DataError, match=r"is not the published file: it.*not"):
        _fetch(changed(spec, downloads=(download,)), tmp_path)
    assert list((tmp_path / "ml-1m").iterdir()) == []


def test_wrong_counts(spec, tmp_path, monkeypatch):
    other = changed(spec, counts=Counts(2, 2, 4))
    with pytest.raises(DataError, match=r"not what was published: expected .*train=4.*found .*train=3"):
        _fetch(other, tmp_path)


def test_alternative_address(spec, server, tmp_path):
    from dataclasses import replace

    download = replace(spec.source.downloads[0], urls=(f"{server.url}/gone.zip", f"{server.url}/ml-1m.zip"))
    _fetch(changed(spec, downloads=(download,)), tmp_path)
    assert len(server.log) == 2


def test_no_network_says_what_to_do(spec, tmp_path):
    from dataclasses import replace

    download = replace(spec.source.downloads[0], urls=("http://127.0.0.1:9/ml-1m.zip",))
    with pytest.raises(DataError) as error:
        _fetch(changed(spec, downloads=(download,)), tmp_path, timeout=2)
    for part in (
        "Without a network",
        "http://127.0.0.1:9/ml-1m.zip",
        f"unpack it into {tmp_path / 'ml-1m'}",
        "grouplens",
    ):
        assert part in str(error.value)


def test_file_that_is_gone_from_the_server(spec, server, tmp_path):
    del server.files["/ml-1m.zip"]
    with pytest.raises(DataError, match=r"could not be downloaded .*Not Found"):
        _fetch(spec, tmp_path)


def test_on_request_only(tmp_path):
    with pytest.raises(DataError, match=r"on request at https://webscope.*Put ydata.*into .*yahoo-r3"):
        public_fetch("yahoo-r3", tmp_path)
    with pytest.raises(ConfigError, match="did you mean"):
        public_fetch("yahoo-r4", tmp_path)


def test_folder_that_cannot_be_written(spec, tmp_path):
    (tmp_path / "ml-1m").write_text("a file, not a folder")
    with pytest.raises(DataError, match="cannot be written"):
        _fetch(spec, tmp_path)


@pytest.mark.parametrize("name", ["../evil", "/abs/evil", "a/../../evil"])
def test_archive_cannot_escape(tmp_path, name):
    archive = tmp_path / "x.zip.part"
    archive.write_bytes(zipped({name: b"x", "ok": b"y"}))
    with pytest.raises(DataError, match="outside its folder"):
        _unpack(archive, tmp_path / "in")
    assert not any(path.name == "evil" for path in Path(tmp_path).rglob("*"))


def test_what_is_not_an_archive(tmp_path):
    archive = tmp_path / "x.zip.part"
    archive.write_bytes(b"<html>sign in first</html>")
    with pytest.raises(DataError, match="not a zip file"):
        _unpack(archive, tmp_path)
    assert not archive.exists()


def test_lines_for_logs():
    out = io.StringIO()
    report = _lines(out)
    for done in (0, 500_000, 1_000_000):
        report("a.zip", done, 1_000_000)
    assert out.getvalue() == "downloading a.zip (1.0 MB)\ndownloaded a.zip\n"


def test_bar(spec, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    public_fetch("ml-1m", tmp_path)
    assert "ml-1m.zip" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ml-1m", "ml-100k"])
def test_published_checksums_are_whole(name):
    (download,) = find(name).source.downloads
    assert len(download.md5) == 32 and len(download.sha256) == 64 and download.size > 4_000_000
