"""The sweep over numbers of clusters: against scikit-learn's, its memory, and 20,000 items."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import rel_entr
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchtrust.harmony import partition, predictive_similarity

GIGABYTE = 10**9
PART = (2, 6, 10, 15, 20)
SWEEP = """
import json, resource, sys, time
import numpy as np
from benchtrust.harmony import partition, predictive_similarity

n = int(sys.argv[1])
kinds = np.arange(n) % 6
rng = np.random.default_rng(1)
p = np.array([rng.dirichlet(40 * (0.02 + 0.88 * np.eye(6)[kind])) for kind in kinds])
started = time.process_time()
found = partition(predictive_similarity(p, 1.0), (2, 20), rng)
seconds = time.process_time() - started
unit = 1 if sys.platform == "darwin" else 1024
peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
wrong = sum(len(set(found.labels[kinds == kind])) > 1 for kind in range(6))
print(json.dumps({"seconds": seconds, "peak": peak, "k": found.k, "wrong": wrong}))
"""


def items(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Distributions over 6 outcomes of six clear kinds."""
    rng, kinds = np.random.default_rng(seed), np.arange(n) % 6
    return np.array([rng.dirichlet(40 * (0.02 + 0.88 * np.eye(6)[kind])) for kind in kinds]), kinds


def in_its_own_process(n: int) -> dict[str, float]:
    """The sweep of n items: CPU-seconds, and the peak of memory, imports included."""
    done = subprocess.run([sys.executable, "-c", SWEEP, str(n)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_sweep_over_10000_items_is_ten_times_cheaper_than_scikit_learn_s(cpu_seconds) -> None:
    """Theirs for five k of nineteen must cost ten times our nineteen; all with BENCHTRUST_BENCH=full."""
    p, kinds = items(10_000)
    making, similarity = cpu_seconds(predictive_similarity, p, 1.0)
    sweeping, found = cpu_seconds(partition, similarity, (2, 20), np.random.default_rng(0))
    ours = making + sweeping
    print(f"ours, k = 2..20 with its null: {ours:.1f} CPU-s ({making:.1f} s for the affinity)")
    affinity, theirs, same = similarity.over_items(), 0.0, None
    distance = 1 - affinity
    tried = range(2, 21) if os.environ.get("BENCHTRUST_BENCH") == "full" else PART
    for k in tried:
        peer = SpectralClustering(k, affinity="precomputed", random_state=0)
        clustering, labels = cpu_seconds(peer.fit_predict, affinity)
        scoring, _ = cpu_seconds(silhouette_score, distance, labels, metric="precomputed")
        theirs += clustering + scoring
        print(f"scikit-learn, k = {k}: {clustering:.1f} + {scoring:.1f} CPU-s", flush=True)
        same = adjusted_rand_score(labels, found.labels) if k == found.k else same
    print(f"{len(tried)} k of scikit-learn: {theirs:.0f} CPU-s, {theirs / ours:.0f}× our 19")
    assert found.k == 6
    assert same == 1
    assert adjusted_rand_score(kinds, found.labels) == 1
    assert theirs >= 10 * ours


def test_10000_items_stay_under_two_and_a_half_gigabytes() -> None:
    found = in_its_own_process(10_000)
    print(f"10,000 items: {found['seconds']:.1f} CPU-s, peak {found['peak'] / GIGABYTE:.2f} GB")
    assert (found["k"], found["wrong"]) == (6, 0)
    assert found["peak"] <= 2.5 * GIGABYTE


def test_20000_items_run_by_blocks_in_single_precision() -> None:
    found = in_its_own_process(20_000)
    print(f"20,000 items: {found['seconds']:.1f} CPU-s, peak {found['peak'] / GIGABYTE:.2f} GB")
    assert (found["k"], found["wrong"]) == (6, 0)
    assert found["peak"] <= 6 * GIGABYTE


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_blocks_in_single_precision_agree_with_the_dense_double_one(tau: float) -> None:
    """The blocked path that 20,000 items take, against one dense array of doubles, without clear clusters."""
    p = np.random.default_rng(2).dirichlet(np.full(6, 0.3), 2500)
    q = np.maximum(p, 1e-6)
    q /= q.sum(axis=1, keepdims=True)
    divergence = np.array([(rel_entr(row, q) + rel_entr(q, row)).sum(axis=1) for row in q])
    blocked = predictive_similarity(p, tau)
    dense = np.exp(-tau / 2 * divergence)
    error = np.abs(blocked.over_items() - dense).max()
    order = np.argsort(blocked.representative)
    whole = replace(blocked, affinity=dense[np.ix_(order, order)])
    one, other = (partition(s, (2, 12), np.random.default_rng(0), n_null=0) for s in (blocked, whole))
    moved = (one.silhouettes - other.silhouettes).abs().max()
    rand = adjusted_rand_score(one.labels, other.labels)
    print(
        f"τ = {tau}: affinity within {error:.1e}, eigenvalues within "
        f"{np.abs(one.eigenvalues - other.eigenvalues).max():.1e}, silhouettes within {moved:.1e}, "
        f"k = {one.k} and {other.k}, adjusted Rand index {rand:.4f}"
    )
    assert error <= 1e-6
    assert np.abs(one.eigenvalues - other.eigenvalues).max() <= 1e-4
    assert one.k == other.k
    assert rand >= 0.98
