"""k-medoids by FasterPAM: the items that stand for all items, and how many each stands for."""

import numpy as np
from numba import njit

_GAIN = 1e-9
"""A swap must lower the sum of distances by more than this."""


def k_medoids(distance: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose k of n points as medoids, so that all points' distances to the nearest one sum to little.

    From medoids drawn at random, each point in turn replaces the medoid whose loss helps most, if any does,
    until none is left that helps: a local optimum. Points are assigned to the nearest medoid, the first one
    in a tie, a medoid to itself.

    Parameters
    ----------
    distance : (n, n) symmetric, zero on the diagonal.
    k : number of medoids, 1 to n.
    rng : source of the first medoids.

    Returns
    -------
    (k,) positions of the medoids, rising, and (k,) sizes of their clusters.

    Source: Schubert & Rousseeuw, Information Systems 101 (2021) 101804, algorithm 3.
    """
    first = rng.choice(len(distance), size=k, replace=False)
    if k == 1:
        medoids = np.array([distance.sum(axis=1, dtype="float64").argmin()])
    else:
        medoids = np.sort(_faster_pam(distance, first))
    label = distance[:, medoids].argmin(axis=1)
    label[medoids] = np.arange(k)
    return medoids, np.bincount(label, minlength=k)


@njit(cache=True)
def _faster_pam(distance, medoids):
    n = len(distance)
    slots, d = np.empty((n, 2), np.int64), np.empty((n, 2))
    for point in range(n):
        _assign(point, distance, medoids, slots, d)
    is_medoid = np.zeros(n, np.bool_)
    is_medoid[medoids] = True
    loss = _removal_loss(slots, d, len(medoids))
    candidate, idle = 0, 0
    while idle < n:
        if not is_medoid[candidate]:
            slot, change = _best_swap(distance[candidate], slots, d, loss)
            if change < -_GAIN:
                is_medoid[medoids[slot]], is_medoid[candidate] = False, True
                medoids[slot] = candidate
                for point in range(n):
                    _move(point, slot, distance, medoids, slots, d)
                loss = _removal_loss(slots, d, len(medoids))
                idle = 0
        candidate = (candidate + 1) % n
        idle += 1
    return medoids


@njit(cache=True)
def _assign(point, distance, medoids, slots, d):
    """Find the two nearest medoids of a point: their slots and distances."""
    d[point] = np.inf
    for slot in range(len(medoids)):
        _let_in(point, slot, distance[point, medoids[slot]], slots, d)


@njit(cache=True)
def _let_in(point, slot, new, slots, d):
    """Enter a medoid at distance `new` among the two nearest of a point, if it is one."""
    if new < d[point, 0]:
        slots[point, 1], d[point, 1] = slots[point, 0], d[point, 0]
        slots[point, 0], d[point, 0] = slot, new
    elif new < d[point, 1]:
        slots[point, 1], d[point, 1] = slot, new


@njit(cache=True)
def _move(point, slot, distance, medoids, slots, d):
    """Bring a point's two nearest medoids up to date after a swap in `slot`."""
    if slots[point, 0] == slot or slots[point, 1] == slot:
        _assign(point, distance, medoids, slots, d)
    else:
        _let_in(point, slot, distance[point, medoids[slot]], slots, d)


@njit(cache=True)
def _removal_loss(slots, d, k):
    """By how much the sum of distances grows when a medoid goes: each of its points moves to the second."""
    loss = np.zeros(k)
    for point in range(len(slots)):
        loss[slots[point, 0]] += d[point, 1] - d[point, 0]
    return loss


@njit(cache=True)
def _best_swap(to_candidate, slots, d, loss):
    """The slot that the candidate should take over, and what this adds to the sum of distances."""
    change, shared = loss.copy(), 0.0
    for point in range(len(slots)):
        new = to_candidate[point]
        if new < d[point, 0]:
            shared += new - d[point, 0]
            change[slots[point, 0]] += d[point, 0] - d[point, 1]
        elif new < d[point, 1]:
            change[slots[point, 0]] += new - d[point, 1]
    slot = change.argmin()
    return slot, change[slot] + shared
