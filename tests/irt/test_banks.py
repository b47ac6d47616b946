"""Made-up banks: drawn as asked, one trait or several, and what is read off several of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.irt import Population, agreement_on_banks, savings_on_banks

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")
LARGE = Population(20_000, 4000, 0.92, 2.0, 0.7, 1.5)
SMALL = Population(60, 30, 0.5, 2.0, 0.6, 1.5)


@pytest.mark.parametrize("cv", [0.0, 0.25, 0.92])
def test_items_have_mean_discrimination_one_and_the_spreads_asked_for(cv):
    items = replace(LARGE, cv=cv).items(np.random.default_rng(0))
    assert items["a"].mean() == pytest.approx(1, abs=0.03)
    assert items["a"].std() == pytest.approx(cv, abs=0.05)
    assert items["b"].std() == pytest.approx(1.5, abs=0.03)


@pytest.mark.parametrize(("spread", "mean_score"), [(0.5, 0.9), (2.0, 0.7), (4.0, 0.3)])
def test_models_score_as_asked_for_on_the_mean(spread, mean_score):
    population = Population(500, 8000, 0.92, spread, mean_score, 1.5)
    rng = np.random.default_rng(1)
    items, abilities = population.items(rng), population.abilities(rng)
    assert abilities[0].std() == pytest.approx(spread, rel=0.04)
    scores = population.answers(items, abilities, rng).mean(axis=1)
    assert scores.mean() == pytest.approx(mean_score, abs=5 * scores.std() / np.sqrt(len(scores)))


@pytest.mark.parametrize("correlation", [0.0, 0.6, 1.0])
def test_abilities_in_two_domains_correlate_as_asked_for(correlation):
    population = replace(LARGE, n_domains=3, correlation=correlation)
    abilities = population.abilities(np.random.default_rng(0))
    assert abilities.corr().to_numpy()[np.triu_indices(3, 1)] == pytest.approx(correlation, abs=0.06)
    assert abilities.std().to_numpy() == pytest.approx(2, abs=0.1)


def test_an_item_is_answered_by_the_ability_in_its_own_domain():
    population = Population(8, 50, 0.0, 1.0, 0.5, 0.0, n_domains=2, correlation=0.0)
    rng = np.random.default_rng(0)
    abilities = pd.DataFrame({0: np.full(50, 40.0), 1: np.full(50, -40.0)})
    answers = population.answers(population.items(rng), abilities, rng)
    assert answers.columns.tolist() == list(range(8))
    assert answers.mean().tolist() == [1, 0] * 4


def test_a_bank_is_the_same_however_many_follow():
    one, three = (
        agreement_on_banks(SMALL, ["adaptive", "random"], [2, 20], n, 2, 6, np.random.default_rng(5))
        for n in (1, 3)
    )
    pd.testing.assert_frame_equal(one, three[three["bank"] == 0])
    assert three.groupby("bank")["agreement"].mean().nunique() == 3


def test_knowing_the_parameters_changes_what_they_enter_and_nothing_else():
    found = [
        agreement_on_banks(SMALL, ["random", "adaptive"], [5], 4, 3, 6, np.random.default_rng(2), known=known)
        for known in (False, True)
    ]
    calibrated, known = (frame.set_index("method")["agreement"] for frame in found)
    assert calibrated["random"].tolist() == known["random"].tolist()
    assert calibrated["adaptive"].tolist() != known["adaptive"].tolist()


def test_known_abilities_are_those_that_answered():
    """With sharp items and the truth known, on the scale of the prior, a few items order the models."""
    population = Population(400, 40, 0.0, 20.0, 0.5, 20.0)
    splits = agreement_on_banks(population, ["adaptive"], [8], 3, 2, 10, np.random.default_rng(0), known=True)
    assert splits["agreement"].min() > 0.95


def test_several_traits_have_no_one_true_ability():
    population = replace(SMALL, n_domains=4, correlation=0.5)
    with pytest.raises(SchemaError, match="4 traits"):
        agreement_on_banks(population, ["adaptive"], [5], 1, 1, 6, np.random.default_rng(0), known=True)


def test_savings_come_from_the_mean_and_their_ends_from_single_banks():
    agreement = {0: [0.7, 0.95, 0.96], 1: [0.9, 0.9, 0.9], 2: [0.8, 0.85, 0.89]}
    rows = [
        {"bank": bank, "method": "random", "size": size, "agreement": value}
        for bank, values in agreement.items()
        for size, value in zip([1, 10, 50], values, strict=True)
    ]
    splits = pd.DataFrame([*rows, rows[0] | {"agreement": np.nan}])
    found = savings_on_banks(splits, 100).iloc[0]
    assert found.to_dict() == {
        "method": "random",
        "k_star": 10,
        "saved": pytest.approx(0.9),
        "low": 0.0,
        "high": pytest.approx(0.99),
        "n_banks": 3,
        "n_undefined": 1,
    }


@pytest.mark.parametrize(
    "fault", [{"cv": -0.1}, {"spread": 0.0}, {"mean_score": 1.0}, {"n_domains": 0}, {"correlation": 1.2}]
)
def test_values_out_of_range_are_refused(fault):
    with pytest.raises(SchemaError, match="ranges of the docstring"):
        replace(SMALL, **fault)
