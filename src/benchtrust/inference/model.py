"""Loading a model: NF4 by bitsandbytes, dequantised once on a CPU, live on a GPU."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from benchtrust.errors import BenchtrustError, DataFileError, pick
from benchtrust.inference import weights
from benchtrust.inference.catalogue import ModelEntry, entry

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

QUANTIZATIONS = ("nf4", "none")
NF4 = {"quant_type": "nf4", "compress_statistics": True, "blocksize": 64}
END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<end_of_turn>", "<|eot_id|>", "</s>")


@dataclass(frozen=True)
class Reader:
    """What is known of a model without its weights: catalogue entry, tokenizer and context window.

    `context_window` is the longest sequence in tokens that the network was made for.
    """

    entry: ModelEntry
    tokenizer: PreTrainedTokenizerBase
    context_window: int

    @property
    def name(self) -> str:
        return self.entry.name


@dataclass(frozen=True)
class Model:
    """A loaded model: catalogue entry, network, tokenizer, and how its weights are held.

    `path` is ``"dequantised once"``, ``"live"`` or ``"unquantised"``; `stop_ids` is the union of all tokens
    that end an answer.
    """

    entry: ModelEntry
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    quantization: str
    path: str
    stop_ids: frozenset[int]

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def device(self) -> torch.device:
        return self.network.device

    @property
    def context_window(self) -> int:
        """Longest sequence in tokens that the network was made for."""
        return int(self.network.config.max_position_embeddings)

    @property
    def peak_bytes(self) -> int:
        """Most memory held so far: of the device on a GPU, of the whole process on a CPU."""
        if self.device.type == "cuda":
            import torch

            return torch.cuda.max_memory_allocated(self.device)
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def load(
    name: str,
    quantization: str = "nf4",
    device: str = "auto",
    live: bool | None = None,
    packed: bool = True,
) -> Model:
    """Load a model of the catalogue.

    Parameters
    ----------
    name : catalogue name.
    quantization : ``"nf4"`` (bitsandbytes NF4, double quantisation) or ``"none"``.
    device : ``"auto"`` (a GPU where there is one), ``"cpu"`` or a torch device.
    live : keep bitsandbytes' 4-bit layers (default on a GPU) or give each layer the weights that they stand
        for, unpacked once (default on a CPU: the same logits up to rounding, and many times faster).
    packed : on a CPU, lay fp32 layers out for oneDNN's faster matrix product.

    Raises
    ------
    UnknownNameError : unknown model or quantisation, with the nearest names.
    DataFileError : weights that cannot be had, with how to provide them.
    BenchtrustError : a hub model whose revision is not pinned yet.
    """
    quantization = pick(quantization, QUANTIZATIONS, "quantization")
    model, source, pinned = _source(name)
    import torch

    where = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    on_gpu = where.startswith("cuda")
    live = quantization == "nf4" and (on_gpu if live is None else live)
    dtype = torch.bfloat16 if on_gpu else torch.float32
    network, tokenizer = _read(model, source, pinned, live, where, dtype)
    if not live:
        hold_dense(network, quantization == "nf4", packed)
    elif not on_gpu:
        _compute_as_asked(network)
    path = "unquantised" if quantization == "none" else "live" if live else "dequantised once"
    return _ready(model, network, tokenizer, quantization, path)


@cache
def reader(name: str) -> Reader:
    """Tokenizer and context window of a model of the catalogue; its weights are fetched but not loaded.

    Raises
    ------
    As `load`.
    """
    from transformers import AutoConfig, AutoTokenizer

    model, source, pinned = _source(name)
    try:
        config = AutoConfig.from_pretrained(source, **pinned)
        tokenizer = AutoTokenizer.from_pretrained(source, **pinned)
    except (OSError, ValueError) as error:
        raise _unreadable(model, source, error) from error
    return Reader(model, tokenizer, int(config.get_text_config().max_position_embeddings))


def wrap(model: ModelEntry, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Model:
    """A model that was built in place, such as random weights, under a catalogue entry made for it."""
    return _ready(model, network, tokenizer, "none", "unquantised")


def nf4_config(compute_dtype: torch.dtype):
    """The quantisation used throughout: NF4, double quantisation, blocks of 64."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=compute_dtype,
    )


def hold_dense(network: PreTrainedModel, nf4: bool, packed: bool) -> None:
    """Bring an unquantised network, in place and layer by layer, into the form in which it answers.

    What was read of a layer is let go of before the next one, so that no second copy of the network is ever
    held: the large output layer goes first, and all parameters are copied but the embedding's, since one that
    is not keeps its file of weights mapped. Of the embedding only those rows are in memory that were asked.

    Parameters
    ----------
    nf4 : round the weights of all linear layers but the output layer to NF4, as bitsandbytes does.
    packed : lay fp32 linear layers on a CPU out for oneDNN, where torch has it; an output layer that shares
        its weights with the embedding gets a copy of its own.
    """
    import torch

    from benchtrust.inference.packed import PackedLinear

    packed = packed and network.device.type == "cpu" and torch.backends.mkldnn.is_available()
    for name in reversed([name for name, _ in network.named_modules()]):
        layer = network.get_submodule(name)
        linear = type(layer) is torch.nn.Linear
        if nf4 and linear and layer is not network.get_output_embeddings():
            layer.weight.data = nf4_values(layer.weight.data)
            _trim()
        if packed and linear:
            network.set_submodule(name, PackedLinear(layer))
        elif packed and not isinstance(layer, torch.nn.Embedding):
            for parameter in layer.parameters(recurse=False):
                parameter.data = parameter.data.clone()


def nf4_values(weight: torch.Tensor) -> torch.Tensor:
    """Weights after bitsandbytes' NF4 and back, same shape and type."""
    import bitsandbytes as bnb

    return bnb.functional.dequantize_4bit(*bnb.functional.quantize_4bit(weight, **NF4))


def _trim() -> None:
    """Have glibc give freed memory back: pieces that no later layer fits into add up to half the weights."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def _ready(
    model: ModelEntry,
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    quantization: str,
    path: str,
) -> Model:
    """The network set to answer: no dropout, no gradients, prefixes shared."""
    from benchtrust.inference.attention import share_prefixes

    share_prefixes(network)
    network = network.eval().requires_grad_(False)
    return Model(model, network, tokenizer, quantization, path, stop_ids(network, tokenizer))


def quiet() -> None:
    """No threads of the tokenizers' own, and nothing printed while transformers reads weights."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _source(name: str) -> tuple[ModelEntry, str, dict[str, str]]:
    """Entry of a model, where transformers reads it (cache or hub), and the revision to ask for."""
    quiet()
    model = entry(name)
    if model.hub:
        model = replace(model, revision=_revision(model))
        return model, model.hub, {"revision": model.revision}
    return model, str(weights.get(model.name)), {}


def _read(model: ModelEntry, source: str, pinned: dict[str, str], live: bool, where: str, dtype: torch.dtype):
    """Network, unquantised unless it is to be in live NF4, and tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"quantization_config": nf4_config(dtype)} if live else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **pinned)
        network = AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, device_map={"": where}, attn_implementation="sdpa", **options, **pinned
        )
    except (OSError, ValueError) as error:
        raise _unreadable(model, source, error) from error
    return network, tokenizer


def _compute_as_asked(network: PreTrainedModel) -> None:
    """Let 4-bit layers on a CPU compute in fp32; with AVX512-BF16 they would take bf16 by themselves."""
    import bitsandbytes as bnb

    for layer in network.modules():
        if isinstance(layer, bnb.nn.Linear4bit):
            layer.support_avx512bf16_for_cpu = False


def _unreadable(model: ModelEntry, source: str, error: Exception) -> DataFileError:
    advice = (
        f"Download {model.source} where there is a network; the hub's cache keeps it."
        if model.hub
        else f"Delete that folder and run `benchtrust models get {model.name}`."
    )
    return DataFileError(f"{model.name}: the weights in {source} could not be read ({error}). {advice}")


def _revision(model: ModelEntry) -> str:
    """Pinned hub commit, from the catalogue or `BENCHTRUST_REVISION_<NAME>`."""
    variable = "BENCHTRUST_REVISION_" + "".join(c if c.isalnum() else "_" for c in model.name).upper()
    revision = model.revision or os.environ.get(variable, "")
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    found = (
        f"has a revision that is no full commit hash ({revision!r})"
        if revision
        else "has no pinned revision yet"
    )
    raise BenchtrustError(
        f"{model.name} ({model.hub}) {found}. Look up the commit that you mean on the hub "
        f"and set {variable} to its full hash, or write it into the catalogue."
    )


def stop_ids(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Union of the end tokens that configuration, generation settings, tokenizer and vocabulary name."""
    found: set[int] = set()
    for holder in (network.config, getattr(network, "generation_config", None), tokenizer):
        ids = getattr(holder, "eos_token_id", None)
        found |= set(ids if isinstance(ids, list | tuple) else [] if ids is None else [ids])
    vocabulary = tokenizer.get_vocab()
    return frozenset(found | {vocabulary[token] for token in END_TOKENS if token in vocabulary})
