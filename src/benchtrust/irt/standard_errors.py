"""Standard errors of items from the observed information of the marginal likelihood (Louis).

The information of all items together is what complete data would hold, minus what is lost because abilities
are not observed: the posterior covariance of each respondent's score. The first is a 2 × 2 block an item; the
second ties all items together. It is summed over polynomials in ability that are orthonormal under the
respondent's posterior; few are needed, since a score is smooth over the width of a posterior.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from benchtrust.irt.estimation import Answers, Fit, Posterior, Priors

_DEGREES = 40
_NEGLIGIBLE = 1e-4


def standard_errors(answers: Answers, fit: Fit, priors: Priors) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of a and b, by the delta method from those of log a and d.

    The priors count in the information, as in a posterior. All items and the scale of ability are taken as
    estimated together.

    Returns
    -------
    Two (J,) arrays; NaN throughout where the information is not positive definite, so that the answers do not
    identify the items.

    Source: Louis, JRSS B 44 (1982) 226–233.
    """
    try:
        ll, ld, dd = _covariance(answers, fit, priors)
    except np.linalg.LinAlgError:
        ll = ld = dd = np.full(len(fit.items[0]), np.nan)
    a = np.exp(fit.items[0])
    b = -fit.items[1] / a
    return a * np.sqrt(ll), np.sqrt(b**2 * ll + 2 * b * ld / a + dd / a**2)


def _covariance(answers: Answers, fit: Fit, priors: Priors) -> np.ndarray:
    """(3, J) variance of log a, covariance, variance of d of each item.

    With R'R the inverse of complete-data information and losses U'U in its units, all covariances are
    R' (I − U'U)⁻¹ R: inverted over the 2J parameters where U has more rows, at least two a respondent, else
    over its rows, by (I − U'U)⁻¹ = I + U'(I − UU')⁻¹U.
    """
    roots = _roots(_complete(answers, fit, priors))
    n_items = roots.shape[1]
    losses = _losses(answers, fit, priors, roots)
    if n_items <= len(answers.right):
        root = cholesky(np.eye(2 * n_items) - sum(own.T @ own for own in losses), lower=True)
        spread, own = solve_triangular(root, np.eye(2 * n_items), lower=True), 0.0
    else:
        rows = np.concatenate(list(losses))
        root = cholesky(np.eye(len(rows)) - rows @ rows.T, lower=True)
        spread, own = solve_triangular(root, rows, lower=True, overwrite_b=True), 1.0
    on_l, on_d = spread[:, :n_items], spread[:, n_items:]
    uu, uv, vv = (np.einsum("rj,rj->j", x, y) for x, y in ((on_l, on_l), (on_l, on_d), (on_d, on_d)))
    return _transformed(roots, uu + own, uv, vv + own)


def _complete(answers: Answers, fit: Fit, priors: Priors) -> np.ndarray:
    """(3, J) expected information of complete data: log a, log a with d, d; priors included."""
    found = fit.posterior
    a = np.exp(fit.items[0])
    expected = answers.pooled(found.weights) * found.chances
    slope = a * (found.mean @ answers.right - expected @ found.nodes)
    expected *= 1 - found.chances
    ll = a**2 * (expected @ found.nodes**2) - slope + priors.precision[0]
    return np.array([ll, a * (expected @ found.nodes), expected.sum(axis=1) + priors.precision[1]])


def _roots(information: np.ndarray) -> np.ndarray:
    """(3, J) entries r, s, t of the inverses R = [[r, 0], [s, t]] of the Cholesky factors."""
    ll, ld, dd = information
    rest = dd - ld**2 / ll
    if not (ll > 0).all() or not (rest > 0).all():
        raise np.linalg.LinAlgError("information is not positive definite")
    return np.array([1 / np.sqrt(ll), -ld / (ll * np.sqrt(rest)), 1 / np.sqrt(rest)])


def _transformed(roots: np.ndarray, uu: np.ndarray, uv: np.ndarray, vv: np.ndarray) -> np.ndarray:
    """R' C R of symmetric C = [[uu, uv], [uv, vv]]."""
    r, s, t = roots
    return np.array([r**2 * uu + 2 * r * s * uv + s**2 * vv, t * (r * uv + s * vv), t**2 * vv])


def _losses(answers: Answers, fit: Fit, priors: Priors, roots: np.ndarray) -> Iterator[np.ndarray]:
    """Rows over the 2J parameters, in units of complete data: what the priors leave open of the items' means,
    then by respondent the coefficients of the scores on polynomials of rising degree.
    """
    found, (r, s, t) = fit.posterior, roots
    a = np.exp(fit.items[0])
    shared = np.sqrt(priors.precision * priors.trust(len(a)) / len(a))
    yield np.array([np.concatenate([r, s]) * shared[0], np.concatenate([0 * r, t]) * shared[1]])
    for degree, weights in enumerate(_polynomials(found), start=1):
        on_l = answers.right * (weights @ found.nodes)[:, None] - (weights * found.nodes) @ found.chances.T
        on_l *= a
        on_d = -weights @ found.chances.T
        if answers.asked is not None:
            on_l *= answers.asked
            on_d *= answers.asked
        losses = np.concatenate([r * on_l, s * on_l + t * on_d], axis=1)
        yield losses
        if degree > 1 and np.einsum("nj,nj->j", losses, losses).max() < _NEGLIGIBLE:
            break


def _polynomials(found: Posterior) -> Iterator[np.ndarray]:
    """(N, Q) weights times a polynomial of degree 1, 2, …, orthonormal under the weights of each row."""
    before, own = np.zeros_like(found.weights), np.ones_like(found.weights)
    for _ in range(_DEGREES):
        following = found.nodes * own
        following -= _mean(following * own, found) * own
        following -= _mean(following * before, found) * before
        following /= np.sqrt(_mean(following**2, found))
        before, own = own, following
        yield found.weights * own


def _mean(values: np.ndarray, found: Posterior) -> np.ndarray:
    return (found.weights * values).sum(axis=1, keepdims=True)
