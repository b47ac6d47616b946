"""Do abilities tell respondents apart? Pairs against standard errors, halves of the items against halves."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from benchtrust.errors import SchemaError
from benchtrust.irt.calibration import Calibration, calibrate
from benchtrust.irt.matrix import checked, generator, shown
from benchtrust.irt.ranks import LEAST, spearman


def ability_pairs(abilities: pd.DataFrame) -> pd.DataFrame:
    """Compare the abilities of each pair of respondents with their standard errors.

    Parameters
    ----------
    abilities : frame of `ability` by ``map`` or ``eap``: theta and se of each respondent.

    Returns
    -------
    A row a pair, in the order of the respondents: respondent_a, respondent_b; gap, θ of the first minus θ of
    the second; se, its standard error; p, twice the posterior probability of the opposite order, at most 1.
    Items count as known, so p is too small where few respondents have calibrated them.

    Raises
    ------
    SchemaError : fewer than 2 respondents, or an ability that is not finite.
    """
    values = abilities[["theta", "se"]]
    if len(values) < 2 or not np.isfinite(values.to_numpy()).all():
        raise SchemaError(
            f"{len(values)} respondents: pairs need 2 or more, each with a finite θ and its se."
        )
    first, second = np.triu_indices(len(values), 1)
    theta, se = values.to_numpy().T
    gap, error = theta[first] - theta[second], np.hypot(se[first], se[second])
    names = {"respondent_a": values.index[first], "respondent_b": values.index[second]}
    return pd.DataFrame({**names, "gap": gap, "se": error, "p": 2 * norm.sf(np.abs(gap) / error)})


def half_agreement(
    matrix: pd.DataFrame,
    rng: np.random.Generator,
    n_draws: int = 200,
    among: Sequence[Hashable] | None = None,
    calibrate: Callable[[pd.DataFrame], Calibration] = calibrate,
) -> pd.DataFrame:
    """Correlate, by rank, what two random halves of the items say of the same respondents.

    Each half is calibrated by itself, on all respondents, so that nothing but the respondents is common.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked.
    rng : source of the halves.
    n_draws : number of draws.
    among : respondents to correlate; all if None.
    calibrate : calibration of a half; give one with other priors to see what these do.

    Returns
    -------
    A row a draw, Spearman correlations that are NaN where one side is constant: theta, of θ with θ; score, of
    mean scores with mean scores; theta_with_score, of θ on the first half with the score on the second.

    Raises
    ------
    SchemaError : as `calibrate`; no draw or rng, fewer than 3 respondents in `among`, or one that the matrix
        lacks.
    """
    generator(rng)
    table = checked(matrix)
    chosen = pd.Index(table.index if among is None else among)
    if absent := [name for name in chosen if name not in table.index]:
        raise SchemaError(f"Not in the matrix: {shown(absent)}.")
    if len(chosen) < LEAST or n_draws < 1:
        raise SchemaError(f"{len(chosen)} respondents, {n_draws} draws: give {LEAST} and 1, or more.")
    rows = []
    for _ in range(n_draws):
        order = rng.permutation(table.shape[1])
        halves = [table.iloc[:, np.sort(own)] for own in np.array_split(order, 2)]
        theta = [calibrate(half).abilities.loc[chosen, "theta"] for half in halves]
        score = [half.mean(axis=1)[chosen] for half in halves]
        pairs = {"theta": theta, "score": score, "theta_with_score": (theta[0], score[1])}
        rows.append({name: spearman(*pair) for name, pair in pairs.items()})
    return pd.DataFrame(rows)
