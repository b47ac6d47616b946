"""Pinned files: where they are looked for, what an altered or missing one says, a real download."""

import hashlib
import http.server
import re
import threading
from pathlib import Path

import pytest

from benchtrust import items
from benchtrust.errors import DataFileError, UnknownNameError
from benchtrust.items.sources import available, locate, sources

FILE = "items/made/words.csv"
GOOD = b"word\nharbour\n"
BAD = b"word\nharbor\n"
SHA = hashlib.sha256(GOOD).hexdigest()
UNREACHABLE = "http://127.0.0.1:9/words.csv"


@pytest.fixture
def pinned(tmp_path, monkeypatch, fresh_sources):
    """Write a `sources.toml` with one file at a given address; no folder named, an empty cache."""
    monkeypatch.setenv("BENCHTRUST_ROOT", str(tmp_path / "repository"))
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BENCHTRUST_DATA", raising=False)

    def write(url: str = UNREACHABLE) -> Path:
        path = tmp_path / "repository/data/sources.toml"
        path.parent.mkdir(parents=True)
        rows = [
            f'[[source]]\nfile = "{f}"\nurl = "{url}"\nsha256 = "{SHA}"\nlicence = "CC0"\n' for f in FILES
        ]
        path.write_text("\n".join(rows))
        return tmp_path / "cache/data"

    return write


FILES = (FILE, "items/made/other.csv")


def put(folder: Path, content: bytes = GOOD, file: str = FILE) -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def served():
    """A web server on this machine: path -> (status, body, announced length)."""
    answers: dict[str, tuple[int, bytes, int]] = {}
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            status, body, length = answers.get(self.path, (404, b"", 0))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers, asked
    server.shutdown()
    server.server_close()


# ---------------------------------------------------------------- where a file is looked for


def test_a_named_folder_is_used(pinned, tmp_path, monkeypatch):
    pinned()
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path / "mine"))
    assert not available(FILE)
    path = put(tmp_path / "mine")
    assert available(FILE)
    assert locate(FILE) == path


def test_folders_are_searched_in_order_and_the_cache_last(pinned, tmp_path, monkeypatch):
    cache = pinned()
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("BENCHTRUST_DATA", f"{first}:{second}")
    kept = put(cache)
    assert locate(FILE) == kept
    other = put(second)
    assert locate(FILE) == other
    mine = put(first)
    assert locate(FILE) == mine


def test_empty_entries_and_absent_folders_are_passed_over(pinned, tmp_path, monkeypatch):
    pinned()
    monkeypatch.setenv("BENCHTRUST_DATA", f":{tmp_path / 'nowhere'}::{tmp_path / 'mine'}:")
    path = put(tmp_path / "mine")
    assert locate(FILE) == path


def test_a_home_folder_is_expanded(pinned, tmp_path, monkeypatch):
    pinned()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BENCHTRUST_DATA", "~/mine")
    path = put(tmp_path / "mine")
    assert locate(FILE) == path


def test_case_and_punctuation_of_a_name_do_not_matter(pinned):
    path = put(pinned())
    assert locate("Items/made/Words.CSV") == path


# ---------------------------------------------------------------- altered, missing, unknown


@pytest.mark.parametrize("where", ["folder", "cache"])
def test_an_altered_file_is_named_with_both_hashes_and_both_ways_out(pinned, tmp_path, monkeypatch, where):
    cache = pinned()
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path / "mine"))
    path = put(tmp_path / "mine" if where == "folder" else cache, BAD)
    with pytest.raises(DataFileError) as caught:
        locate(FILE)
    for part in (str(path), FILE, SHA, hashlib.sha256(BAD).hexdigest(), "BENCHTRUST_DATA", UNREACHABLE):
        assert part in str(caught.value)
    assert str(cache / FILE) in str(caught.value)
    assert path.read_bytes() == BAD


@pytest.mark.parametrize("ask", [sources, lambda: items.load("bbq", "practice")])
def test_a_root_that_is_no_clone_is_named_with_what_it_lacks(tmp_path, monkeypatch, fresh_sources, ask):
    monkeypatch.setenv("BENCHTRUST_ROOT", str(tmp_path))
    lacks = "sources.toml" if ask is sources else "items/practice/bbq.jsonl"
    said = rf"^{re.escape(str(tmp_path))} has no data/{lacks}, .*: set BENCHTRUST_ROOT to one"
    with pytest.raises(DataFileError, match=said):
        ask()


def test_an_empty_file_is_an_altered_one(pinned):
    put(pinned(), b"")
    with pytest.raises(DataFileError, match=hashlib.sha256(b"").hexdigest()):
        locate(FILE)


def test_a_missing_file_without_a_network_says_how_to_get_it(pinned):
    cache = pinned()
    with pytest.raises(DataFileError) as caught:
        locate(FILE)
    for part in (FILE, SHA, "could not be downloaded", "BENCHTRUST_DATA", UNREACHABLE, str(cache / FILE)):
        assert part in str(caught.value)
    assert not list(cache.rglob("*.csv*"))


def test_a_missing_file_without_an_address_is_to_be_provided_by_hand(pinned):
    cache = pinned(url="")
    with pytest.raises(DataFileError, match="no address") as caught:
        locate(FILE)
    assert str(cache / FILE) in str(caught.value)
    assert "BENCHTRUST_DATA" in str(caught.value)


def test_an_unknown_file_lists_the_nearest(pinned):
    pinned()
    with pytest.raises(UnknownNameError, match=f"Did you mean {FILE}"):
        locate("items/made/wrods.csv")


# ---------------------------------------------------------------- downloads


def test_a_download_goes_into_the_cache_once(pinned, served):
    address, answers, asked = served
    answers["/words.csv"] = (200, GOOD, len(GOOD))
    cache = pinned(f"{address}/words.csv")
    assert locate(FILE) == cache / FILE
    assert (cache / FILE).read_bytes() == GOOD
    assert locate(FILE) == cache / FILE
    assert asked == ["/words.csv"]
    assert [path.name for path in cache.rglob("*") if path.is_file()] == ["words.csv"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, BAD, len(BAD)), hashlib.sha256(BAD).hexdigest()),
        ((200, GOOD[:5], len(GOOD)), "could not be downloaded"),
        ((200, b"", 0), hashlib.sha256(b"").hexdigest()),
        ((404, b"", 0), "404"),
        ((500, b"", 0), "500"),
    ],
    ids=["altered", "cut short", "empty", "gone", "broken server"],
)
def test_a_bad_download_leaves_nothing_behind(pinned, served, answer, said):
    address, answers, _ = served
    answers["/words.csv"] = answer
    cache = pinned(f"{address}/words.csv")
    with pytest.raises(DataFileError) as caught:
        locate(FILE)
    for part in (said, FILE, SHA, "BENCHTRUST_DATA", f"{address}/words.csv"):
        assert part in str(caught.value)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    answers["/words.csv"] = (200, GOOD, len(GOOD))
    assert locate(FILE).read_bytes() == GOOD


# ---------------------------------------------------------------- the pinned files themselves


def test_sources_are_pinned_by_commit_and_hash_and_name_their_licence():
    for name, source in sources().items():
        assert re.fullmatch(r"[0-9a-f]{64}", source.sha256), name
        assert source.licence.strip(), name
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
        if source.url:
            assert re.match(r"https://raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/", source.url)


def test_every_source_is_listed_once():
    text = Path(__file__).parents[2].joinpath("data/sources.toml").read_text(encoding="utf-8")
    assert text.count("[[source]]") == len(sources())
    hashes = [source.sha256 for source in sources().values()]
    assert len(set(hashes)) == len(hashes)


def test_all_items_files_have_an_address():
    assert all(source.url for name, source in sources().items() if name.startswith("items/"))


def test_a_file_without_an_address_says_what_it_is_derived_from(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCHTRUST_DATA", str(tmp_path))
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path / "cache"))
    derived = {name: source for name, source in sources().items() if not source.url}
    assert derived
    for name, source in derived.items():
        assert re.search(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", source.upstream), name
        with pytest.raises(DataFileError) as caught:
            locate(name)
        assert source.upstream in str(caught.value)


@pytest.mark.external
def test_the_files_at_hand_are_the_pinned_ones():
    here = [name for name in sources() if available(name)]
    assert here
    assert all(locate(name).is_file() for name in here)
