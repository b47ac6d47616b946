"""Sentence embeddings: pooled as the encoder's files say, whatever stands beside in the batch."""

import json

import numpy as np
import pytest

from benchtrust.errors import UnknownNameError
from benchtrust.inference import embed, encoding, weights

torch = pytest.importorskip("torch")

TEXTS = ["a cat sat", "the dog", "a cat sat on the dog and the dog sat on a cat"]


@pytest.fixture
def tiny_encoder(tmp_path, monkeypatch):
    """A folder with a random BERT over ten words, as the name of the catalogue's encoder finds it."""
    from transformers import BertConfig, BertModel, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat", "the", "dog", "on", "and"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(3)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    BertModel(BertConfig(vocab_size=len(words), **shape, initializer_range=0.5)).save_pretrained(tmp_path)
    monkeypatch.setattr(weights, "get", lambda name: tmp_path)
    return tmp_path


def by_hand(folder, text: str) -> np.ndarray:
    """One text alone, without padding: the mean over its tokens, ends included."""
    from transformers import AutoModel, AutoTokenizer

    ids = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    states = AutoModel.from_pretrained(folder).eval()(torch.tensor([ids])).last_hidden_state[0]
    mean = states.detach().numpy().mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_each_text_has_the_mean_of_its_own_tokens(tiny_encoder, capfd):
    found = embed(TEXTS)
    assert capfd.readouterr() == ("", "")
    assert found.shape == (3, 16)
    for text, vector in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(vector, by_hand(tiny_encoder, text), atol=2e-6)
    assert np.abs(found[0] - found[1]).max() > 0.01


def test_batches_change_nothing(tiny_encoder, monkeypatch):
    together = embed(TEXTS * 5)
    monkeypatch.setattr(encoding, "ROWS", 2)
    np.testing.assert_allclose(embed(TEXTS * 5), together, atol=2e-6)
    assert embed([]).shape == (0, 16)


def test_an_unknown_encoder_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean all-MiniLM-L6-v2"):
        embed(TEXTS, "MiniLM-L6-v2")


@pytest.mark.weights("all-MiniLM-L6-v2")
def test_the_real_encoder_is_that_of_its_own_files_and_knows_a_paraphrase():
    folder = weights.get("all-MiniLM-L6-v2")
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    assert [name for name, on in pooling.items() if on is True] == ["pooling_mode_mean_tokens"]
    kinds = [module["type"].split(".")[-1] for module in json.loads((folder / "modules.json").read_text())]
    assert kinds == ["Transformer", "Pooling", "Normalize"]
    first, same, other = embed(["A man is eating food.", "Somebody has a meal.", "The sky is blue."])
    assert first.shape == (384,)
    assert first @ same > 0.4 > 0.2 > first @ other
