"""What is proved of the flip rate, counted out on given scores (arXiv 2605.25492, Proposition 1)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from benchtrust.stability.flips import TIE, flip_rates, reversal, score_table


def proposition_checks(
    envelopes: Sequence[Sequence[pd.DataFrame]], rng: np.random.Generator, tie: float = TIE
) -> pd.DataFrame:
    """Count cases and counterexamples of Proposition 1 and its corollaries.

    Parameters
    ----------
    envelopes : for each benchmark its tables of scores (configurations × models), from the smallest to
        the largest envelope, each contained in the next.
    rng : source of the rescalings.

    Returns
    -------
    One row a statement: `cases` looked at, `violations` among them (0 where the statement is a theorem), and
    `examples`, where the statement says that something can happen.
    """
    found = [
        record for tables in envelopes for record in (*_within(tables, rng, tie), *_between(tables, tie))
    ]
    table = pd.DataFrame(found, columns=["statement", "violations", "examples"])
    counts = table.groupby("statement", sort=False).agg(
        cases=("violations", "size"), violations=("violations", "sum"), examples=("examples", "sum")
    )
    return counts.reset_index()


def _within(
    tables: Sequence[pd.DataFrame], rng: np.random.Generator, tie: float
) -> Iterator[tuple[str, bool, bool]]:
    """Statements about one envelope."""
    for scores in map(score_table, tables):
        rescaled = flip_rates(_rescaled(scores, rng, tie), 0.0)
        for row, other in zip(flip_rates(scores, tie).itertuples(), rescaled.itertuples(), strict=True):
            turned = reversal(scores, row.model_a, row.model_b, tie) is not None
            yield "one-line test", (row.rho > 0) != turned, turned
            yield "range", not 0 <= row.rho <= 0.5, False
            yield "multiples", abs(row.rho * row.n - round(row.rho * row.n)) > 1e-9, False
            yield "rescaling", row.rho != other.rho, False
            yield "zero without an order", False, row.rho == 0 and row.n_tie > 0


def _between(tables: Sequence[pd.DataFrame], tie: float) -> Iterator[tuple[str, bool, bool]]:
    """Statements about an envelope and a larger one."""
    for small, large in pairwise(flip_rates(table, tie) for table in tables):
        for less, more in zip(small["rho"], large["rho"], strict=True):
            yield "larger envelope keeps reversals", less > 0 and more == 0, False
            yield "larger envelope may lower the rate", False, more < less


def _rescaled(scores: pd.DataFrame, rng: np.random.Generator, tie: float) -> pd.DataFrame:
    """Each configuration's scores through a strictly increasing map of its own; ties stay."""
    ranks = scores.apply(lambda row: (row.sort_values().diff() > tie).cumsum().reindex(row.index), axis=1)
    heights = np.cumsum(rng.exponential(size=(len(scores), scores.shape[1])), axis=1)
    picked = np.take_along_axis(heights, ranks.fillna(0).to_numpy(int), axis=1)
    return pd.DataFrame(picked, scores.index, scores.columns).where(scores.notna())
