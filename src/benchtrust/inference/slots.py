"""A key-value cache of fixed slots: written in place, cut back, and copied row by row."""

from __future__ import annotations

import torch
from transformers.cache_utils import Cache, DynamicLayer


class SlotLayer(DynamicLayer):
    """One layer's keys and values in a buffer of `capacity` slots; `length` of them are in use."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys, self.values = (
            s.new_zeros(s.shape[0], s.shape[1], self.capacity, s.shape[3]) for s in (key_states, value_states)
        )
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_seq_length(self) -> int:
        return self.length


class SlotCache(Cache):
    """Slots for every layer, the same number in each, so that masks alone decide what is seen."""

    def __init__(self, n_layers: int, capacity: int) -> None:
        super().__init__(layers=[SlotLayer(capacity) for _ in range(n_layers)])

    @property
    def length(self) -> int:
        """Slots in use."""
        return self.layers[0].length

    def cut(self, length: int) -> None:
        """Forget all slots from `length` on."""
        for layer in self.layers:
            layer.length = min(layer.length, length)

    def take(self, other: SlotCache, source: list[int], to: list[int], rows: int, length: int) -> None:
        """Copy rows of another cache into rows `to` of this one, of `rows` rows and then `length` slots.

        Slots that are not copied stay zero: they are masked, but must be finite.
        """
        for old, layer in zip(other.layers, self.layers, strict=True):
            if not layer.is_initialized:
                shape = rows, old.keys.shape[1], layer.capacity, old.keys.shape[3]
                layer.keys, layer.values = old.keys.new_zeros(shape), old.values.new_zeros(shape)
                layer.dtype, layer.device, layer.is_initialized = old.keys.dtype, old.keys.device, True
            used = slice(0, old.length)
            layer.keys[to, :, used] = old.keys[source, :, used]
            layer.values[to, :, used] = old.values[source, :, used]
            layer.length = length
