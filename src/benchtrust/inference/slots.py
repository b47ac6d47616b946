"""A key-value cache of fixed slots: written in place, cut back, and copied row by row."""

from __future__ import annotations

import torch
from transformers.cache_utils import Cache, DynamicLayer


class SlotLayer(DynamicLayer):
    """One layer's keys and values in a buffer of `capacity` slots; `rows` and `length` of it are in use."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.rows = 0
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.reserve(key_states, value_states, key_states.shape[0])
        self.rows = key_states.shape[0]

    def reserve(self, keys: torch.Tensor, values: torch.Tensor, rows: int) -> None:
        """Buffers of `rows` rows like `keys` and `values`; zero, since masked slots must be finite."""
        self.dtype, self.device = keys.dtype, keys.device
        self.keys, self.values = (
            s.new_zeros(rows, s.shape[1], self.capacity, s.shape[3]) for s in (keys, values)
        )
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self.keys[: self.rows, :, self.length : end] = key_states
        self.values[: self.rows, :, self.length : end] = value_states
        self.length = end
        return self.keys[: self.rows, :, :end], self.values[: self.rows, :, :end]

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

    @property
    def nbytes(self) -> int:
        """Memory of the buffers in bytes."""
        return sum(t.nbytes for layer in self.layers for t in (layer.keys, layer.values))

    def cut(self, length: int) -> None:
        """Forget all slots from `length` on."""
        for layer in self.layers:
            layer.length = min(layer.length, length)

    def take(
        self, other: SlotCache, source: list[int], to: list[int], rows: int, length: int, room: int = 0
    ) -> None:
        """Copy rows of another cache into rows `to` of this one, of `rows` rows and then `length` slots.

        There is room for `room` rows where that is more. Slots that are not copied stay zero.
        """
        for old, layer in zip(other.layers, self.layers, strict=True):
            if not layer.is_initialized:
                layer.reserve(old.keys, old.values, max(rows, room))
            used = slice(0, old.length)
            layer.keys[to, :, used] = old.keys[source, :, used]
            layer.values[to, :, used] = old.values[source, :, used]
            layer.rows, layer.length = rows, length

    def rearrange(self, sources: list[int]) -> None:
        """Let row i go on from row `sources[i]`; as many rows as sources.

        Rows are copied in place, so a row that is overwritten must not be another one's source.
        """
        to = [place for place, source in enumerate(sources) if place != source]
        source = [sources[place] for place in to]
        for layer in self.layers:
            for buffer in (layer.keys, layer.values) if to else ():
                buffer[to, :, : layer.length] = buffer[source, :, : layer.length]
            layer.rows = len(sources)
