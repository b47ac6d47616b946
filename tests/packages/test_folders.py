"""The folder that all packages read: NF4 weights as fp32, greedy settings, a known context window."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("bitsandbytes")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchtrust.errors import DataFileError
from benchtrust.inference import folders as written
from benchtrust.inference import weights
from benchtrust.inference.catalogue import ModelEntry
from benchtrust.inference.model import nf4_values
from benchtrust.packages import folders

ENTRY = ModelEntry("Tiny", True, "none", "", 0.1, ("tiny==1",), gguf_sha256="0" * 64)


@pytest.fixture
def source(tmp_path, monkeypatch, tokenizer_maker, network_maker):
    """A catalogue of one random model, whose settings ask for sampling."""
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path / "cache"))
    tokenizer = tokenizer_maker()
    network = network_maker("Llama", len(tokenizer), tie_word_embeddings=True)
    weights.save(network, tokenizer, tmp_path / "source")
    monkeypatch.setattr(written, "entry", lambda name: ENTRY)
    monkeypatch.setattr(weights, "get", lambda name: tmp_path / "source")
    return tmp_path / "source"


def test_linear_layers_hold_their_nf4_values_and_nothing_else_has_changed(source):
    folder = folders.folder("Tiny")
    before = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    after = AutoModelForCausalLM.from_pretrained(folder)
    assert after.dtype == torch.float32
    rounded = 0
    for name, layer in before.named_modules():
        if isinstance(layer, torch.nn.Linear) and name != "lm_head":
            rounded += 1
            found = after.get_submodule(name).weight
            assert torch.equal(found, nf4_values(layer.weight.data))
            assert not torch.equal(found, layer.weight)
    assert rounded == 14
    for name in ("model.embed_tokens", "lm_head", "model.norm"):
        assert torch.equal(after.get_submodule(name).weight, before.get_submodule(name).weight)


def test_the_folder_is_one_file_of_weights_under_the_models_name_and_written_once(source, monkeypatch):
    folder = folders.folder("Tiny")
    assert folder.name == "Tiny"
    assert [path.name for path in folder.glob("*.safetensors*")] == ["model.safetensors"]
    monkeypatch.setattr(written, "_write", None)
    assert folders.folder("Tiny") == folder


def test_greedy_is_greedy_and_the_window_is_stated(source):
    folder = folders.folder("Tiny")
    settings = json.loads((folder / "generation_config.json").read_text())
    settings.pop("transformers_version")
    assert {*settings} <= {"bos_token_id", "eos_token_id", "pad_token_id", "_from_model_config"}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.model_max_length == 2048
    ends = {tokenizer.convert_ids_to_tokens(i) for i in settings["eos_token_id"]}
    assert {"</s>", "<|im_end|>"} <= ends


def test_a_write_that_is_interrupted_leaves_no_folder(source, monkeypatch):
    def fails(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("transformers.PreTrainedTokenizerBase.save_pretrained", fails)
        with pytest.raises(KeyboardInterrupt):
            folders.folder("Tiny")
    assert not written._folder(ENTRY).exists()
    assert folders.folder("Tiny").is_dir()


def test_an_own_folder_is_taken_by_its_path_and_known_by_its_contents(source, tmp_path):
    assert folders.folder(str(source)) == source
    first = folders.sha256(source)
    (source / "config.json").write_text("{}")
    folders.sha256.cache_clear()
    assert folders.sha256(source) != first
    with pytest.raises(DataFileError, match=r"no transformers folder: it has no config\.json"):
        folders.folder(str(tmp_path))
