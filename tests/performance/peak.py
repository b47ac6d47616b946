"""Run one block of five-shot prompts; print its batch plan and what memory it took, as JSON."""

import json
import resource
import sys

import torch

from benchtrust import items
from benchtrust.grid import cells, plan, run
from benchtrust.inference import engine, load
from benchtrust.inference.packed import PackedLinear


def cache_bytes(config, rows: int, slots: int, itemsize: int) -> int:
    """Memory of keys and values."""
    return (
        2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * rows * slots * itemsize
    )


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(name: str, benchmark: str, n: int) -> None:
    torch.set_num_threads(1)
    model = load(name, device="cpu")
    network, loading = model.network, peak()
    loaded = items.load(benchmark, "practice")
    (block,) = plan.blocks([name], [benchmark], source="practice", template=["minimal"], shots=[5])
    pool, asked = plan.asked(block, n, loaded)
    wanted = cells.cells(block, model, "nf4", loaded, pool)
    layout: list[tuple[str, tuple[int, int]]] = []
    decode = engine.decode

    def watched(model, prefilled, rows, temperatures, seeds, max_new_tokens):
        start = max(piece.cache.length for piece in prefilled)
        layout.append(("prefix", (1, prefilled[0].prefix.length)))
        layout.extend(("prompts", (len(p.rows), p.cache.layers[0].capacity)) for p in prefilled)
        layout.append(("answers", (len(rows), start + max_new_tokens)))
        return decode(model, prefilled, rows, temperatures, seeds, max_new_tokens)

    engine.decode = watched
    run.answer(model, run.Task(block, tuple(wanted), tuple(asked), tuple(pool[: wanted[0].shots_used])))
    found = {
        "plan": layout,
        "weights": sum(p.nbytes for p in network.parameters())
        + sum(layer.nbytes for layer in network.modules() if isinstance(layer, PackedLinear)),
        "cache": sum(cache_bytes(network.config, *shape, network.dtype.itemsize) for _, shape in layout),
        "loading": loading,
        "peak": peak(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
