"""Variance components and D-studies: published examples, statsmodels, identities, simulations."""

from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, f
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.stability import component_intervals, component_kinds, d_study, d_study_intervals, g_study

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**32 - 1)

BRENNAN_1 = np.array(
    [
        [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    ]
)
"""Persons × items: Brennan, Generalizability Theory (2001), synthetic data set 1."""

BRENNAN_3 = (
    np.array(
        [
            [2, 6, 7, 5, 2, 5, 5, 5],
            [4, 5, 6, 7, 6, 7, 5, 7],
            [5, 5, 4, 6, 5, 4, 5, 5],
            [5, 9, 8, 6, 5, 7, 7, 6],
            [4, 3, 5, 6, 4, 5, 6, 4],
            [4, 4, 4, 7, 6, 4, 7, 8],
            [2, 6, 6, 5, 2, 7, 7, 5],
            [3, 4, 4, 5, 6, 6, 6, 4],
            [0, 5, 4, 5, 5, 5, 5, 3],
            [6, 8, 7, 6, 6, 8, 8, 6],
        ]
    )
    .reshape(10, 2, 4)
    .transpose(0, 2, 1)
)
"""Persons × items × occasions: the same, synthetic data set 3."""


def simulated(sizes: dict[str, int], variances: dict[tuple[str, ...], float], rng) -> np.ndarray:
    """Scores with normal effects of the given variances for sets of facets."""
    scores = np.zeros(tuple(sizes.values()))
    for own, variance in variances.items():
        shape = [n if name in own else 1 for name, n in sizes.items()]
        scores = scores + np.sqrt(variance) * rng.standard_normal(shape)
    return scores


def long(scores: np.ndarray, names: str) -> pd.DataFrame:
    index = pd.MultiIndex.from_product(map(range, scores.shape), names=list(names))
    return pd.Series(scores.ravel(), index=index, name="y").reset_index()


def by_source(study, column="component") -> dict[str, float]:
    return dict(zip(study.components["source"], study.components[column], strict=True))


# ---------------------------------------------------------------- variance components


def test_brennan_s_one_facet_example():
    study = g_study(BRENNAN_1, ["p", "i"])
    assert study.components["df"].tolist() == [9, 11, 99]
    assert study.components["ss"].tolist() == pytest.approx([7.3417, 9.6917, 12.5583], abs=5e-5)
    assert study.components["component"].tolist() == pytest.approx([0.0574, 0.0754, 0.1269], abs=5e-5)
    row = d_study(study, {}).iloc[0]
    assert (row["e_rho2"], row["phi"]) == pytest.approx((0.844, 0.773), abs=5e-4)


def test_brennan_s_two_facet_example():
    study = g_study(BRENNAN_3, ["p", "i", "o"])
    published = {
        "p": (9, 62.20, 0.5528),
        "i": (3, 37.45, 0.4417),
        "o": (1, 3.20, 0.0074),
        "p × i": (27, 56.30, 0.5750),
        "p × o": (9, 12.05, 0.1009),
        "i × o": (3, 7.50, 0.1565),
        "p × i × o": (27, 25.25, 0.9352),
    }
    assert study.components["source"].tolist() == list(published)
    found = study.components[["df", "ss", "component"]].to_numpy()
    assert found == pytest.approx(np.array(list(published.values())), abs=5e-5)
    row = d_study(study, {}).iloc[0]
    assert (row["i"], row["o"]) == (4, 2)
    assert (row["e_rho2"], row["phi"]) == pytest.approx((0.64, 0.55), abs=0.005)


def test_sums_of_squares_are_those_of_statsmodels():
    scores = np.random.default_rng(1).normal(size=(3, 4, 2, 3))
    ours = by_source(g_study(scores, list("abcd")), "ss")
    table = anova_lm(ols("y ~ (C(a) + C(b) + C(c) + C(d))**3", long(scores, "abcd")).fit())["sum_sq"]
    theirs = {
        " × ".join(sorted(term.replace("C(", "").replace(")", "").split(":"))): ss
        for term, ss in table.items()
    }
    theirs["a × b × c × d"] = theirs.pop("Residual")
    assert ours == pytest.approx(theirs)


def test_components_are_the_reml_estimates_of_statsmodels_on_balanced_data():
    variances = {("p",): 1.0, ("i",): 0.6, ("o",): 0.8, ("p", "i"): 0.5, ("p", "o"): 0.4, ("i", "o"): 0.5}
    sizes = {"p": 9, "i": 5, "o": 4}
    scores = simulated(sizes, {**variances, ("p", "i", "o"): 0.5}, np.random.default_rng(11))
    study = g_study(scores, list(sizes))
    assert (study.components["component"] > 0).all()
    formulas = {" × ".join(own): "0 + " + ":".join(f"C({name})" for name in own) for own in variances}
    model = sm.MixedLM.from_formula(
        "y ~ 1", groups=np.ones(scores.size), vc_formula=formulas, data=long(scores, "pio")
    )
    fit = model.fit(reml=True)
    theirs = dict(zip(model.exog_vc.names, fit.vcomp, strict=True)) | {"p × i × o": fit.scale}
    assert by_source(study) == pytest.approx(theirs, rel=2e-3, abs=1e-4)


@few
@given(seeds, st.lists(st.integers(2, 4), min_size=2, max_size=4))
def test_mean_squares_are_those_that_the_components_expect(seed, sizes):
    """Forward: a mean square is the sum over all sources that contain its own, each times its repeats."""
    names = list("abcd")[: len(sizes)]
    study = g_study(np.random.default_rng(seed).normal(size=sizes), names)
    component, ms = by_source(study), by_source(study, "ms")
    for source in ms:
        holders = [s for s in ms if set(source.split(" × ")) <= set(s.split(" × "))]
        repeats = {
            s: prod(n for name, n in study.n_levels.items() if name not in s.split(" × ")) for s in holders
        }
        assert ms[source] == pytest.approx(sum(repeats[s] * component[s] for s in holders))


def test_known_components_are_recovered_without_bias_and_truncation_adds_some():
    names = ["m", "i", "t", "d"]
    sizes = dict(zip(names, (3, 8, 3, 2), strict=True))
    sources = [own for k in range(1, 5) for own in combinations(names, k)]
    variances = dict.fromkeys(sources, 0.0) | {("m",): 0.5, ("i",): 0.3, ("m", "i"): 0.4, ("m", "t"): 0.2}
    variances |= {("m", "i", "t"): 0.3, tuple(names): 0.6}
    rng = np.random.default_rng(2)
    studies = [g_study(simulated(sizes, variances, rng), names).components for _ in range(300)]
    raw, truncated = (np.array([s[column] for s in studies]) for column in ("component", "truncated"))
    error = 4 * raw.std(axis=0) / np.sqrt(len(raw))
    assert (np.abs(raw.mean(axis=0) - np.array(list(variances.values()))) < error).all()
    assert (raw < 0).any(axis=0)[[*range(1, 4)]].all()
    assert (truncated == raw.clip(min=0)).all()
    zero = np.array(list(variances.values())) == 0
    assert (truncated.mean(axis=0)[zero] > 2 * np.abs(raw.mean(axis=0)[zero])).all()


def test_negative_components_are_shown_and_cut_only_in_their_own_row():
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.6]])
    table = g_study(scores, ["p", "i"]).components
    assert table["component"][0] < 0
    assert table["truncated"].tolist() == table["component"].clip(lower=0).tolist()
    assert table["component"][2] == pytest.approx(table["ms"][2])
    assert table["share"].sum() == pytest.approx(1)


@few
@given(seeds, st.floats(-20, 20), st.floats(0.05, 50))
def test_order_of_levels_and_facets_and_the_scale_of_scores(seed, shift, scale):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3, 4, 2))
    study = by_source(g_study(scores, ["m", "i", "t"]))
    mixed = scores[rng.permutation(3)][:, rng.permutation(4)] * scale + shift
    assert by_source(g_study(mixed, ["m", "i", "t"])) == pytest.approx(
        {source: scale**2 * value for source, value in study.items()}, abs=1e-7 * scale**2
    )
    turned = by_source(g_study(scores.transpose(1, 2, 0), ["i", "t", "m"]))
    sets = ({frozenset(s.split(" × ")): v for s, v in one.items()} for one in (study, turned))
    assert next(sets) == pytest.approx(next(sets))


# ---------------------------------------------------------------- D-studies


def cronbach_alpha(scores: np.ndarray) -> float:
    covariance = np.cov(scores, rowvar=False)
    n = len(covariance)
    return n / (n - 1) * (1 - np.trace(covariance) / covariance.sum())


def test_of_one_facet_e_rho2_is_cronbach_s_alpha_and_grows_by_spearman_brown():
    surface = d_study(g_study(BRENNAN_1, ["p", "i"]), {"i": [1, 6, 12, 24]}).set_index("i")["e_rho2"]
    assert surface[12] == pytest.approx(cronbach_alpha(BRENNAN_1))
    for n, found in surface.items():
        assert found == pytest.approx(n * surface[1] / (1 + (n - 1) * surface[1]))


def test_a_surface_holds_every_combination_and_its_error_variances():
    study = g_study(BRENNAN_3, ["p", "i", "o"])
    component = by_source(study)
    surface = d_study(study, {"o": [1, 3], "i": [2, 8, 16]})
    assert surface[["i", "o"]].to_numpy().tolist() == [[2, 1], [2, 3], [8, 1], [8, 3], [16, 1], [16, 3]]
    for row in surface.itertuples():
        relative = component["p × i"] / row.i + component["p × o"] / row.o
        relative += component["p × i × o"] / (row.i * row.o)
        absolute = relative + component["i"] / row.i + component["o"] / row.o
        absolute += component["i × o"] / (row.i * row.o)
        assert row.relative_error == pytest.approx(relative)
        assert row.absolute_error == pytest.approx(absolute)
        assert row.e_rho2 == pytest.approx(component["p"] / (component["p"] + relative))
        assert row.phi == pytest.approx(component["p"] / (component["p"] + absolute))


@few
@given(seeds)
def test_coefficients_grow_with_every_number_and_phi_never_exceeds_e_rho2(seed):
    variances = {("m",): 1.0, ("i",): 0.5, ("m", "i"): 0.7, ("m", "t"): 0.4, ("m", "i", "t"): 1.0}
    scores = simulated({"m": 4, "i": 6, "t": 3}, variances, np.random.default_rng(seed))
    surface = d_study(g_study(scores, ["m", "i", "t"]), {"i": [1, 5, 100], "t": [1, 3, 50]})
    surface = surface.fillna({"e_rho2": 0, "phi": 0})
    assert surface[["e_rho2", "phi"]].to_numpy().min() >= 0
    assert (surface["phi"] <= surface["e_rho2"] + 1e-12).all()
    for name, other in (("i", "t"), ("t", "i")):
        for _, own in surface.sort_values(name).groupby(other):
            assert (own[["e_rho2", "phi"]].diff().dropna() >= -1e-12).to_numpy().all()


def test_a_model_component_of_zero_gives_a_coefficient_of_zero():
    study = g_study(np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.6]]), ["p", "i"])
    assert d_study(study, {"i": [1, 1000]})["e_rho2"].tolist() == [0, 0]


def test_no_variance_of_models_and_no_error_leave_the_coefficient_undefined():
    study = g_study(np.tile([0.0, 1.0, 0.5], (3, 1)), ["m", "i"])
    row = d_study_intervals(study, {}, 50, np.random.default_rng(0)).iloc[0]
    assert np.isnan(row["e_rho2"])
    assert (row["e_rho2_low"], row["e_rho2_high"]) == (0, 1)
    assert (row["phi"], row["phi_low"], row["phi_high"]) == (0, 0, 0)


# ---------------------------------------------------------------- intervals


def test_the_highest_interaction_has_the_exact_chi_square_interval():
    study = g_study(BRENNAN_3, ["p", "i", "o"])
    found = component_intervals(study, 200_000, np.random.default_rng(1), level=0.9).iloc[-1]
    exact = 25.25 / chi2.ppf([0.95, 0.05], 27)
    assert (found["low"], found["high"]) == pytest.approx(tuple(exact), rel=0.01)


def test_e_rho2_of_one_facet_has_feldt_s_exact_interval():
    study = g_study(BRENNAN_1, ["p", "i"])
    found = d_study_intervals(study, {}, 200_000, np.random.default_rng(1)).iloc[0]
    exact = 1 - (1 - found["e_rho2"]) * f.ppf([0.975, 0.025], 9, 99)
    assert (found["e_rho2_low"], found["e_rho2_high"]) == pytest.approx(tuple(exact), abs=0.004)
    assert found["phi_low"] < found["phi"] < found["phi_high"]


def test_intervals_of_three_models_cover_and_are_wide():
    variance = 0.3
    variances = {("m",): variance, ("i",): 0.5, ("m", "i"): 0.3, ("m", "t"): 0.05, ("m", "i", "t"): 0.8}
    rng = np.random.default_rng(3)
    universe = variance / (variance + 0.3 / 12 + 0.05 / 4 + 0.8 / 48)
    covered, reach = [], []
    for _ in range(200):
        study = g_study(simulated({"m": 3, "i": 12, "t": 4}, variances, rng), ["m", "i", "t"])
        model = component_intervals(study, 300, rng, level=0.9).iloc[0]
        surface = d_study_intervals(study, {}, 300, rng, level=0.9).iloc[0]
        covered.append(
            [
                model["low"] <= variance <= model["high"],
                surface["e_rho2_low"] <= universe <= surface["e_rho2_high"],
            ]
        )
        reach.append(model["high"] / max(model["component"], 1e-9))
    assert ((np.mean(covered, axis=0) > 0.85) & (np.mean(covered, axis=0) < 0.97)).all()
    assert np.median(reach) > 15


def test_intervals_are_cut_at_zero_and_depend_on_the_seed_alone():
    study = g_study(np.random.default_rng(5).normal(size=(3, 6, 4)), ["m", "i", "t"])
    one, two, other = (component_intervals(study, 500, np.random.default_rng(s)) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert one["high"].tolist() != other["high"].tolist()
    assert (one["low"] >= 0).all()
    assert (one["low"] == 0).any()


def test_intervals_stand_beside_the_surface_of_the_d_study():
    study = g_study(np.random.default_rng(6).normal(size=(3, 6, 4)), ["m", "i", "t"])
    assert (study.components["component"] < 0).any()
    surface = d_study(study, {"i": [1, 10]})
    table = d_study_intervals(study, {"i": [1, 10]}, 50, np.random.default_rng(0))
    pd.testing.assert_frame_equal(table[surface.columns], surface)


# ---------------------------------------------------------------- responses, and what is refused


def responses() -> pd.DataFrame:
    """Answers of 3 models to 5 items under 2 templates and 2 shots."""
    index = pd.MultiIndex.from_product(
        [["c", "a", "b"], ["minimal", "role"], ["0", "3"], [f"i{j}" for j in range(5)]],
        names=["model", "template", "shots", "item_id"],
    )
    frame = index.to_frame(index=False)
    score = np.random.default_rng(0).integers(0, 2, len(frame)).astype(float)
    cell = frame["model"] + frame["template"] + frame["shots"]
    return frame.assign(benchmark="bbq", cell_id=cell, outcome="scored", score=score)


FRAME = responses()


def test_responses_give_the_study_of_their_array_in_any_order():
    answers = FRAME["score"].to_numpy().reshape(3, 2, 2, 5).transpose(0, 3, 1, 2)
    facets = ["model", "item_id", "template", "shots"]
    expected = g_study(answers, facets)
    found = g_study(FRAME.sample(frac=1, random_state=1), facets)
    pd.testing.assert_frame_equal(found.components, expected.components)
    assert found.n_levels == {"model": 3, "item_id": 5, "template": 2, "shots": 2}


def test_any_subset_of_the_facets_can_be_crossed():
    one = FRAME[(FRAME["template"] == "role") & (FRAME["shots"] == "3")]
    study = g_study(one, ["model", "item_id"])
    assert study.components["source"].tolist() == ["model", "item_id", "model × item_id"]
    with pytest.raises(SchemaError, match="add template"):
        g_study(FRAME, ["model", "item_id"])


def test_unparsed_answers_count_as_zero():
    unparsed = FRAME.index % 7 == 0
    gaps = FRAME.assign(score=FRAME["score"].mask(unparsed), outcome=np.where(unparsed, "unparsed", "scored"))
    zeros = FRAME.assign(score=FRAME["score"].mask(unparsed, 0.0))
    facets = ["model", "item_id", "template", "shots"]
    pd.testing.assert_frame_equal(g_study(gaps, facets).components, g_study(zeros, facets).components)


HOLE = np.arange(24.0).reshape(3, 4, 2)
HOLE[1, 2, 0] = np.nan


@pytest.mark.parametrize(
    ("items", "facets", "says"),
    [
        (FRAME[1:], ["model", "item_id", "template", "shots"], "'i0' at model='c', template='minimal'"),
        (FRAME, ["model", "template", "shots"], "lack 'item_id'"),
        (FRAME, ["model"], "two or more"),
        (FRAME, ["model", "item_id", "model"], "each once"),
        (FRAME[FRAME["shots"] == "0"], ["model", "item_id", "template", "shots"], "'shots' has 1 level"),
        (HOLE, ["m", "i", "t"], r"No score at m=1, i=2, t=0 \(and 0 more"),
        (HOLE, ["m", "i"], "an axis for each"),
        (np.full((3, 4), 0.5), ["m", "i"], "All 12 scores are 0.5"),
        (np.ones((1, 4)), ["m", "i"], "'m' has 1 level"),
    ],
)
def test_designs_that_are_not_fully_crossed_are_refused(items, facets, says):
    with pytest.raises(SchemaError, match=says):
        g_study(items, facets)


@pytest.mark.parametrize(
    ("n_levels", "error", "says"),
    [
        ({"p": [3]}, UnknownNameError, "Unknown facet 'p'. Valid: i, o"),
        ({"i": []}, SchemaError, "whole numbers"),
        ({"i": [0, 4]}, SchemaError, "whole numbers"),
        ({"o": [2.5]}, SchemaError, "whole numbers"),
    ],
)
def test_numbers_that_no_study_can_have_are_refused(n_levels, error, says):
    with pytest.raises(error, match=says):
        d_study(g_study(BRENNAN_3, ["p", "i", "o"]), n_levels)


def test_components_are_added_up_by_what_they_do_to_a_ranking():
    rng = np.random.default_rng(5)
    facets = ["model", "item_id", "template", "shots"]
    study = g_study(rng.normal(size=(3, 5, 4, 3)), facets)
    kinds = component_kinds(study).set_index("kind")
    own = study.components.set_index("source")["truncated"]
    configuration = own[["model × template", "model × shots", "model × template × shots"]].sum()
    assert kinds.loc["model × configuration", "component"] == pytest.approx(configuration)
    assert kinds.loc["model", "component"] == own["model"]
    assert kinds.loc["model × item", "component"] == own["model × item_id"]
    assert kinds["component"].sum() == pytest.approx(own.sum())
    assert kinds["share"].sum() == pytest.approx(1)
    with pytest.raises(SchemaError, match="lack 'item_id'"):
        component_kinds(g_study(rng.normal(size=(3, 4)), ["model", "template"]))
