"""NF4: layers dequantised once give live bitsandbytes logits to the bit, and a wrong scale shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
bnb = pytest.importorskip("bitsandbytes")

from benchtrust.inference import load, option_logprobs, weights  # noqa: E402
from benchtrust.inference import model as loading  # noqa: E402
from benchtrust.inference.catalogue import ModelEntry  # noqa: E402
from benchtrust.inference.packed import PackedLinear  # noqa: E402

SMOLLM2 = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}
WORDS = 49152
COPIES = 1.3
"""Of the weights as they are held in the end, at most, at any time of the loading."""
PROMPTS = ["How far is it to the harbour?", "Hi"]
OPTIONS = [("A mile", "B"), ("yes", "no")]
PACKED_TOLERANCE = 1e-4
GPU_TOLERANCE = 0.1
"""Nats a token: a GPU computes in bf16, whose 8 bits move these random networks' logits by hundredths."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory, network_maker, tokenizer_maker):
    """A random network wide enough for several blocks of 64 in every layer, as the cache holds real ones."""
    folder = tmp_path_factory.mktemp("weights")
    tokenizer = tokenizer_maker()
    shape = {"hidden_size": 128, "intermediate_size": 192, "initializer_range": 0.1}
    made = network_maker("Qwen2", len(tokenizer), **shape)
    made.generation_config.update(do_sample=False, temperature=None, top_k=None, repetition_penalty=None)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def in_catalogue(saved, monkeypatch):
    """Let `load` find the random network under a name of its own."""
    entry = ModelEntry("tiny", True, "none", "random", 0.0, wheels=("tiny==1",), gguf_sha256="0")
    monkeypatch.setattr(loading, "entry", lambda name: entry)
    monkeypatch.setattr(weights, "get", lambda name: saved)
    return entry


def layers(model) -> list:
    return [m for m in model.network.modules() if isinstance(m, bnb.nn.Linear4bit)]


@torch.no_grad()
def logits(model, prompt: str = PROMPTS[0]) -> torch.Tensor:
    ids = model.tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)
    return model.network(input_ids=ids).logits.float().cpu()


def test_the_two_paths_hold_what_they_say(in_catalogue):
    live, once = load("tiny", live=True), load("tiny", device="cpu", packed=False)
    full = load("tiny", "none", device="cpu", packed=False)
    assert len(layers(live)) == 14
    assert layers(once) == layers(full) == []
    assert (live.path, once.path, full.path) == ("live", "dequantised once", "unquantised")
    state = layers(live)[0].weight.quant_state
    assert (state.quant_type, state.blocksize, state.nested) == ("nf4", 64, True)
    assert not any(p.requires_grad for m in (live, once) for p in m.network.parameters())
    assert once.network.get_submodule("model.layers.0.self_attn.q_proj").bias is not None


def test_logits_are_bit_identical(in_catalogue):
    live, once = load("tiny", live=True), load("tiny", device="cpu", packed=False)
    for prompt in PROMPTS:
        assert torch.equal(logits(live, prompt), logits(once, prompt))


def test_quantisation_is_not_a_copy_of_the_full_weights(in_catalogue):
    once, full = load("tiny", device="cpu"), load("tiny", "none", device="cpu")
    assert (logits(once) - logits(full)).abs().max() > 1e-2


@pytest.mark.parametrize("number", [0, 6, 13])
@pytest.mark.parametrize("scale", ["block", "block of blocks", "offset"])
def test_a_wrong_scale_does_not_pass_as_equal(in_catalogue, number, scale):
    live, once = load("tiny", live=True), load("tiny", device="cpu", packed=False)
    packed = load("tiny", device="cpu")
    assert (logits(live) - logits(packed)).abs().max() < PACKED_TOLERANCE
    state = layers(live)[number].weight.quant_state
    if scale == "block":
        state.absmax[3] += 40
    elif scale == "block of blocks":
        state.state2.absmax[0] *= 1.5
    else:
        state.offset += 0.05
    assert not torch.equal(logits(live), logits(once))
    assert (logits(live) - logits(packed)).abs().max() > PACKED_TOLERANCE


def test_each_layer_holds_what_its_live_layer_stands_for_and_the_output_layer_what_it_had(in_catalogue):
    live, full = load("tiny", live=True), load("tiny", "none", device="cpu", packed=False)
    once = load("tiny", device="cpu", packed=False)
    for name, layer in once.network.named_modules():
        if type(layer) is torch.nn.Linear:
            peer = live.network.get_submodule(name)
            if isinstance(peer, bnb.nn.Linear4bit):
                wanted = bnb.functional.dequantize_4bit(peer.weight.data, peer.weight.quant_state)
            else:
                assert layer is once.network.get_output_embeddings()
                wanted = full.network.get_submodule(name).weight
            assert torch.equal(layer.weight, wanted), name


def test_the_engine_runs_on_both_paths(in_catalogue):
    live, once = load("tiny", live=True), load("tiny", device="cpu")
    for a, b in zip(
        option_logprobs(live, PROMPTS, OPTIONS), option_logprobs(once, PROMPTS, OPTIONS), strict=True
    ):
        assert a.logprobs == pytest.approx(b.logprobs, abs=1e-4)


@pytest.mark.weights("SmolLM2-135M-Instruct")
def test_real_weights_are_bit_identical():
    live = load("SmolLM2-135M-Instruct", device="cpu", live=True)
    expected = [logits(live, prompt) for prompt in PROMPTS]
    assert len(layers(live)) == 210
    layers(live)[100].weight.quant_state.absmax[7] += 40
    wrong = logits(live)
    del live
    once = load("SmolLM2-135M-Instruct", device="cpu", packed=False)
    found = [logits(once, prompt) for prompt in PROMPTS]
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    assert not torch.equal(wrong, found[0])
    packed = load("SmolLM2-135M-Instruct", device="cpu")
    gaps = [(logits(packed, p) - e).abs().max() for p, e in zip(PROMPTS, expected, strict=True)]
    assert 0 < max(gaps) < 1e-3 < (logits(packed) - wrong).abs().max()


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN here")
def test_every_linear_layer_is_packed_and_has_the_same_products(in_catalogue):
    plain, packed = load("tiny", device="cpu", packed=False), load("tiny", device="cpu")
    made = {n: m for n, m in packed.network.named_modules() if isinstance(m, PackedLinear)}
    assert set(made) == {n for n, m in plain.network.named_modules() if type(m) is torch.nn.Linear}
    for name, layer in made.items():
        inputs = torch.randn(3, 2, layer.in_features)
        gap = (layer(inputs) - plain.network.get_submodule(name)(inputs)).abs().max()
        assert gap < 1e-5, name


@pytest.mark.gpu
def test_a_gpu_runs_live_and_agrees_with_the_cpu(in_catalogue):
    live, once = load("tiny", device="cuda"), load("tiny", device="cpu")
    assert live.path == "live"
    assert len(layers(live)) == 14
    for a, b in zip(
        option_logprobs(live, PROMPTS, OPTIONS), option_logprobs(once, PROMPTS, OPTIONS), strict=True
    ):
        per_token = [abs(x - y) / n for x, y, n in zip(a.logprobs, b.logprobs, a.tokens, strict=True)]
        assert max(per_token) < GPU_TOLERANCE


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc that tells a process's peak")
@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN here")
def test_loading_holds_the_weights_once(saved, tmp_path, network_maker, tokenizer_maker):
    """SmolLM2's shape, in a process of its own that has loaded a small network before."""
    made = network_maker("Llama", WORDS, **SMOLLM2)
    made.generation_config.update(do_sample=False, temperature=None, top_k=None, repetition_penalty=None)
    folder = weights.save(made, tokenizer_maker(), tmp_path / "made")
    script = Path(__file__).with_name("loading.py")
    command = [sys.executable, str(script), str(saved), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["layers"] == 7 * 30 + 1
    assert found["held"] > 600e6
    assert found["most"] < COPIES * found["held"]
