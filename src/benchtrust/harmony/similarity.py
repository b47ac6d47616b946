"""How alike a model treats two items: the divergence of its predictive distributions (arXiv 2509.25671)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from benchtrust.errors import SchemaError

FLOOR = 1e-6
"""Smallest probability that an outcome has before the logarithm; a side table's last token has about it."""

TOLERANCE = 1e-4
"""How far the probabilities of an item may be from a sum of one; the side table of answers has the same."""

_BLOCK = 1024
"""Items on a side of the blocks in which divergences are computed."""


@dataclass(frozen=True)
class Support:
    """Predictive distributions of n items over K outcomes that mean the same for all items.

    Attributes
    ----------
    probabilities : (n, K) rows that sum to one; sparse where most outcomes are not listed.
    items : (n,) names of the items.
    name : what the outcomes are.
    rest : (n,) probability of outcomes that are not listed one by one; it stands in the last column.
    unlisted : (n,) the largest probability that such an outcome can have.
    """

    probabilities: np.ndarray | sparse.csr_array
    items: pd.Index
    name: str
    rest: np.ndarray
    unlisted: np.ndarray


@dataclass(frozen=True)
class Similarity:
    """Similarities of n items, of which m are distinct.

    Attributes
    ----------
    affinity : (m, m) similarities in [0, 1], symmetric, ones on the diagonal.
    weights : (m,) how many items each distinct one stands for; they sum to n.
    representative : (n,) position of each item among the distinct ones.
    items : (n,) names of the items.
    support : over which outcomes the items were compared.
    tau, floor : as in `predictive_similarity`; NaN if the affinity was given.
    """

    affinity: np.ndarray
    weights: np.ndarray
    representative: np.ndarray
    items: pd.Index
    support: str
    tau: float
    floor: float

    def over_items(self) -> np.ndarray:
        """(n, n) affinity of all items, copies included."""
        return self.affinity[np.ix_(self.representative, self.representative)]


@dataclass(frozen=True)
class Truncation:
    """What a side table of the most probable tokens leaves open.

    Attributes
    ----------
    rest_mean, rest_max : mean and largest mass of tokens that are not listed; half the L1 distance of a
        stored distribution from the true one is at most this.
    unlisted_max : largest probability that a single one of them can have.
    affinity_mean, affinity_max : mean over pairs of items, and largest, of the change of the affinity when
        each token that an item does not list is as probable as it can be instead of at the floor.
    """

    rest_mean: float
    rest_max: float
    unlisted_max: float
    affinity_mean: float
    affinity_max: float


def sorted_profile(probabilities: pd.DataFrame | np.ndarray) -> Support:
    """Compare items by how the model spreads over their options, whichever option is which.

    Options of different items have nothing in common but their ranks. Items with fewer options get outcomes
    of probability zero, which `predictive_similarity` lifts to its floor.

    Parameters
    ----------
    probabilities : frame of `responses.option_probabilities` of one model and benchmark, whose cells and
        samples are averaged option by option first; or (n, K) rows that sum to one.

    Raises
    ------
    SchemaError : several models or benchmarks, an item whose cells differ in their number of options, or as
        `predictive_similarity`.

    Source: the book, "Similarity and partition"; p̄ of arXiv 2509.25671 is over a support it does not name.
    """
    if isinstance(probabilities, pd.DataFrame) and "option" in probabilities:
        probabilities = _mean_options(probabilities)
    values, items = _dense(probabilities)
    return _complete(-np.sort(-values, axis=1), items, "sorted option profile")


def letters(probabilities: pd.DataFrame | np.ndarray) -> Support:
    """Compare items by the letters of their options: a negative control.

    Where the order of the options is shuffled a letter means nothing across items, so clusters of "chosen
    letter" are what to expect. `responses.option_probabilities(letters=True)` counts an item's options in its
    own order: lay them out in the order shown first.

    Parameters
    ----------
    probabilities : (n, K) items × letters, rows that sum to one.

    Raises
    ------
    SchemaError : as `predictive_similarity`.
    """
    return _complete(*_dense(probabilities), "letters")


def vocabulary(table: pd.DataFrame) -> Support:
    """Compare items by the tokens the model would answer with.

    The outcomes are all tokens that some item lists, and "rest" for all others. A token that one item lists
    and another does not has the floor there: `truncation` says how much that may matter.

    Parameters
    ----------
    table : rows of `distributions.read` of one cell.

    Raises
    ------
    SchemaError : rows of several cells, or an item twice.

    Source: the book, "Similarity and partition".
    """
    if table["cell_id"].nunique() != 1 or table["item_id"].duplicated().any():
        n = table["cell_id"].nunique()
        raise SchemaError(f"Answer distributions of {n} cells, or an item twice: select one model and cell.")
    tokens, place = np.unique(np.concatenate([*table["token_ids"]]), return_inverse=True)
    lengths, rest = table["token_ids"].map(len).to_numpy(), table["rest"].to_numpy(dtype="float64")
    rows, n = np.repeat(np.arange(len(table)), lengths), len(table)
    listed = np.concatenate([*table["probabilities"]]).astype("float64")
    values = np.concatenate([listed, rest])
    at = (np.concatenate([rows, np.arange(n)]), np.concatenate([place, np.full(n, len(tokens))]))
    least = np.array([float(p[-1]) for p in table["probabilities"]])
    return Support(
        probabilities=sparse.csr_array((values, at), shape=(n, len(tokens) + 1)),
        items=pd.Index(table["item_id"]),
        name=f"vocabulary: {len(tokens)} listed tokens and the rest",
        rest=rest,
        unlisted=np.minimum(least, rest),
    )


def predictive_similarity(
    probabilities: Support | pd.DataFrame | np.ndarray,
    tau: float,
    floor: float = FLOOR,
    dtype: type = np.float32,
) -> Similarity:
    """Similarity S = exp(-(τ/2) [KL(p‖q) + KL(q‖p)]) of each pair of distinct items.

    Probabilities below the floor are lifted to it and each row is made to sum to one again, so that the
    divergence is finite. Items with equal rows are one distinct item that carries their number as weight. The
    distinct items are sorted by their rows, so the order of the items changes nothing.

    Parameters
    ----------
    probabilities : `Support`, or n items × K outcomes that mean the same for all items.
    tau : sharpness, > 0: items a divergence of 2 log 2 / τ apart have similarity ½.
    floor : in (0, 1/K); it limits the divergence of two items to about 2 log(1 / floor).
    dtype : of the affinity; single precision halves the memory and moves a similarity by under 1e-7.

    Raises
    ------
    SchemaError : rows that do not sum to one (within 1e-4), negative or missing probabilities, fewer than two
        items or outcomes, tau or floor outside its range.

    Source: arXiv 2509.25671, predictive similarity; the floor, τ and support are not published there.
    """
    support = _support(probabilities)
    if not 0 < tau < np.inf:
        raise SchemaError(f"tau = {tau}: give a positive number.")
    first, representative, weights = _distinct(support.probabilities)
    factors = _factors(support.probabilities[first], floor)
    affinity = _square(factors, lambda divergence: np.exp(-tau / 2 * divergence), 1.0, dtype)
    return Similarity(affinity, weights, representative, support.items, support.name, tau, floor)


def divergences(probabilities: Support | pd.DataFrame | np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Symmetrised divergence KL(p‖q) + KL(q‖p) of each pair of items, in nats.

    Parameters
    ----------
    probabilities, floor : as in `predictive_similarity`; copies are not collapsed.

    Returns
    -------
    (n, n), symmetric, at least 0 and exactly 0 on the diagonal.

    Raises
    ------
    SchemaError : as `predictive_similarity`.

    Source: Jeffreys' divergence; arXiv 2509.25671, predictive similarity.
    """
    values = _support(probabilities).probabilities
    return _square(_factors(values, floor), lambda divergence: divergence, 0.0, np.float64)


def truncation(support: Support, tau: float, floor: float = FLOOR) -> Truncation:
    """Say how much the tokens that a side table does not list may move the affinity.

    Parameters
    ----------
    support : of `vocabulary`.
    tau, floor : as in `predictive_similarity`.

    Raises
    ------
    SchemaError : as `predictive_similarity`.

    Source: the book, "Similarity and partition".
    """
    at_floor, at_most = (
        np.exp(-tau / 2 * _square(_factors(support.probabilities, floor, logs), np.asarray, 0.0, np.float64))
        for logs in (floor, np.maximum(floor, support.unlisted))
    )
    moved = np.abs(at_most - at_floor)[np.triu_indices(len(at_floor), 1)]
    return Truncation(
        rest_mean=float(support.rest.mean()),
        rest_max=float(support.rest.max()),
        unlisted_max=float(support.unlisted.max()),
        affinity_mean=float(moved.mean()),
        affinity_max=float(moved.max()),
    )


def given_similarity(
    affinity: np.ndarray, support: str, items: Sequence | pd.Index | None = None
) -> Similarity:
    """Take similarities from elsewhere, such as those of sentence embeddings.

    Parameters
    ----------
    affinity : (n, n) in [0, 1], symmetric, ones on the diagonal; negative cosines are the caller's to cut.
    support : what was compared.
    items : (n,) names.

    Raises
    ------
    SchemaError : another shape or range, missing values, an asymmetric matrix.
    """
    affinity = np.asarray(affinity)
    n = len(affinity)
    if affinity.ndim != 2 or affinity.shape != (n, n) or n < 2:
        raise SchemaError(f"An affinity of shape {affinity.shape}: give items × items, at least two.")
    if not (affinity.min() >= 0 and affinity.max() <= 1 + TOLERANCE):
        raise SchemaError("An affinity has values outside 0..1, or missing ones: cut or scale them first.")
    if not (np.allclose(affinity, affinity.T) and np.allclose(np.diag(affinity), 1)):
        raise SchemaError("An affinity must be symmetric, with ones on the diagonal.")
    affinity = np.minimum((affinity + affinity.T) / 2, 1)
    np.fill_diagonal(affinity, 1)
    names = pd.RangeIndex(n) if items is None else pd.Index(items)
    return Similarity(affinity, np.ones(n), np.arange(n), names, support, np.nan, np.nan)


def pooled_similarity(similarities: Sequence[Similarity]) -> Similarity:
    """Similarity of the items in several models at once: the geometric mean, so that divergences average.

    It needs no outcomes that the models share, as an average of distributions would.

    Parameters
    ----------
    similarities : of the same items in the same order.

    Raises
    ------
    SchemaError : none given, or different items.
    """
    if not similarities or any(not s.items.equals(similarities[0].items) for s in similarities):
        raise SchemaError("Similarities to pool must be at least one, all of the same items in one order.")
    tiny = np.finfo(np.float32).tiny
    total = sum(
        np.log(np.maximum(s.affinity, tiny))[np.ix_(s.representative, s.representative)] for s in similarities
    )
    pooled = np.exp(total / len(similarities))
    name = f"{similarities[0].support}, {len(similarities)} models"
    return given_similarity(pooled, name, similarities[0].items)


def _support(probabilities: Support | pd.DataFrame | np.ndarray) -> Support:
    if isinstance(probabilities, Support):
        _check(probabilities.probabilities)
        return probabilities
    return _complete(*_dense(probabilities), "outcomes as given")


def _complete(values: np.ndarray, items: pd.Index, name: str) -> Support:
    """A support all of whose outcomes are listed."""
    return Support(values, items, name, np.zeros(len(values)), np.zeros(len(values)))


def _dense(probabilities: pd.DataFrame | np.ndarray) -> tuple[np.ndarray, pd.Index]:
    """Checked rows as float64, and their names."""
    try:
        values = np.array(probabilities, dtype="float64")
    except (TypeError, ValueError) as error:
        raise SchemaError(f"Probabilities must be numbers ({error}): put item ids into the index.") from None
    _check(values)
    frame = isinstance(probabilities, pd.DataFrame)
    return values, probabilities.index if frame else pd.RangeIndex(len(values))


def _check(values: np.ndarray | sparse.csr_array) -> None:
    if values.ndim != 2 or min(values.shape) < 2:
        raise SchemaError(
            f"Probabilities of shape {values.shape}: give items × outcomes, two of each or more."
        )
    numbers = values.data if sparse.issparse(values) else values
    if not np.isfinite(numbers).all():
        raise SchemaError("Probabilities hold NaN or infinite values: leave those items out and count them.")
    if (numbers < 0).any():
        raise SchemaError(f"Probabilities hold {numbers.min():.3g}: they must not be negative (logits?).")
    sums = np.asarray(values.sum(axis=1))
    if (np.abs(sums - 1) > TOLERANCE).any():
        row = int(np.argmax(np.abs(sums - 1) > TOLERANCE))
        raise SchemaError(f"Row {row} of the probabilities sums to {sums[row]:.6g}, not to one.")


def _mean_options(frame: pd.DataFrame) -> pd.DataFrame:
    """Items × options from the tidy frame, averaged over cells and samples; absent options are 0."""
    for name in ("model", "benchmark"):
        if frame[name].nunique() != 1:
            raise SchemaError(f"Option probabilities of {frame[name].nunique()} {name}s: select one.")
    sizes = frame.groupby(["cell_id", "item_id", "sample"]).size().groupby("item_id").nunique()
    if (sizes > 1).any():
        raise SchemaError(f"Item {sizes.idxmax()!r} has other numbers of options in other cells.")
    return frame.groupby(["item_id", "option"])["probability"].mean().unstack("option", fill_value=0.0)


def _distinct(values: np.ndarray | sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First row of each distinct kind, the kind of each row, and how many rows it has; sorted by content."""
    if sparse.issparse(values):
        values.sum_duplicates()
        spans = [slice(*span) for span in zip(values.indptr, values.indptr[1:], strict=False)]
        keys = [values.indices[span].tobytes() + values.data[span].tobytes() for span in spans]
    else:
        keys = [row.tobytes() for row in values + 0.0]
    array = np.empty(len(keys), dtype=object)
    array[:] = keys
    _, first, kind, count = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
    return first, kind, count.astype("float64")


def _factors(
    values: np.ndarray | sparse.csr_array, floor: float, floor_of_logs: float | np.ndarray | None = None
) -> tuple[np.ndarray | sparse.csr_array, np.ndarray | sparse.csr_array]:
    """Rows l, r with KL(p‖q) + KL(q‖p) = (l_p·r_p + l_q·r_q) / 2 - l_p·r_q.

    With p = (x + f) / z, x what is above the floor f, and log p = y + log(f / z), the divergence needs x and
    y alone, which are zero wherever nothing is listed: l = (x/z, f/z, y, Σy), r = (y, Σy, x/z, f/z). The
    logarithms may have a floor of their own for each row.
    """
    n, outcomes = values.shape
    if not 0 < floor < 1 / outcomes:
        raise SchemaError(f"floor = {floor}: it must lie between 0 and 1/{outcomes}, the number of outcomes.")
    floor_of_logs = np.broadcast_to(floor if floor_of_logs is None else floor_of_logs, n)
    if sparse.issparse(values):
        above, logs, stack = values.copy(), values.copy(), sparse.hstack
        per_value = np.repeat(floor_of_logs, np.diff(values.indptr))
        above.data = np.maximum(values.data - floor, 0)
        logs.data = np.log(np.maximum(values.data / per_value, 1))
    else:
        stack = np.hstack
        above = np.maximum(values - floor, 0)
        logs = np.log(np.maximum(values / floor_of_logs[:, None], 1))
    z = np.asarray(above.sum(axis=1)) + floor * outcomes
    scaled = sparse.diags_array(1 / z) @ above
    share, total = (floor / z)[:, None], np.asarray(logs.sum(axis=1))[:, None]
    return stack([scaled, share, logs, total]), stack([logs, total, scaled, share])


def _square(factors: tuple, transform: Callable, diagonal: float, dtype: type) -> np.ndarray:
    """Transformed divergences of all pairs, computed in blocks of the upper triangle."""
    left, right = (sparse.csr_array(f) if sparse.issparse(f) else f for f in factors)
    own = np.asarray((left * right).sum(axis=1)) / 2
    found = np.empty((len(own), len(own)), dtype=dtype)
    edges = [slice(i, i + _BLOCK) for i in range(0, len(own), _BLOCK)]
    for i, rows in enumerate(edges):
        for columns in edges[i:]:
            cross = left[rows] @ right[columns].T
            cross = cross.toarray() if sparse.issparse(cross) else cross
            block = transform(np.maximum(own[rows, None] + own[None, columns] - cross, 0))
            found[columns, rows] = block.T
            found[rows, columns] = (block + block.T) / 2 if rows == columns else block
    np.fill_diagonal(found, diagonal)
    return found
