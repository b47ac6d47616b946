"""Attention over a prefix that all rows share: its keys and values are held once, not once a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from benchtrust.inference.slots import SlotCache

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "benchtrust"


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    prefix: SlotCache | None = None,
    **kwargs,
) -> tuple[torch.Tensor, None]:
    """Transformers' attention interface; without a `prefix` it is transformers' own "sdpa".

    Parameters
    ----------
    query, key, value : of the rows' own tokens, shape (rows, heads or key-value heads, tokens, width).
    attention_mask : what each query sees of prefix and own keys, shape (rows, 1, queries, prefix + own).
    prefix : keys and values before every row's own, in a cache of one row.

    Returns
    -------
    Weighted values, shape (rows, queries, heads, width), and no weights.
    """
    if prefix is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    layer = prefix.layers[module.layer_idx]
    before = [buffer[0, :, : layer.length] for buffer in (layer.keys, layer.values)]
    weigh = _one_query if query.shape[2] == 1 else _many_queries
    return weigh(query, key, value, *before, attention_mask, scaling).transpose(1, 2).contiguous(), None


def _many_queries(query, key, value, before_key, before_value, mask, scaling) -> torch.Tensor:
    """The prefix is laid before every row's keys for the time of this layer."""
    rows = len(query)
    keys = torch.cat([before_key.expand(rows, -1, -1, -1), key], 2)
    values = torch.cat([before_value.expand(rows, -1, -1, -1), value], 2)
    return scaled_dot_product_attention(query, keys, values, mask, scale=scaling, enable_gqa=True)


def _one_query(query, key, value, before_key, before_value, mask, scaling) -> torch.Tensor:
    """All rows' queries meet the prefix in one matrix product; only their own keys are read row by row."""
    rows, heads, _, width = query.shape
    kv, length = before_key.shape[:2]
    grouped = query.view(rows, kv, heads // kv, width)
    together = grouped.transpose(0, 1).reshape(kv, -1, width)
    shared = torch.matmul(together, before_key.transpose(1, 2)).view(kv, rows, -1, length).transpose(0, 1)
    scores = torch.cat([shared, torch.matmul(grouped, key.transpose(2, 3))], -1)
    scores = scores.mul_(scaling).masked_fill_(~mask, float("-inf"))
    weights = scores.softmax(-1, dtype=torch.float32).to(value.dtype)
    own = torch.matmul(weights[..., length:], value)
    together = weights[..., :length].transpose(0, 1).reshape(kv, -1, length)
    shared = torch.matmul(together, before_value).view(kv, rows, -1, width).transpose(0, 1)
    return (own + shared).reshape(rows, heads, 1, width)


def share_prefixes(network: PreTrainedModel) -> None:
    """Let the network take a `prefix` in its forward pass."""
    ALL_ATTENTION_FUNCTIONS.register(NAME, attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, sdpa_mask)
    network.set_attn_implementation(NAME)
