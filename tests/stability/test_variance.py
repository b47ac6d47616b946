"""Variance shares against statsmodels, least squares and enumeration; shares of noise; resampled items."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.responses import cell_means
from benchtrust.stability import (
    IMPLEMENTATION,
    group_shares,
    noise_shares,
    share_bootstrap,
    share_draws,
    variance_shares,
)

FACTORS = ["model", "template", "decoding", "shots"]
PAPER = {"model": 3, "template": 4, "decoding": 3, "shots": 3}
SMALL = {"model": 3, "template": 2, "shots": 2}
few = settings(max_examples=6, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def grid(n_levels: dict[str, int], scores: np.ndarray | None = None, seed: int = 0) -> pd.DataFrame:
    """A row per cell of a balanced grid; scores in the order of the levels, or noise."""
    rows = pd.DataFrame(product(*map(range, n_levels.values())), columns=list(n_levels))
    noise = np.random.default_rng(seed).normal(size=len(rows))
    return rows.assign(score=noise if scores is None else np.ravel(scores))


def holes(cells: pd.DataFrame, n: int, seed: int = 0) -> pd.DataFrame:
    """The same with `n` cells left out, and at least one cell for each level."""
    return cells.drop(np.random.default_rng(seed).choice(cells.index[len(cells) // 2 :], n, replace=False))


def responses(
    n_levels: dict[str, int], answers: np.ndarray, parts=None, benchmark: str = "toxigen"
) -> pd.DataFrame:
    """Responses on a balanced grid: answers of shape (cells, items)."""
    cells = grid(n_levels).drop(columns="score").astype(str)
    items = pd.DataFrame({"item_id": [f"i{j:03d}" for j in range(answers.shape[1])]})
    items["part"] = parts if parts is not None else None
    rest = {"benchmark": benchmark, "shots": "0", "decoding": "greedy", "scoring": "free_form"}
    frame = cells.assign(cell_id=[f"c{i}" for i in range(len(cells))]).merge(items, how="cross")
    frame = frame.assign(**{name: value for name, value in rest.items() if name not in frame})
    return frame.assign(outcome="scored", score=np.ravel(answers).astype(float))


def explained(cells: pd.DataFrame, factors: list[str], y: np.ndarray) -> np.ndarray:
    """Residual sums of squares of main-effects models without each factor, then of the whole one."""

    def rest(names: list[str]) -> np.ndarray:
        dummies = [pd.get_dummies(cells[name], dtype=float).to_numpy() for name in names]
        design = np.hstack([np.ones((len(cells), 1)), *dummies])
        return ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum(axis=0)

    return np.array([rest([f for f in factors if f != name]) for name in factors] + [rest(factors)])


# ---------------------------------------------------------------- sums of squares and their shares


def test_the_paper_s_grid_has_its_degrees_of_freedom():
    table = variance_shares(grid(PAPER), "score", FACTORS)
    assert table["source"].tolist() == [*FACTORS, "residual", "remainder"]
    assert table["df"].tolist() == [2, 3, 2, 2, 98, 0]
    assert table.attrs["n_left_out"] == 0


@few
@given(seeds)
def test_types_one_two_and_three_agree_on_a_balanced_grid(seed):
    cells = grid(SMALL, seed=seed)
    ours = variance_shares(cells, "score", list(SMALL)).set_index("source")
    model = ols("score ~ C(shots, Sum) + C(template, Sum) + C(model, Sum)", cells).fit()
    for kind in (1, 2, 3):
        theirs = anova_lm(model, typ=kind)["sum_sq"].rename(lambda term: term[2:].split(",")[0])
        assert ours.loc[list(SMALL), "ss"].to_numpy() == pytest.approx(theirs[list(SMALL)].to_numpy())
        assert ours.loc["residual", "ss"] == pytest.approx(theirs.iloc[-1])
    assert ours.loc["remainder", "eta2"] == pytest.approx(0, abs=1e-12)


@few
@given(seeds, st.integers(1, 8))
def test_with_missing_cells_a_factor_gets_what_the_others_cannot_explain(seed, n):
    cells = holes(grid({"model": 3, "template": 3, "shots": 3}, seed=seed), n, seed)
    table = variance_shares(cells, "score", list(SMALL)).set_index("source")
    left = explained(cells, list(SMALL), cells["score"].to_numpy())
    total = cells["score"].var(ddof=0) * len(cells)
    assert table["ss"].to_numpy()[:3] == pytest.approx(left[:3] - left[3])
    assert table.loc["residual", "ss"] == pytest.approx(left[3])
    assert table.loc["remainder", "ss"] == pytest.approx(total - (left[:3] - left[3]).sum() - left[3])
    assert table["df"].sum() == len(cells) - 1


@few
@given(seeds, st.integers(0, 8))
def test_both_columns_of_shares_sum_to_one(seed, n):
    cells = holes(grid({"model": 3, "template": 3, "shots": 3}, seed=seed), n, seed)
    table = variance_shares(cells, "score", list(SMALL))
    assert table["eta2"].sum() == pytest.approx(1)
    assert table["omega2"].sum() == pytest.approx(1)


def test_the_remainder_is_shown_where_cells_are_missing():
    cells = grid(SMALL, scores=np.arange(12) ** 2)
    assert variance_shares(cells, "score", list(SMALL))["eta2"].iloc[-1] == pytest.approx(0, abs=1e-12)
    assert abs(variance_shares(cells.drop([9, 11]), "score", list(SMALL))["eta2"].iloc[-1]) > 0.01


@few
@given(seeds, st.floats(-50, 50), st.floats(0.01, 100), st.booleans())
def test_affine_rescaling_and_the_order_of_rows_and_levels_change_nothing(seed, shift, scale, down):
    cells = holes(grid(SMALL, seed=seed), 2, seed)
    other = cells.sample(frac=1, random_state=seed % 1000).assign(
        score=lambda f: shift + (-scale if down else scale) * f["score"],
        model=lambda f: f["model"].map({0: "z", 1: "a", 2: "m"}),
        shots=lambda f: -5 * f["shots"],
    )
    one, two = (variance_shares(f, "score", list(SMALL)) for f in (cells, other))
    assert one["eta2"].tolist() == pytest.approx(two["eta2"].tolist(), abs=1e-9)
    assert one["omega2"].tolist() == pytest.approx(two["omega2"].tolist(), abs=1e-9)


@few
@given(seeds)
def test_omega2_of_one_factor_follows_from_f(seed):
    cells = grid({"model": 3, "repeat": 5}, seed=seed)
    f = f_oneway(*(own["score"] for _, own in cells.groupby("model"))).statistic
    table = variance_shares(cells, "score", ["model"]).set_index("source")
    assert table.loc["model", "omega2"] == pytest.approx(2 * (f - 1) / (2 * (f - 1) + 15))
    assert table.loc["model", "eta2"] == pytest.approx(2 * f / (2 * f + 12))


def test_omega2_may_be_negative():
    cells = grid({"model": 2, "repeat": 3}, scores=[1, 2, 3, 1, 2, 3])
    assert variance_shares(cells, "score", ["model"])["omega2"].iloc[0] < 0


def test_rows_without_a_response_are_left_out_and_counted():
    cells = grid(SMALL)
    gaps = cells.assign(score=cells["score"].where(cells.index > 1))
    table = variance_shares(gaps, "score", list(SMALL))
    expected = variance_shares(cells[2:], "score", list(SMALL))
    assert table["ss"].tolist() == pytest.approx(expected["ss"].tolist())
    assert (table.attrs["n_left_out"], expected.attrs["n_left_out"]) == (2, 0)


BOTH_SCORINGS = [
    *product("ab", ["minimal", "role"], ["greedy", "sampled"], ["free_form"]),
    *product("ab", ["minimal", "role"], ["none"], ["logprob"]),
]


def scorings() -> pd.DataFrame:
    columns = ["model", "template", "decoding", "scoring"]
    return pd.DataFrame(BOTH_SCORINGS, columns=columns).assign(score=np.arange(12) ** 2)


@pytest.mark.parametrize(
    ("cells", "factors", "error", "says"),
    [
        (grid(SMALL, scores=np.full(12, 0.3)), list(SMALL), SchemaError, r"constant \(0.3 in 12 cells\)"),
        (grid(SMALL, scores=[0.3, 0.1 + 0.2] * 6), list(SMALL), SchemaError, "constant"),
        (grid(SMALL).query("shots == 0"), list(SMALL), SchemaError, r"'shots' has one level \(.*0.*leave it"),
        (grid({"model": 5}), ["model"], SchemaError, "5 scores for 5 parameters: the model is saturated"),
        (scorings(), ["model", "decoding", "scoring"], SchemaError, "'scoring' cannot be told apart"),
        (grid(SMALL), ["model", "model"], SchemaError, "'model' cannot be told apart from model"),
        (grid(SMALL), ["model", "tempalte"], UnknownNameError, "Did you mean template"),
        (grid(SMALL), [], SchemaError, "No factor"),
        (grid(SMALL).assign(score=np.nan), ["model"], SchemaError, "'model' has no level"),
        (grid(SMALL).assign(score=[*range(11), np.inf]), ["model"], SchemaError, "must be finite"),
        (grid(SMALL).assign(score="high"), ["model"], SchemaError, "must be numbers"),
        (grid(SMALL).replace({"model": {1: None}}), ["model"], SchemaError, "'model' has a missing value"),
    ],
)
def test_what_cannot_be_answered_is_a_named_error(cells, factors, error, says):
    with pytest.raises(error, match=says):
        variance_shares(cells, "score", factors)


# ---------------------------------------------------------------- groups, and what noise alone gives


def test_implementation_is_the_sum_of_its_factors():
    shares = variance_shares(grid(PAPER), "score", FACTORS)
    grouped = group_shares(shares, {"implementation": IMPLEMENTATION})
    assert grouped["source"].tolist() == ["model", "implementation", "residual", "remainder"]
    assert grouped["df"].tolist() == [2, 7, 98, 0]
    for column in ("ss", "eta2", "omega2"):
        assert grouped[column][1] == pytest.approx(shares[column][1:4].sum())
        assert grouped[column].sum() == pytest.approx(shares[column].sum())


def test_noise_alone_gives_implementation_three_and_a_half_times_the_model_s_share():
    shares = group_shares(variance_shares(grid(PAPER), "score", FACTORS), {"implementation": IMPLEMENTATION})
    noise = noise_shares(shares).set_index("source")
    assert noise.loc["implementation", "eta2"] == pytest.approx(7 / 107)
    assert noise.loc["model", "eta2"] == pytest.approx(2 / 107)
    assert noise["eta2"].sum() == pytest.approx(1)
    assert noise.loc["remainder", ["eta2", "eta2_high"]].tolist() == [0, 0]


@pytest.mark.parametrize("n", [0, 6])
def test_shares_of_noise_follow_their_distribution_with_and_without_holes(n):
    cells = holes(grid({"model": 3, "template": 3, "shots": 3}), n)
    y = np.random.default_rng(3).normal(size=(len(cells), 4000))
    left = explained(cells, list(SMALL), y)
    total = y.var(axis=0) * len(cells)
    eta2 = np.vstack([left[:3] - left[3], left[3:]]) / total
    noise = noise_shares(variance_shares(cells, "score", list(SMALL)), level=0.9)[:4]
    assert eta2.mean(axis=1) == pytest.approx(noise["eta2"].to_numpy(), abs=0.004)
    assert (eta2 <= noise[["eta2_high"]].to_numpy()).mean(axis=1) == pytest.approx([0.9] * 4, abs=0.015)
    ms = left[3] / noise["df"][3]
    omega2 = (left[:3] - left[3] - 2 * ms) / (total + ms)
    assert omega2.mean(axis=1) == pytest.approx([0] * 3, abs=0.006)


@pytest.mark.parametrize(
    ("change", "groups", "error", "says"),
    [
        (lambda t: t, {"how": ["tempalte"]}, UnknownNameError, "Did you mean template"),
        (lambda t: t, {"a": ["model"], "b": ["model"]}, SchemaError, "put each into one group"),
        (lambda t: t.assign(eta2_low=0), {"a": ["model"]}, SchemaError, "eta2_low cannot be added up"),
        (lambda t: pd.concat([t, t]), {"a": ["model"]}, SchemaError, "one table at a time"),
    ],
)
def test_groups_that_do_not_fit_are_refused(change, groups, error, says):
    with pytest.raises(error, match=says):
        group_shares(change(variance_shares(grid(SMALL), "score", list(SMALL))), groups)


# ---------------------------------------------------------------- resampled items


def binary(n_items: int, seed: int, n_levels=SMALL) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (np.prod(list(n_levels.values())), n_items))


@pytest.mark.parametrize("benchmark", ["toxigen", "bbq", "CrowS-Pairs"])
def test_observed_shares_are_those_of_the_cell_scores(benchmark):
    frame = responses(SMALL, binary(9, 1), parts=["x"] * 3 + ["y"] * 6, benchmark=benchmark)
    expected = variance_shares(cell_means(frame), "score", list(SMALL))[:-1]
    shuffled = frame.sample(frac=1, random_state=2)
    table = share_bootstrap(shuffled, list(SMALL), 5, np.random.default_rng(0))
    assert table["source"].tolist() == expected["source"].tolist()
    assert table["df"].tolist() == expected["df"].tolist()
    for column in ("ss", "eta2", "omega2"):
        assert table[column].tolist() == pytest.approx(expected[column].tolist())


@pytest.mark.parametrize(
    ("benchmark", "parts"), [("toxigen", "xxx"), ("bbq", "xxyy"), ("crows_pairs", "xyy")]
)
def test_bands_and_noise_follow_the_enumerated_draws(benchmark, parts):
    """Each part of n items gives n - 1 of them; cells are scored by `cell_means`, split by least squares."""
    answers, cells = binary(len(parts), 4), grid(SMALL)
    strata = [(0, 1), (2, 3)] if benchmark == "bbq" else [(0, 1, 2)]
    draws = [sum(draw, ()) for draw in product(*(product(own, repeat=len(own) - 1) for own in strata))]

    def scores(draw: tuple[int, ...]) -> pd.Series:
        frame = responses(SMALL, answers[:, draw], [parts[item] for item in draw], benchmark)
        return cell_means(frame)["score"]

    observed = scores(tuple(range(len(parts)))).to_numpy()[:, None]
    drawn = np.array([scores(draw) for draw in draws]).T
    left = explained(cells, list(SMALL), drawn - observed)
    noise = np.vstack([left[:3] - left[3], left[3:]])
    left = explained(cells, list(SMALL), drawn)
    total = drawn.var(axis=0) * len(drawn)
    eta2 = np.vstack([left[:3] - left[3], left[3:]])[:, total > 1e-12] / total[total > 1e-12]
    frame = responses(SMALL, answers, list(parts), benchmark)
    table = share_bootstrap(frame, list(SMALL), 6000, np.random.default_rng(0), level=1.0)
    assert table["eta2_low"].tolist() == pytest.approx(eta2.min(axis=1).tolist(), abs=1e-9)
    assert table["eta2_high"].tolist() == pytest.approx(eta2.max(axis=1).tolist(), abs=1e-9)
    assert table["ss_noise"].tolist() == pytest.approx(noise.mean(axis=1).tolist(), rel=0.05)


def test_noise_is_the_variance_of_a_mean_over_items_in_closed_form():
    answers = binary(12, 5).astype(float)
    table = share_bootstrap(responses(SMALL, answers), list(SMALL), 8000, np.random.default_rng(0))
    centred = answers.reshape(3, 4, 12) - answers.mean(axis=0)
    model = centred.mean(axis=1).var(axis=1, ddof=1).sum() * 4 / 12
    every = centred.reshape(12, 12).var(axis=1, ddof=1).sum() / 12
    assert table["ss_noise"][0] == pytest.approx(model, rel=0.05)
    assert table["ss_noise"].sum() == pytest.approx(every, rel=0.03)


def test_what_all_cells_share_is_no_noise():
    """Hard items are hard for all: which of them are asked moves every cell alike."""
    effects = np.repeat([0.1, 0.3, 0.2], 4) + np.tile([0, 0.1, 0.05, 0.3], 3)
    answers = effects[:, None] + np.linspace(0, 0.4, 7)
    table = share_bootstrap(responses(SMALL, answers), list(SMALL), 50, np.random.default_rng(0))
    assert table["ss_noise"].tolist() == pytest.approx([0] * 4, abs=1e-12)
    for end in ("eta2_low", "eta2_high", "systematic", "systematic_low", "systematic_high"):
        assert table[end].tolist() == pytest.approx(table["eta2"].tolist(), abs=1e-9)


def test_systematic_intervals_cover_the_shares_over_all_items():
    """Binary answers of 12 cells with interaction; items drawn from 2,000. Nominal .9, conservative."""
    rng = np.random.default_rng(8)
    latent = rng.normal(0, 0.6, (12, 1)) + rng.normal(0, 1, 2000)
    latent = latent + np.repeat(rng.normal(0, 0.7, (3, 2000)), 4, axis=0)
    pool = (rng.random(latent.shape) < 1 / (1 + np.exp(-latent))).astype(float)
    truth = variance_shares(grid(SMALL, pool.mean(axis=1)), "score", list(SMALL))[:-1]
    covered, noise, naive = [], [], []
    for _ in range(40):
        frame = responses(SMALL, pool[:, rng.choice(2000, 20, replace=False)])
        table = share_bootstrap(frame, list(SMALL), 100, rng, level=0.9)
        covered.append(truth["eta2"].between(table["systematic_low"], table["systematic_high"]))
        naive.append(truth["eta2"].between(table["eta2_low"], table["eta2_high"]))
        noise.append(table["ss_noise"])
    assert (np.mean(covered, axis=0) > 0.88).all()
    assert np.mean(naive, axis=0).min() < 0.88
    drawn = np.array([pool[:, rng.choice(2000, 20)].mean(axis=1) for _ in range(3000)]).T
    excess = (drawn.var(axis=0) * 12).mean() - truth["ss"].sum()
    assert np.sum(noise, axis=1).mean() == pytest.approx(excess, rel=0.1)


def test_groups_are_summed_within_each_draw():
    frame = responses(SMALL, binary(10, 6))
    groups = {"implementation": ["template", "shots"]}
    apart, together = (
        share_bootstrap(frame, list(SMALL), 300, np.random.default_rng(1), groups=g) for g in (None, groups)
    )
    assert together["source"].tolist() == ["model", "implementation", "residual"]
    for column in ("df", "ss", "eta2", "omega2", "ss_noise", "systematic"):
        assert together[column][1] == pytest.approx(apart[column][1:3].sum())
    alone = apart.iloc[[0, 3]].reset_index(drop=True)
    pd.testing.assert_frame_equal(together.iloc[[0, 2]].reset_index(drop=True), alone)
    assert apart["eta2_high"][1:3].max() <= together["eta2_high"][1] < apart["eta2_high"][1:3].sum()


def test_drawn_shares_are_those_behind_the_bands():
    frame, groups = responses(SMALL, binary(10, 6)), {"implementation": ["template", "shots"]}
    bands = share_bootstrap(frame, list(SMALL), 300, np.random.default_rng(1), groups).set_index("source")
    drawn = share_draws(frame, list(SMALL), 300, np.random.default_rng(1), groups)
    assert drawn.shape == (301, 3)
    assert drawn.sum(axis=1).dropna().tolist() == pytest.approx([1] * drawn.notna().all(axis=1).sum())
    for source in drawn:
        assert drawn[source][0] == pytest.approx(bands.loc[source, "eta2"])
        assert drawn[source][1:].quantile(0.025) == pytest.approx(bands.loc[source, "eta2_low"])


def test_draws_depend_on_the_seed_and_not_on_the_order_of_rows():
    frame = responses(SMALL, binary(10, 7))
    one, two, other = (
        share_bootstrap(f, list(SMALL), 40, np.random.default_rng(seed))
        for f, seed in ((frame, 1), (frame.sample(frac=1, random_state=3), 1), (frame, 2))
    )
    pd.testing.assert_frame_equal(one, two)
    assert one["eta2_high"].tolist() != other["eta2_high"].tolist()


def test_draws_without_variance_are_counted_and_enter_no_band():
    answers = np.ones((12, 2))
    answers[:5, 1] = 0
    answers[:, 0] = np.resize([0.3, 0.1 + 0.2], 12)
    table = share_bootstrap(responses(SMALL, answers), list(SMALL), 400, np.random.default_rng(0))
    assert 150 < table.attrs["n_constant"] < 250
    assert table["eta2_low"].tolist() == pytest.approx(table["eta2_high"].tolist())
    assert table["systematic_low"].tolist() == [0] * 4
    assert table["systematic_high"].tolist() == [1] * 4


def test_more_noise_than_variance_leaves_no_systematic_share():
    frames = [responses(SMALL, binary(6, seed)) for seed in range(8)]
    tables = [share_bootstrap(f, list(SMALL), 200, np.random.default_rng(0)) for f in frames]
    over = [t for t in tables if t["ss_noise"].sum() > t["ss"].sum()]
    assert over
    assert all(t["systematic"].isna().all() for t in over)
    assert all((t["systematic_low"] == 0).all() and (t["systematic_high"] == 1).all() for t in over)


ASKED = responses(SMALL, binary(6, 9), parts=list("xxxyyy"), benchmark="xstest")


@pytest.mark.parametrize(
    ("frame", "options", "error", "says"),
    [
        (ASKED[1:], {}, SchemaError, r"'i000' at model='0', template='0', shots='0' \(and 0 more"),
        (
            ASKED[ASKED["cell_id"] != "c7"],
            {},
            SchemaError,
            r"model='1', template='1', shots='1' \(and 5 more",
        ),
        (ASKED[ASKED["item_id"] > "i001"], {}, SchemaError, "Part 'x' has one item"),
        (pd.concat([ASKED, ASKED.assign(scoring="logprob")]), {}, SchemaError, "add scoring to `respondent`"),
        (ASKED.assign(score=1.0), {}, SchemaError, "constant"),
        (ASKED[ASKED["shots"] == "0"], {}, SchemaError, "'shots' has one level"),
        (ASKED, {"n_draws": 0}, SchemaError, "0 draws"),
        (
            responses(SMALL, np.eye(12, 60)[:, ::-5]),
            {"n_draws": 1},
            SchemaError,
            "None of 1 draws has variance",
        ),
        (ASKED, {"groups": {"how": ["decoding"]}}, UnknownNameError, "Unknown source 'decoding'"),
    ],
)
def test_responses_that_are_no_balanced_grid_are_refused(frame, options, error, says):
    with pytest.raises(error, match=says):
        share_bootstrap(frame, list(SMALL), **{"n_draws": 5, "rng": np.random.default_rng(0), **options})
