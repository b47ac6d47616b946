"""Load a model from a folder after another small one; print what it holds and took at most, as JSON."""

import json
import re
import sys
from pathlib import Path

import torch

from benchtrust.inference import load, weights
from benchtrust.inference import model as loading
from benchtrust.inference.catalogue import ModelEntry
from benchtrust.inference.packed import PackedLinear

ENTRY = ModelEntry("made", True, "none", "random", 0.0, wheels=("made==1",), gguf_sha256="0")


def memory(field: str) -> int:
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def network(folder: str):
    weights.get = lambda name: folder
    return load("made", device="cpu").network


def main(small: str, folder: str) -> None:
    """The small one has all libraries imported."""
    torch.set_num_threads(1)
    loading.entry = lambda name: ENTRY
    network(small)
    before = memory("VmRSS")
    made = network(folder)
    packed = [layer.nbytes for layer in made.modules() if isinstance(layer, PackedLinear)]
    held = sum(packed) + sum(parameter.nbytes for parameter in made.parameters())
    print(json.dumps({"layers": len(packed), "held": held, "most": memory("VmHWM") - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
