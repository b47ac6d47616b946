"""Made-up banks of items and the models that answer them: what adaptive tests and subsets save there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from benchtrust.errors import SchemaError
from benchtrust.irt.agreement import AgreementCurve, agreement_curve, savings
from benchtrust.irt.curves import probability
from benchtrust.irt.matrix import generator
from benchtrust.irt.simulation import simulate

_NODES = np.linspace(-5, 5, 101)


@dataclass(frozen=True)
class Population:
    """What items and models are drawn from.

    Discriminations are log-normal with mean 1, difficulties normal, abilities N(0, spread²). Only the product
    of a and the spread has a meaning: a calibration, whose abilities have a standard deviation of 1, finds a
    mean discrimination of about `spread`.

    Attributes
    ----------
    n_items, n_models : size of a bank, and models that answer it.
    cv : coefficient of variation of the discriminations, ≥ 0.
    spread : standard deviation of ability in logits of an item with a = 1, > 0.
    mean_score : mean score in (0, 1) of the models that could be drawn; it sets the mean of the difficulties.
    difficulty_sd : standard deviation of the difficulties, in the same logits, ≥ 0.
    n_domains : domains among which the items are dealt out in turn.
    correlation : correlation in [0, 1] of a model's abilities in two domains; 1 is a single trait.

    Raises
    ------
    SchemaError : fewer than 2 items or models, or a value out of its range.
    """

    n_items: int
    n_models: int
    cv: float
    spread: float
    mean_score: float
    difficulty_sd: float
    n_domains: int = 1
    correlation: float = 1.0

    def __post_init__(self) -> None:
        sizes = min(self.n_items, self.n_models) >= 2 and 1 <= self.n_domains <= self.n_items
        spreads = self.cv >= 0 and self.difficulty_sd >= 0 and self.spread > 0
        if not (sizes and spreads and 0 < self.mean_score < 1 and 0 <= self.correlation <= 1):
            raise SchemaError(f"{self}: give sizes, spreads and shares in the ranges of the docstring.")

    def items(self, rng: np.random.Generator) -> pd.DataFrame:
        """A bank: index item, columns a and b."""
        sd = np.sqrt(np.log1p(self.cv**2))
        a = np.exp(sd * rng.standard_normal(self.n_items) - sd**2 / 2)
        b = self.difficulty_sd * rng.standard_normal(self.n_items)
        labels = pd.RangeIndex(self.n_items, name="item")
        return pd.DataFrame({"a": a, "b": b + self._shift(a, b)}, index=labels)

    def _shift(self, a: np.ndarray, b: np.ndarray) -> float:
        """What to add to all difficulties for the mean score to be as wanted."""
        weights = np.exp(-(_NODES**2) / 2)
        theta = self.spread * _NODES[:, None]

        def excess(shift: float) -> float:
            means = probability(theta, a, b + shift).mean(axis=1)
            return float(weights @ means / weights.sum()) - self.mean_score

        reach = 50 / a.min() + np.abs(b).max() + 5 * self.spread
        return brentq(excess, -reach, reach)

    def abilities(self, rng: np.random.Generator) -> pd.DataFrame:
        """Models × domains."""
        shared = rng.standard_normal((self.n_models, 1))
        own = rng.standard_normal((self.n_models, self.n_domains))
        theta = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own
        return pd.DataFrame(self.spread * theta, index=pd.RangeIndex(self.n_models, name="respondent"))

    def answers(self, items: pd.DataFrame, abilities: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Respondents × items, 1 right and 0 wrong; an item belongs to domain position modulo `n_domains`."""
        parts = [
            simulate(abilities[domain], items.iloc[domain :: self.n_domains], rng) for domain in abilities
        ]
        return pd.concat(parts, axis=1)[items.index]


def agreement_on_banks(
    population: Population,
    methods: Sequence[str],
    sizes: Sequence[int],
    n_banks: int,
    n_splits: int,
    n_held_out: int,
    rng: np.random.Generator,
    known: bool = False,
) -> pd.DataFrame:
    """Draw banks and models anew, answer, and run `agreement_curve` on each.

    Parameters
    ----------
    population : what is drawn from.
    methods, sizes, n_splits, n_held_out : as in `agreement_curve`.
    n_banks : banks, each with models of its own.
    rng : source of everything; a bank does not depend on how many there are.
    known : select and estimate with the true parameters and abilities instead of calibrated ones; asks for a
        single trait.

    Returns
    -------
    `AgreementCurve.splits` of all banks, with the column bank before the others.

    Raises
    ------
    SchemaError : as `agreement_curve`; `known` with several traits; no rng.
    """
    if known and population.n_domains > 1 and population.correlation < 1:
        raise SchemaError(f"{population.n_domains} traits have no one true ability: calibrate (known=False).")
    found = []
    for bank, stream in enumerate(generator(rng).spawn(n_banks)):
        items, abilities = population.items(stream), population.abilities(stream)
        matrix = population.answers(items, abilities, stream)
        truth = {"calibrate": _truth(items, abilities[0], population.spread)} if known else {}
        curve = agreement_curve(matrix, methods, sizes, n_splits, n_held_out, stream, **truth)
        found.append(curve.splits.assign(bank=bank))
    splits = pd.concat(found, ignore_index=True)
    return splits[["bank", *splits.columns.drop("bank")]]


def _truth(items: pd.DataFrame, theta: pd.Series, spread: float) -> Callable[[pd.DataFrame], SimpleNamespace]:
    """A calibration that knows, on the scale of ability with standard deviation 1."""
    standard = pd.DataFrame({"a": items["a"] * spread, "b": items["b"] / spread})

    def calibrate(matrix: pd.DataFrame) -> SimpleNamespace:
        own = (theta / spread).loc[matrix.index].to_frame("theta")
        return SimpleNamespace(items=standard.loc[matrix.columns], abilities=own)

    return calibrate


def savings_on_banks(splits: pd.DataFrame, n_items: int, target: float = 0.9) -> pd.DataFrame:
    """What each method saves, and how far single banks would tell otherwise.

    Parameters
    ----------
    splits : frame of `agreement_on_banks`.
    n_items : items of a bank.
    target : mean agreement to be reached.

    Returns
    -------
    A row per method: k_star and saved as `savings`, from the mean over all banks; low and high, the least and
    the most that is saved on one bank, from its own splits; n_banks; n_undefined, values of agreement that
    are missing and enter no mean. Where no size reaches the target the whole bank is asked, nothing saved.
    """
    pooled = _savings(splits, n_items, target)
    single = [_savings(own, n_items, target)["saved"] for _, own in splits.groupby("bank")]
    single = pd.concat(single, axis=1)
    undefined = splits["agreement"].isna().groupby(splits["method"], sort=False).sum()
    ends = {"low": single.min(axis=1), "high": single.max(axis=1)}
    return pooled.assign(**ends, n_banks=single.shape[1], n_undefined=undefined).reset_index()


def _savings(splits: pd.DataFrame, n_items: int, target: float) -> pd.DataFrame:
    """Index method, columns k_star and saved."""
    means = splits.groupby(["method", "size"], sort=False)["agreement"].mean().reset_index()
    found = savings(AgreementCurve(means, splits, pd.DataFrame(), n_items), target).set_index("method")
    k_star = found["k_star"].fillna(n_items).astype(int)
    return pd.DataFrame({"k_star": k_star, "saved": 1 - k_star / n_items})
