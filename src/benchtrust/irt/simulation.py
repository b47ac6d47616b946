"""Made-up answers from a 2PL with known items and abilities."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.irt.curves import probability
from benchtrust.irt.matrix import generator, named, shown

if TYPE_CHECKING:
    from benchtrust.irt.calibration import Calibration


def simulate(
    theta: np.ndarray | pd.Series, items: pd.DataFrame, rng: np.random.Generator, missing: float = 0.0
) -> pd.DataFrame:
    """Draw independent answers with P(x = 1) = σ(a(θ − b)).

    Parameters
    ----------
    theta : (N,) abilities; the labels of a series are kept.
    items : (J,) frame indexed by item with a and b.
    rng : source of the draws; the answers drawn do not depend on `missing`.
    missing : chance in [0, 1) that an answer is then taken away, whatever it was.

    Returns
    -------
    respondents × items; 1 right, 0 wrong, NaN not asked. Axes are named ``respondent`` and ``item`` unless
    the labels bring names.

    Raises
    ------
    SchemaError : `missing` outside [0, 1); an ability that is not finite, or no rng.
    """
    if not 0 <= missing < 1:
        raise SchemaError(f"missing={missing}: give a share from 0 to below 1.")
    generator(rng)
    labelled = pd.Series(theta, dtype="float64")
    unknown = labelled.index[~np.isfinite(labelled)]
    if len(unknown):
        raise SchemaError(f"Abilities that are not finite: {shown(unknown)}. Leave these respondents out.")
    a, b = items["a"].to_numpy(), items["b"].to_numpy()
    chances = probability(labelled.to_numpy()[:, None], a, b)
    answers = (rng.random(chances.shape) < chances).astype("float64")
    if missing:
        answers[rng.random(chances.shape) < missing] = np.nan
    return named(pd.DataFrame(answers, index=labelled.index, columns=items.index))


def simulate_like(
    matrix: pd.DataFrame, calibration: "Calibration", n_draws: int, rng: np.random.Generator
) -> Iterator[pd.DataFrame]:
    """Draw answers to the calibrated items that these respondents could have given, missing where theirs are.

    An ability is drawn for each respondent from N(theta, se²), their posterior by MAP; N(0, 1) if they have
    no answers.

    Parameters
    ----------
    matrix : the answers that were calibrated on, respondents × items.
    calibration : of `matrix`.
    n_draws, rng : number and source of the draws.
    """
    abilities = calibration.abilities.loc[matrix.index].fillna({"theta": 0.0, "se": 1.0})
    asked = matrix[calibration.items.index].notna()
    for _ in range(n_draws):
        theta = rng.normal(abilities["theta"], abilities["se"])
        yield simulate(pd.Series(theta, matrix.index), calibration.items, rng).where(asked)
