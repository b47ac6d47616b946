"""Which items decide between two models, and how few hold their order up?"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, pick
from benchtrust.irt.ability import ability
from benchtrust.irt.curves import information, probability
from benchtrust.irt.matrix import checked
from benchtrust.irt.pool import item_parameters

_TIE = 1e-9


@dataclass(frozen=True)
class Deciding:
    """Two models on the items that both answered.

    Attributes
    ----------
    items : a row per item on which they differ, what helps the first most above: a, b; favours, the model
        that is right; theta, what the item adds to θ̂ of the first minus θ̂ of the second, and score, the same
        of the mean score; each sums to the whole difference. order_without and score_order_without: who is
        ahead by θ̂ and by score if the item is left out, or ``""`` for a tie.
    first, second : the models.
    theta_difference, score_difference : θ̂ and mean score of the first minus those of the second.
    n_common : calibrated items that both answered.
    n_to_turn : fewest items that, left out, end or turn the lead by θ̂; 0 if there is none.
    n_to_turn_score : the same of the lead by score.
    n_not_common : calibrated items that one of the two, or neither, answered.
    """

    items: pd.DataFrame
    first: Hashable
    second: Hashable
    theta_difference: float
    score_difference: float
    n_common: int
    n_to_turn: int
    n_to_turn_score: int
    n_not_common: int


def deciding_items(matrix: pd.DataFrame, items: pd.DataFrame, first: Hashable, second: Hashable) -> Deciding:
    """Share the difference of two models out among the items.

    The MAP ability solves Σ a_j (x_j − P_j(θ̂)) = θ̂. The equations of the two, one minus the other, give

        Σ_j a_j (x_1j − x_2j) = D (θ̂_1 − θ̂_2),   D = 1 + Σ_j a_j (P_j(θ̂_1) − P_j(θ̂_2)) / (θ̂_1 − θ̂_2),

    so that an item adds a_j (x_1j − x_2j) / D, and all of them add up to the difference exactly. (Where θ̂ is
    equal, D = 1 + information there.) Without an item the sign of the rest of the sum is who is ahead.

    Parameters
    ----------
    matrix : answers, respondents × items, 1 right, 0 wrong, NaN = not asked.
    items : parameters a and b; other items of the matrix play no part.
    first, second : labels of two respondents.

    Raises
    ------
    SchemaError : as `checked` and `item_parameters`; twice the same model; no item that both answered.
    UnknownNameError : no such respondent.
    """
    table, parameters = checked(matrix), item_parameters(items, matrix)
    first, second = (_label(name, table.index) for name in (first, second))
    if first == second:
        raise SchemaError(f"{first!r} is compared with itself: name two models.")
    answers = table.loc[[first, second], parameters.index].dropna(axis=1)
    if answers.empty:
        raise SchemaError(f"{first!r} and {second!r} share no calibrated item.")
    parameters = parameters.loc[answers.columns]
    theta = ability(answers, parameters)["theta"]
    sign = (answers.loc[first] - answers.loc[second]).rename("sign")
    added = parameters["a"] * sign
    per_theta, per_score = added / _slope(theta, parameters), sign / len(sign)
    shown = sign != 0
    frame = parameters.assign(
        favours=np.where(sign > 0, first, second),
        theta=per_theta,
        score=per_score,
        order_without=_ahead(added.sum() - added, first, second),
        score_order_without=_ahead(sign.sum() - sign, first, second),
    )[shown]
    return Deciding(
        items=frame.sort_values("theta", ascending=False, kind="stable"),
        first=first,
        second=second,
        theta_difference=float(theta[first] - theta[second]),
        score_difference=float(sign.mean()),
        n_common=len(sign),
        n_to_turn=_n_to_turn(added.to_numpy()),
        n_to_turn_score=_n_to_turn(sign.to_numpy()),
        n_not_common=len(items) - len(sign),
    )


def _label(name: Hashable, labels: pd.Index) -> Hashable:
    return name if name in labels else pick(str(name), map(str, labels), "respondent")


def _slope(theta: pd.Series, parameters: pd.DataFrame) -> float:
    """D: how much weighted score a logit of ability costs between the two."""
    a, b = parameters["a"].to_numpy(), parameters["b"].to_numpy()
    one, two = theta
    if abs(one - two) < _TIE:
        return float(1 + information(one, a, b).sum())
    return float(1 + (a * (probability(one, a, b) - probability(two, a, b))).sum() / (one - two))


def _ahead(lead: pd.Series, first: Hashable, second: Hashable) -> np.ndarray:
    return np.select([lead > _TIE, lead < -_TIE], [first, second], default="")


def _n_to_turn(added: np.ndarray) -> int:
    """Fewest terms without which a sum has no longer its sign: the largest ones of that sign."""
    total = added.sum()
    if abs(total) < _TIE:
        return 0
    left = abs(total) - np.cumsum(np.sort(added * np.sign(total))[::-1])
    return int(np.argmax(left < _TIE)) + 1
