"""Sizes beyond the paper's: hundreds of models, thousands of configurations; the null on the record."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from benchtrust import responses, stability

GRID = Path(__file__).parents[2] / "data" / "recorded" / "grid"
INSTRUCT = ["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct"]
SECONDS, GIGABYTE = 10, 10**9
NULL_SECONDS = 60
WIDE = """
import resource, time
import numpy as np
from benchtrust.stability import flip_rates
scores = np.random.default_rng(1).integers(0, 101, (5000, 200)) / 100
started = time.process_time()
rates = flip_rates(scores)
assert len(rates) == 200 * 199 / 2
unit = 1 if __import__("sys").platform == "darwin" else 1024
print(time.process_time() - started, unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_flip_rates_of_200_models_in_5000_configurations() -> None:
    """In a process of its own, its imports included."""
    runs = [subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True) for _ in range(3)]
    assert not any(run.returncode for run in runs), runs[0].stderr
    seconds, peaks = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    print(f"200 models × 5,000 configurations: {median(seconds):.1f} s, peak {max(peaks) / GIGABYTE:.2f} GB")
    assert median(seconds) <= SECONDS
    assert max(peaks) <= GIGABYTE


def test_two_thousand_permutations_of_the_recorded_grid() -> None:
    frame = responses.read(GRID)
    frame = stability.complete(stability.common_items(frame, INSTRUCT), INSTRUCT)
    benchmarks = [own for _, own in frame.groupby("benchmark")]
    times = []
    for _ in range(3):
        started = time.process_time()
        nulls = [stability.flip_null(own, 2000, np.random.default_rng(1)) for own in benchmarks]
        times.append(time.process_time() - started)
    assert all(null.per_pair.shape == (2000, 3) for null in nulls)
    print(f"label permutation, 2,000 draws on {len(benchmarks)} benchmarks: {median(times):.1f} s")
    assert median(times) <= NULL_SECONDS
