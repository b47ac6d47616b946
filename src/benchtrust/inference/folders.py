"""A model as an fp32 transformers folder that holds its dequantised NF4 weights: what other packages read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchtrust import project
from benchtrust.errors import DataFileError
from benchtrust.inference import weights
from benchtrust.inference.catalogue import ModelEntry, entry

if TYPE_CHECKING:
    from benchtrust.inference.model import Model


def nf4_as_fp32(name: str) -> Path:
    """Folder with the fp32 values of a catalogue model's NF4 weights, written into the cache once.

    The weights are one file, `model.safetensors`. Generation settings name special tokens only, so that
    greedy means greedy; the tokenizer states the context window, which HELM asks for. The folder bears the
    model's name.

    Raises
    ------
    As `benchtrust.inference.weights.get`.
    """
    model = entry(name)
    source = weights.get(model.name)
    target = _folder(model)
    with weights.alone(target):
        return target if target.is_dir() else _write(source, target)


def _folder(model: ModelEntry) -> Path:
    key = hashlib.sha256(model.source.encode()).hexdigest()[:12]
    return project.cache() / "nf4-as-fp32" / key / model.name


def _write(source: Path, target: Path) -> Path:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    from benchtrust.inference.model import hold_dense, quiet, stop_ids

    quiet()
    tokenizer = AutoTokenizer.from_pretrained(source)
    network = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    hold_dense(network, nf4=True, packed=False)
    tokenizer.model_max_length = int(network.config.get_text_config().max_position_embeddings)
    ends = sorted(stop_ids(network, tokenizer))
    padding = ends[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    network.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=ends, pad_token_id=padding
    )
    return weights.save(network, tokenizer, target, shard="100GB")


def read(folder: Path) -> Model:
    """The model in a transformers folder as a package reads it: fp32, its weights as they are.

    An answer ends at the tokens that the folder's generation settings name, and at no others.

    Raises
    ------
    DataFileError : the folder cannot be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from benchtrust.inference.model import quiet, wrap

    quiet()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise DataFileError(f"{folder} could not be read as a transformers folder: {error}") from error
    name, chat = Path(folder).name, bool(tokenizer.chat_template)
    billions = sum(p.numel() for p in network.parameters()) / 1e9
    found = ModelEntry(name, chat, "as of the folder", "read from a folder", billions)
    ends = network.generation_config.eos_token_id
    stops = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
    return replace(wrap(found, network, tokenizer), stop_ids=stops)
