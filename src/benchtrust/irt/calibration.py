"""Calibration of a 2PL: discrimination and difficulty of items, abilities of respondents."""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchtrust.errors import FewRespondentsWarning, NotConvergedWarning, SchemaError
from benchtrust.irt import estimation
from benchtrust.irt.ability import ability
from benchtrust.irt.estimation import FLAT, Answers, Priors
from benchtrust.irt.matrix import checked, shown, warn_unnamed
from benchtrust.irt.standard_errors import standard_errors

DEFAULT_PRIORS = Priors()
FEW = 100
"""Respondents under which a calibration warns."""


@dataclass(frozen=True)
class Calibration:
    """A calibrated 2PL.

    Attributes
    ----------
    items : a row per calibrated item, in the order of the matrix: a (> 0), b, their standard errors se_a and
        se_b, n_answers, and pass_rate, the share of right ones.
    abilities : frame of `ability` by ``map``, a row per respondent of the matrix: theta, se, n_answers, note.
        The se takes items as known, and so the origin, which N respondents fix to about 1/√N only.
    log_likelihood : marginal log-likelihood of the answers, without the priors.
    set_aside : items left out, as item and reason: no or one answer, or all answers alike.
    n_without_answers : respondents without an answer to a calibrated item; they count in nothing.
    converged : whether no log a and no d moves by more than the tolerance, on nodes that are dense enough.
    n_iterations : steps taken.
    n_nodes : nodes of ability at the end.
    priors : priors of the items; None for maximum likelihood.
    tolerance : largest step of log a or d that counts as none.
    """

    items: pd.DataFrame
    abilities: pd.DataFrame
    log_likelihood: float
    set_aside: pd.DataFrame
    n_without_answers: int
    converged: bool
    n_iterations: int
    n_nodes: int
    priors: Priors | None
    tolerance: float


def calibrate(
    matrix: pd.DataFrame,
    priors: Priors | None = DEFAULT_PRIORS,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
) -> Calibration:
    """Estimate a 2PL, P(x = 1) = σ(a(θ − b)) with θ ~ N(0, 1), by marginal maximum a posteriori.

    The mode is that of log a and d = −ab. Items to which all answers are alike, or with fewer than two, are
    set aside first: likelihood alone puts them at ±∞. No random numbers: equal input gives equal output.

    Parameters
    ----------
    matrix : respondents × items; 1 right, 0 wrong, NaN not asked, which says nothing about ability.
    priors : of the items; None is maximum likelihood, which wants hundreds of respondents.
    tolerance : largest step of log a or d that counts as none.
    max_iterations : steps after which to give up.

    Raises
    ------
    SchemaError : as `matrix.checked`; fewer than 3 respondents with answers, or fewer than 2 usable items;
        priors of another type.

    Warns
    -----
    UnnamedAxesWarning : the name of no axis says what it holds, so that a swap would go unseen.
    FewRespondentsWarning : fewer than 100 respondents.
    NotConvergedWarning : the steps did not become small; the result says so too.

    Source: Bock & Aitkin (1981); Mislevy (1986); standard errors by Louis (1982), see `standard_errors`.
    """
    if not (priors is None or isinstance(priors, Priors)):
        raise SchemaError(f"priors = {priors!r}: give Priors(...), or None for maximum likelihood.")
    table = checked(matrix)
    warn_unnamed(matrix)
    reasons = _degenerate(table)
    usable, set_aside = table.loc[:, reasons == ""], reasons[reasons != ""]
    values = usable.to_numpy()
    with_answers = ~np.isnan(values).all(axis=1)
    answering = with_answers if usable.shape[1] else table.notna().any(axis=1)
    _check_size(usable, set_aside, int(answering.sum()))
    answers = Answers.of(values[with_answers])
    found = estimation.fit(answers, priors or FLAT, tolerance, max_iterations)
    if not found.converged:
        _warn_not_converged(found.n_iterations, priors)
    items = _items(usable.columns, answers, found, priors or FLAT)
    return Calibration(
        items=items,
        abilities=ability(usable, items, "map"),
        log_likelihood=found.posterior.log_likelihood,
        set_aside=pd.DataFrame({"item": set_aside.index, "reason": set_aside.to_numpy()}),
        n_without_answers=int((~with_answers).sum()),
        converged=found.converged,
        n_iterations=found.n_iterations,
        n_nodes=len(found.posterior.nodes),
        priors=priors,
        tolerance=tolerance,
    )


def calibrate_quietly(matrix: pd.DataFrame, priors: Priors | None, **options: float) -> Calibration:
    """`calibrate` without the warning of few respondents, for refits of what has been warned of before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRespondentsWarning)
        return calibrate(matrix, priors, **options)


def _degenerate(table: pd.DataFrame) -> pd.Series:
    """Why an item cannot be calibrated, or ``""`` if it can."""
    values = table.to_numpy()
    n_answers, n_right = (~np.isnan(values)).sum(axis=0), np.nansum(values, axis=0)
    reasons = np.select(
        [n_answers == 0, n_answers == 1, n_right == n_answers, n_right == 0],
        ["no answers", "only one answer", "every answer is right", "every answer is wrong"],
        default="",
    )
    return pd.Series(reasons, index=table.columns)


def _check_size(usable: pd.DataFrame, set_aside: pd.Series, n_respondents: int) -> None:
    if n_respondents < 3:
        raise SchemaError(f"Respondents with answers: {n_respondents}. A calibration needs 3 at the least.")
    if usable.shape[1] < 2:
        reasons = f" ({shown(set_aside.index)}: {'; '.join(set_aside.unique())})" if len(set_aside) else ""
        raise SchemaError(
            f"Items to calibrate: {usable.shape[1]}, set aside: {len(set_aside)}{reasons}. A calibration "
            "needs 2 that some pass and some fail."
        )
    if n_respondents < FEW:
        warnings.warn(
            f"{n_respondents} respondents on {usable.shape[1]} items, fewer than {FEW}: item parameters lean "
            "on the priors and their standard errors are wide. Abilities still order respondents much as "
            "scores do; take a and b as rough, and check what they lead to on respondents held out.",
            FewRespondentsWarning,
            stacklevel=3,
        )


def _warn_not_converged(n_iterations: int, priors: Priors | None) -> None:
    advice = "raise max_iterations" if priors else "give priors, or raise max_iterations"
    warnings.warn(
        f"Not converged after {n_iterations} iterations: {advice}. Without priors an item that parts "
        "respondents perfectly, or not at all, has no finite estimate.",
        NotConvergedWarning,
        stacklevel=3,
    )


def _items(labels: pd.Index, answers: Answers, found: estimation.Fit, priors: Priors) -> pd.DataFrame:
    a = np.exp(found.items[0])
    se_a, se_b = standard_errors(answers, found, priors)
    columns = {
        "a": a,
        "b": -found.items[1] / a,
        "se_a": se_a,
        "se_b": se_b,
        "n_answers": answers.n_asked.astype(int),
        "pass_rate": answers.n_right / answers.n_asked,
    }
    return pd.DataFrame(columns, index=labels)
