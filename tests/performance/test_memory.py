"""Peak memory against what must be held: the weights and the key-value cache of the batch plan."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
GIGABYTE = 10**9


@pytest.mark.weights
def test_a_block_takes_its_weights_its_cache_and_at_most_a_gigabyte() -> None:
    """A process of its own, its imports and the loading of the model included."""
    script = Path(__file__).with_name("peak.py")
    command = [sys.executable, str(script), "SmolLM2-135M-Instruct", "bbq", "24"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print("batch plan:", ", ".join(f"{part} {n} rows × {slots} slots" for part, (n, slots) in found["plan"]))
    held, peak, loading = found["weights"] + found["cache"], found["peak"], found["loading"]
    print(
        f"weights {found['weights'] / GIGABYTE:.2f} GB, key-value cache {found['cache'] / GIGABYTE:.2f} GB; "
        f"peak {peak / GIGABYTE:.2f} GB ({loading / GIGABYTE:.2f} GB after loading)"
    )
    slots = {part: n for part, (_, n) in found["plan"]}
    assert slots["prefix"] > slots["answers"] > slots["prompts"], "the prefix is held once"
    assert peak <= held + GIGABYTE
