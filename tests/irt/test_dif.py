"""Mantel–Haenszel: a published table, symmetry, and items with and without a difference."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.irt import mantel_haenszel, simulate
from benchtrust.irt.dif import _one_item
from benchtrust.irt.item_fit import NOT_ESTIMABLE

BERKELEY = np.array(
    [
        [[512, 313], [89, 19]],
        [[353, 207], [17, 8]],
        [[120, 205], [202, 391]],
        [[138, 279], [131, 244]],
        [[53, 138], [94, 299]],
        [[22, 351], [24, 317]],
    ]
)
"""Admitted and rejected men and women of six departments (Bickel, Hammel & O'Connell 1975)."""


def families_of(matrix, n_family):
    return dict(zip(matrix.index, ["own"] * n_family + ["rest"] * (len(matrix) - n_family), strict=True))


@pytest.fixture
def two_families(bank):
    """120 respondents of two families, 30 items; the first is harder for the first family by `shift`."""

    def make(seed, shift, n_family=40):
        made = bank(seed, 120, 30, spread=0.2)
        items = made.items.assign(b=np.linspace(-1, 1, 30))
        rng = np.random.default_rng(seed)
        theta = made.abilities["theta"].to_numpy() - 0.5 * (np.arange(120) < n_family)
        answers = simulate(pd.Series(theta, made.matrix.index), items, rng)
        harder = items.assign(b=items["b"] + shift * (items.index == "i0"))
        own = simulate(pd.Series(theta, made.matrix.index), harder, rng)
        answers.iloc[:n_family] = own.iloc[:n_family]
        return answers, families_of(answers, n_family)

    return make


def test_the_admissions_of_berkeley():
    """R: ``mantelhaen.test(UCBAdmissions)`` gives odds of .9046968, and p = .2323 for X² = 1.4269."""
    rows = [
        (sex, answer, department)
        for department, table in enumerate(BERKELEY)
        for sex in (0, 1)
        for answer in (1, 0)
        for _ in range(table[sex, 1 - answer])
    ]
    women, admitted, department = np.array(rows).T
    delta, se, p, note = _one_item(women == 1, admitted.astype(float), department)
    assert delta == pytest.approx(-2.35 * np.log(0.9046968), abs=1e-6)
    assert p == pytest.approx(0.2323, abs=1e-4)
    ends = np.exp(np.log(0.9046968) + np.array([-1, 1]) * 1.959964 * se / 2.35)
    assert ends == pytest.approx([0.7719074, 1.0603298], abs=1e-6)
    assert note == ""


def test_an_item_that_is_harder_for_a_family_is_found(two_families):
    answers, families = two_families(1, 2.5)
    found = mantel_haenszel(answers, families).query("family == 'own'").set_index("item")
    assert found.loc["i0", "delta"] < -1.5
    assert found.loc["i0", "p_adjusted"] < 0.01
    assert found.loc["i0", "ets"] == "C"
    assert (found.drop("i0")["p_adjusted"] < 0.05).sum() == 0
    assert found["n_family"].iloc[0] == 40
    assert found["n_others"].iloc[0] == 80


def test_without_a_difference_few_items_are_significant(two_families):
    p = pd.concat([mantel_haenszel(*two_families(seed, 0.0))["p"] for seed in range(10)])
    assert 0.01 < (p < 0.05).mean() < 0.08


def test_two_families_see_opposite_differences(two_families):
    found = mantel_haenszel(*two_families(2, 1.0)).pivot(index="item", columns="family", values="delta")
    np.testing.assert_allclose(found["own"], -found["rest"], atol=1e-9)


def test_small_families_are_among_the_others_only(two_families):
    answers, families = two_families(3, 0.0)
    families |= dict.fromkeys(answers.index[-7:], "seven")
    found = mantel_haenszel(answers, families)
    assert set(found["family"]) == {"own", "rest"}
    assert (found["n_family"] + found["n_others"] == 120).all()


def test_what_cannot_be_estimated_is_said(two_families):
    answers, families = two_families(4, 0.0)
    answers["i3"] = 1.0
    answers.loc[answers.index[50], "i3"] = 0.0
    answers.loc[answers.index[:40], "i5"] = 1.0
    found = mantel_haenszel(answers, families).query("family == 'own'").set_index("item")
    assert found.loc["i3", "note"] == NOT_ESTIMABLE
    assert found.loc["i3", ["delta", "se", "p", "p_adjusted"]].isna().all()
    assert found.loc["i5", "delta"] == np.inf
    assert np.isnan(found.loc["i5", "se"])
    assert found.loc["i5", "ets"] == ""
    assert found.loc["i5", "p"] < 0.05


def test_classes_follow_their_definition(two_families):
    found = mantel_haenszel(*two_families(5, 1.2)).query("note == '' and ets != ''")
    size, beyond = found["delta"].abs(), (found["delta"].abs() - 1) / found["se"] > 1.6449
    is_a = (size < 1) | (found["p"] >= 0.05)
    assert (found["ets"] == "A").equals(is_a)
    assert (found["ets"] == "C").equals(~is_a & (size >= 1.5) & beyond)


def test_bad_input_is_refused(bank):
    made = bank(6, 20, 5)
    with pytest.raises(SchemaError, match="no family"):
        mantel_haenszel(made.matrix, {"m0": "own"})
    seven = families_of(made.matrix, 7) | dict.fromkeys(made.matrix.index[7:], "rest")
    with pytest.raises(SchemaError, match="No family of 8"):
        mantel_haenszel(made.matrix, seven)
    made.matrix.loc["m1"] = np.nan
    with pytest.raises(SchemaError, match="5 answers are missing"):
        mantel_haenszel(made.matrix, families_of(made.matrix, 10))
