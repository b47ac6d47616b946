"""Marginal estimation of the 2PL: the posterior of ability on nodes, steps of the items, their acceleration.

Items are held as log a and d = −ab, so that z = aθ + d. In this form the answers enter the likelihood through
the sums of x a and x d of a respondent, and the step of an item through its number of right answers and the
mean abilities of those who gave them. Matrix products over the nodes are needed for missing answers only.
"""

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy.special import logit

from benchtrust.errors import SchemaError
from benchtrust.irt.curves import information

N_NODES = 201
"""Smallest number of nodes."""

_REACH = 8.0
_SPREAD = 8.0
_MARGIN = 0.5
_STEP = 0.7
_GRIDS = 20
_WINDOW = 6
_RUN = 16
_HALVINGS = 12


@dataclass(frozen=True)
class Priors:
    """Normal priors of log a and of the intercept d = −ab, whose means are known up to an error of their own.

    Attributes
    ----------
    log_a_mean, log_a_sd : log a of an item lies about the mean of the test with this standard deviation.
    log_a_mean_sd : standard deviation of the mean of the test about `log_a_mean`; 0 fixes it there.
    d_mean, d_sd, d_mean_sd : the same of d.

    Raises
    ------
    SchemaError : a standard deviation that is not positive, or one of a mean that is negative or infinite.

    Ability has the prior N(0, 1), which is part of the model and fixes its scale. Means that are fixed too
    rival it where items are many and respondents few: easy items then move abilities up, and the scale obeys
    `log_a_mean` whatever the answers say. An uncertain mean pulls each item to the others as much, and the
    test as a whole hardly.
    """

    log_a_mean: float = 0.0
    log_a_sd: float = 0.5
    log_a_mean_sd: float = 1.0
    d_mean: float = 0.0
    d_sd: float = 2.0
    d_mean_sd: float = 4.0

    def __post_init__(self) -> None:
        spreads, means = (self.log_a_sd, self.d_sd), (self.log_a_mean_sd, self.d_mean_sd)
        if not all(sd > 0 for sd in spreads) or not all(0 <= sd < np.inf for sd in means):
            raise SchemaError(f"{self}: give positive standard deviations, and finite ones of the means.")

    @property
    def precision(self) -> np.ndarray:
        """(2,) inverse variances of log a and d about the mean of the test."""
        return np.array([self.log_a_sd, self.d_sd]) ** -2.0

    def trust(self, n_items: int) -> np.ndarray:
        """(2,) weight in [0, 1] of the items' own mean, against the mean given here."""
        shared = n_items * np.array([self.log_a_mean_sd, self.d_mean_sd]) ** 2
        return shared / (shared + np.array([self.log_a_sd, self.d_sd]) ** 2)

    def centre(self, items: np.ndarray) -> np.ndarray:
        """(2, 1) means to which (2, J) log a and d are pulled."""
        given = np.array([self.log_a_mean, self.d_mean])
        return (given + self.trust(items.shape[1]) * (items.mean(axis=1) - given))[:, None]

    def log_density(self, items: np.ndarray) -> float:
        """Of (2, J) log a and d, up to a constant."""
        given = np.array([[self.log_a_mean], [self.d_mean]])
        return float(-0.5 * self.precision @ ((items - given) * (items - self.centre(items))).sum(axis=1))


FLAT = Priors(log_a_sd=np.inf, d_sd=np.inf)


@dataclass(frozen=True)
class Answers:
    """Answers of N respondents to J items.

    Attributes
    ----------
    right : (N, J) 1 where the answer is right, 0 elsewhere.
    asked : (N, J) 1 where there is an answer, 0 elsewhere; None if all were asked.
    """

    right: np.ndarray
    asked: np.ndarray | None

    @classmethod
    def of(cls, values: np.ndarray) -> "Answers":
        """From values 0, 1, NaN."""
        missing = np.isnan(values)
        if not missing.any():
            return cls(np.ascontiguousarray(values), None)
        return cls(np.where(missing, 0.0, values), (~missing).astype("float64"))

    @cached_property
    def n_asked(self) -> np.ndarray:
        """(J,) answers to each item."""
        return np.full(self.right.shape[1], len(self.right)) if self.asked is None else self.asked.sum(axis=0)

    @cached_property
    def n_right(self) -> np.ndarray:
        """(J,) right answers to each item."""
        return self.right.sum(axis=0)

    def total(self, per_item: np.ndarray) -> np.ndarray:
        """Sum of (J, Q) values over the items asked of each respondent: (N, Q), or (1, Q) if all were."""
        return per_item.sum(axis=0, keepdims=True) if self.asked is None else self.asked @ per_item

    def pooled(self, per_respondent: np.ndarray) -> np.ndarray:
        """Sum of (N, Q) values over those asked each item: (J, Q), or (1, Q) if all were."""
        if self.asked is None:
            return per_respondent.sum(axis=0, keepdims=True)
        return self.asked.T @ per_respondent


@dataclass(frozen=True)
class Posterior:
    """What the answers say about abilities, given items.

    Attributes
    ----------
    nodes : (Q,) abilities, evenly spaced.
    weights : (N, Q) probability of each; rows sum to 1.
    chances : (J, Q) P(x = 1) of each item.
    log_likelihood : log of the chance of all answers, ability integrated out.
    """

    nodes: np.ndarray
    weights: np.ndarray
    chances: np.ndarray
    log_likelihood: float

    @cached_property
    def mean(self) -> np.ndarray:
        """(N,) expected abilities."""
        return self.weights @ self.nodes

    @cached_property
    def sd(self) -> np.ndarray:
        """(N,) standard deviations."""
        return np.sqrt(np.maximum(self.weights @ self.nodes**2 - self.mean**2, 0.0))


@dataclass(frozen=True)
class Fit:
    """(2, J) log a and d, the posterior of abilities there, and how they were reached."""

    items: np.ndarray
    posterior: Posterior | None
    converged: bool
    n_iterations: int


def fit(answers: Answers, priors: Priors, tolerance: float, max_iterations: int) -> Fit:
    """Maximise the marginal posterior of the items over log a and d.

    The nodes are chosen for the items at the start, and anew where those found outgrow them.

    Source: Bock & Aitkin, Psychometrika 46 (1981) 443–459; Mislevy, Psychometrika 51 (1986) 177–195.
    """
    found = Fit(_start(answers, priors), None, False, 0)
    for _ in range(_GRIDS):
        nodes = suited_nodes(answers, found.items)
        found = _climb(answers, priors, found, nodes, tolerance, max_iterations)
        if found.converged or found.n_iterations == max_iterations:
            break
    return found


def posterior(answers: Answers, items: np.ndarray, nodes: np.ndarray) -> Posterior:
    """Distribution of each respondent's ability on the nodes, from logarithms throughout."""
    a, d = np.exp(items[0]), items[1]
    chances = np.empty((len(a), len(nodes)))
    softplus = np.empty((1 if answers.asked is None else len(a), len(nodes)))
    _logistic(a, d, nodes, chances, softplus)
    log_weights = np.multiply.outer(answers.right @ a, nodes) + (answers.right @ d)[:, None]
    log_weights -= answers.total(softplus)
    log_weights += np.log((nodes[1] - nodes[0]) / np.sqrt(2 * np.pi)) - nodes**2 / 2
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(np.subtract(log_weights, top, out=log_weights), out=log_weights)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return Posterior(nodes, weights, chances, float((top + np.log(total)).sum()))


def suited_nodes(answers: Answers, items: np.ndarray) -> np.ndarray:
    """Nodes as dense as the narrowest posterior wants, and as far out as the outermost respondents are."""
    reach, rough = _REACH, posterior(answers, items, np.linspace(-_REACH, _REACH, 2 * N_NODES))
    while np.abs(rough.mean).max() > reach - 1:
        reach *= 2
        rough = posterior(answers, items, np.linspace(-reach, reach, round(2 * N_NODES * reach / _REACH)))
    a, d = np.exp(items[0]), items[1]
    between = np.linspace(rough.mean.min(), rough.mean.max(), 41)
    width = 1 / np.sqrt(1 + max(information(theta, a, -d / a).sum() for theta in between))
    margin = _SPREAD * np.maximum(rough.sd, width) + _MARGIN
    low, high = (rough.mean - margin).min(), (rough.mean + margin).max()
    return np.linspace(low, high, max(N_NODES, int(np.ceil((high - low) / (_STEP * width))) + 1))


def _outgrown(found: Posterior) -> bool:
    """Whether a posterior is narrower than the distance of the nodes, or reaches beyond them.

    Sums at distance h integrate a normal density of deviation s up to 2 exp(−2π² s²/h²): 5e-9 at h = s.
    """
    nodes, reach = found.nodes, (_SPREAD - 2) * found.sd
    outside = (found.mean - reach < nodes[0]) | (found.mean + reach > nodes[-1])
    return bool(outside.any() or nodes[1] - nodes[0] > found.sd.min())


def _start(answers: Answers, priors: Priors) -> np.ndarray:
    share = (answers.n_right + 0.5) / (answers.n_asked + 1)
    return np.array([np.full(len(share), priors.log_a_mean), 1.2 * logit(share)])


def _climb(
    answers: Answers, priors: Priors, start: Fit, nodes: np.ndarray, tolerance: float, max_iterations: int
) -> Fit:
    """Steps until the largest is below the tolerance or the nodes are outgrown, each no worse than the last.

    Source: Walker & Ni, SIAM J. Numer. Anal. 49 (2011) 1715–1735 (Anderson acceleration); restarted, and
    replaced by the plain step, where the objective falls.
    """
    items, now = start.items, posterior(answers, start.items, nodes)
    height = now.log_likelihood + priors.log_density(items)
    history: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_WINDOW + 1)
    for n in range(start.n_iterations, max_iterations):
        step = _item_steps(answers, items, now, priors)
        step += _rescaling(items + step, now, priors)
        outgrown = _outgrown(now)
        if outgrown or np.abs(step).max() < tolerance:
            return Fit(items, now, not outgrown, n)
        history.append((items + step, step))
        slack = 1e-11 * abs(height)
        for candidate in [_accelerated(history), *(items + step / 2**k for k in range(_HALVINGS))]:
            found = posterior(answers, candidate, nodes)
            reached = found.log_likelihood + priors.log_density(candidate)
            if reached >= height - slack:
                break
            history.clear()
        items, now, height = candidate, found, reached
    return Fit(items, now, False, max_iterations)


def _accelerated(history: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Mix of the last images of the items whose steps cancel best; the last image if that is too far away."""
    images, steps = (np.array(own) for own in zip(*history, strict=True))
    if len(steps) == 1:
        return images[-1]
    changes = np.diff(steps, axis=0).reshape(len(steps) - 1, -1)
    gram = changes @ changes.T
    gram += 1e-10 * np.trace(gram) * np.eye(len(gram))
    mix = np.linalg.solve(gram, changes @ steps[-1].ravel())
    move = np.tensordot(mix, np.diff(images, axis=0), axes=1)
    return images[-1] - move if np.abs(move).max() < 2 else images[-1]


def _item_steps(answers: Answers, items: np.ndarray, now: Posterior, priors: Priors) -> np.ndarray:
    """(2, J) step of each item by Fisher scoring, the posterior of abilities held fixed."""
    steps = np.empty_like(items)
    _scoring(
        now.chances,
        answers.pooled(now.weights),
        now.nodes,
        answers.n_right,
        now.mean @ answers.right,
        items,
        priors.centre(items)[:, 0],
        priors.precision,
        steps,
    )
    return steps


def _rescaling(items: np.ndarray, now: Posterior, priors: Priors) -> np.ndarray:
    """(2, J) step of all items together that brings the abilities to mean 0 and variance 1.

    Along it plain steps crawl, since it changes abilities and items at once.

    Source: Liu, Rubin & Wu, Biometrika 85 (1998) 755–770 (parameter expansion).
    """
    a, n = np.exp(items[0]), len(now.mean)
    along = np.array([np.ones_like(a), a])
    slope = np.array([(now.mean**2 + now.sd**2 - 1).sum(), now.mean.sum()])
    slope -= priors.precision * (along * (items - priors.centre(items))).sum(axis=1)
    spread = (along**2).sum(axis=1) - priors.trust(len(a)) * along.sum(axis=1) ** 2 / len(a)
    moves = slope / (np.array([2 * n, n]) + priors.precision * spread)
    return along * np.clip(moves, -0.5, 0.5)[:, None]


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _logistic(a, d, nodes, chances, softplus):
    """Fill P and log(1 + e^z); a `softplus` of one row gets the sum over items.

    Nodes are evenly spaced, so e^z is a geometric series, begun anew every few nodes. Of a sum over items one
    logarithm is taken for many: log(1 + e^z) = max(z, 0) − log max(P, 1 − P).
    """
    n, shared = len(nodes), len(softplus) == 1
    softplus[:] = 0.0
    product = np.ones(n)
    for j in range(len(a)):
        chance, row = chances[j], softplus[0 if shared else j]
        ratio = np.exp(a[j] * (nodes[1] - nodes[0]))
        for first in range(0, n, _RUN):
            power = np.exp(a[j] * nodes[first] + d[j])
            for q in range(first, min(first + _RUN, n)):
                chance[q] = power
                power *= ratio
        for q in range(n):
            wrong = 1 / (1 + chance[q])
            chance[q] = 1 - wrong
            product[q] *= max(wrong, 1 - wrong)
            row[q] += max(a[j] * nodes[q] + d[j], 0.0)
        if not shared or j % _RUN == _RUN - 1 or j == len(a) - 1:
            for q in range(n):
                row[q] -= np.log(product[q])
                product[q] = 1.0


@njit(cache=True, error_model="numpy")
def _scoring(chances, pooled, nodes, n_right, right_theta, items, mean, precision, steps):
    """Fill the step of each item; a `pooled` of one row serves all items."""
    for j in range(len(chances)):
        weight = pooled[min(j, len(pooled) - 1)]
        a = np.exp(items[0, j])
        right = right_t = dd = dl = ll = 0.0
        for q in range(len(nodes)):
            expected = weight[q] * chances[j, q]
            w = expected * (1 - chances[j, q])
            right += expected
            right_t += expected * nodes[q]
            dd += w
            dl += w * nodes[q]
            ll += w * nodes[q] ** 2
        slope_l = a * (right_theta[j] - right_t) - precision[0] * (items[0, j] - mean[0])
        slope_d = n_right[j] - right - precision[1] * (items[1, j] - mean[1])
        ll = a * a * ll + precision[0]
        dl = a * dl
        dd += precision[1]
        determinant = ll * dd - dl * dl
        steps[0, j] = min(max((dd * slope_l - dl * slope_d) / determinant, -0.5), 0.5)
        steps[1, j] = min(max((ll * slope_d - dl * slope_l) / determinant, -1.0), 1.0)
