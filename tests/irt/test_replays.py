"""The paper's own outputs, and the matrices that it was written on.

The authors publish item parameters, ranks and anchors of SimpleSafetyTests for 100 splits, but not which ten
models each split holds out. Their total Fisher information tells whether a guess is right: it is the sum over
the other models' abilities.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from benchtrust import irt
from benchtrust.items import sources
from benchtrust.public import matrices
from benchtrust.responses import response_matrix

pytestmark = [
    pytest.mark.external,
    pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning"),
]

PUBLISHED = "responses/helm_safety/simplesafety_published_items.csv"
REACHED = {
    "marginal_fisher": (16, 20),
    "ml": (16, 20),
    "map": (16, 20),
    "disco": (16, 20),
    "anchor_points": (20, 25),
    "marginal_fisher_quartiles": (31, 40),
    "total_fisher": (40, 50),
    "random": (40, 50),
}
"""Neighbouring published sizes between which the mean agreement over the splits passes .90."""
RANKS = {
    "total_fisher": "total_fisher_rank",
    "marginal_fisher": "marginal_fisher_rank",
    "marginal_fisher_quartiles": "marginal_fisher_bquant_rank",
}


def matrix_of(name):
    return response_matrix(matrices.load(name), respondent=["model"])


def in_order_of_the_file(name):
    return matrix_of(name).loc[matrices.load(name)["model"].unique()]


def held_out(number, n_models):
    """Which models a split holds out: a seed that the published information bears out."""
    drawn = np.random.default_rng((42, number)).choice(n_models, size=10, replace=False)
    return np.isin(np.arange(n_models), drawn)


def estimate(method, k, asked, fold, start):
    """Estimates of held-out models by the published subset of k items."""
    if method in RANKS:
        own = fold[fold[RANKS[method]] <= k]
        return irt.ability(asked[own.index], own)["theta"]
    if method in ("map", "ml"):
        return irt.adaptive_test(asked, fold, k, start, method).theta[k]
    chosen = fold[f"anchor_B_{k}"] == 1 if method == "anchor_points" else fold[f"{method}_rank"] <= k
    return asked.loc[:, chosen].mean(axis=1)


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(sources.locate(PUBLISHED))


@pytest.fixture(scope="module")
def replay(published):
    """For each published split how far the information misses the published one, and the agreements."""
    matrix = in_order_of_the_file("simple_safety_tests")
    rows = []
    for number, fold in published.groupby("fold"):
        fold, test = fold.set_index("item_id"), held_out(number, len(matrix))
        theta = irt.ability(matrix[fold.index], fold)["theta"]
        told = irt.information(theta[~test].to_numpy(), fold[["a"]].to_numpy(), fold[["b"]].to_numpy())
        row = {"fold": number, "miss": np.abs(told.sum(axis=1) / fold["total_fisher"] - 1).max()}
        asked, scores, start = (
            matrix.loc[test, fold.index],
            matrix[test].mean(axis=1),
            float(theta[~test].mean()),
        )
        for method, sizes in REACHED.items():
            for k in sizes:
                guess = estimate(method, k, asked, fold, start).round(9)
                row[method, k] = spearmanr(guess, scores).statistic if np.ptp(guess) else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def test_the_held_out_models_give_the_published_information(replay):
    """To single precision, in every split; abilities are then MAP on all items of the split, θ ~ N(0, 1)."""
    assert len(replay) == 100
    assert replay["miss"].max() < 1e-5


@pytest.mark.parametrize("method", REACHED)
def test_agreement_reaches_90_where_the_published_splits_reach_it(replay, method):
    """Anchor points by plain means: the sizes of their clusters are not published."""
    before, at = (replay[method, k].mean() for k in REACHED[method])
    assert before < 0.9 <= at


def test_published_discriminations_vary_more_than_the_paper_says(published):
    """Its text says .46."""
    spread = published.groupby("fold")["a"].agg(lambda a: a.std() / a.mean())
    assert spread.mean() == pytest.approx(0.83, abs=0.005)
    assert (spread.min(), spread.max()) == pytest.approx((0.69, 0.93), abs=0.005)


# ---------------------------------------------------------------- the matrices


@pytest.mark.parametrize(
    ("name", "shape", "n_usable"),
    [
        ("harmbench", (77, 400), 395),
        ("anthropic_red_team", (77, 1000), 512),
        ("simple_safety_tests", (77, 100), 79),
    ],
)
def test_abilities_keep_the_order_of_the_scores(name, shape, n_usable):
    matrix = matrix_of(name)
    calibration = irt.calibrate(matrix)
    assert matrix.shape == shape
    assert (len(calibration.items), calibration.converged) == (n_usable, True)
    assert spearmanr(calibration.abilities["theta"], matrix.mean(axis=1)).statistic >= 0.965


def test_one_model_of_the_red_team_stands_at_95_itself():
    """67 of 77 at .95 or above, as the paper counts, and 66 above."""
    score = matrix_of("anthropic_red_team").mean(axis=1).round(9)
    assert ((score > 0.95).sum(), (score >= 0.95).sum()) == (66, 67)


def test_on_harmbench_random_items_reach_90_before_every_method_by_information():
    methods = ["random", "adaptive", "total_fisher", "marginal_fisher", "marginal_fisher_quartiles"]
    curve = irt.agreement_curve(
        matrix_of("harmbench"), methods, [9, 12, 16], 25, 10, np.random.default_rng(1)
    )
    first = irt.savings(curve).set_index("method")["first_crossing"].fillna(17)
    assert first["random"] in (9, 12)
    assert (first.drop("random") > first["random"]).all()


def test_models_that_each_answered_a_part_are_calibrated_and_ranked_on_it():
    """Scores on different parts do not compare, so that ability does not keep their order."""
    matrix = matrix_of("strong_reject")
    assert matrix.shape == (43, 330)
    assert matrix.isna().to_numpy().mean() == pytest.approx(0.526, abs=0.0005)
    calibration = irt.calibrate(matrix)
    assert calibration.converged
    assert 0.8 < spearmanr(calibration.abilities["theta"], matrix.mean(axis=1)).statistic < 0.95
    curve = irt.agreement_curve(matrix, ["random", "adaptive"], [2, 330], 10, 8, np.random.default_rng(1))
    silent = curve.splits.groupby(["method", "size"])["n_no_answer"].sum()
    assert silent["random", 2] > 0
    assert (silent["adaptive"] == 0).all()
    whole = curve.table.set_index(["method", "size"])["agreement"]
    assert whole["random", 330] > 0.95
    assert 0.4 < whole["adaptive", 330] < whole["random", 330]
