"""An exported subset scores models from the file alone, as it scored them where it was chosen."""

import hashlib
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from benchtrust import irt
from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.irt import export_subset, score_exported, select_items, subset_scores
from benchtrust.irt.export import COLUMNS, answers_hash
from benchtrust.irt.subsets import FISHER, METHODS

pytestmark = pytest.mark.filterwarnings("ignore::benchtrust.errors.FewRespondentsWarning")


@pytest.fixture(scope="module")
def made(bank):
    """Answers to items whose names look like numbers, and new models with gaps."""
    old = bank(2, 60, 40).matrix.rename(columns=lambda name: f"00{name[1:]}")
    new = bank(3, 9, 40, missing=0.2).matrix.set_axis(old.columns, axis=1)
    return old, new, irt.calibrate(old)


def chosen(made, method, k=12):
    return select_items(made[0], k, method, made[2], np.random.default_rng(5))


def written_and_read(table):
    return pd.read_csv(StringIO(table.to_csv(index=False)), dtype={"item": str})


@pytest.mark.parametrize("method", METHODS)
def test_the_file_alone_scores_new_models_as_the_subset_does(made, method):
    old, new, calibration = made
    subset = chosen(made, method)
    table = written_and_read(export_subset(old, subset, calibration))
    found = score_exported(new, table)
    expected = subset_scores(new, subset, calibration.items)
    pd.testing.assert_series_equal(found[expected.name], expected, check_exact=True)
    np.testing.assert_array_equal(found["n_answers"], new[list(subset.items)].notna().sum(axis=1))
    assert ("se" in found) == (method in FISHER)


def test_the_table_says_what_it_is(made):
    old, _, calibration = made
    table = export_subset(old, chosen(made, "anchor_points"), calibration)
    assert tuple(table) == COLUMNS
    assert table["weight"].sum() == pytest.approx(1)
    constant = table[["method", "n_pool", "n_respondents", "answers_sha256"]].drop_duplicates()
    assert constant.to_numpy().tolist() == [["anchor_points", 40, 60, answers_hash(old)]]


def test_the_hash_is_of_the_answers_as_csv(made):
    old = made[0]
    text = StringIO()
    old.astype(int).to_csv(text, index_label="respondent", lineterminator="\n")
    assert answers_hash(old) == hashlib.sha256(text.getvalue().encode()).hexdigest()
    other = old.copy()
    other.iloc[3, 4] = 1 - other.iloc[3, 4]
    missing = old.copy()
    missing.iloc[3, 4] = np.nan
    assert len({answers_hash(frame) for frame in (old, other, missing, old.iloc[::-1])}) == 4


def test_items_set_aside_go_without_parameters_where_the_score_needs_none(made):
    old, new, _ = made
    old = old.assign(**{"000": 1.0})
    subset = select_items(old, 40, "random", rng=np.random.default_rng(0))
    table = written_and_read(export_subset(old, subset, irt.calibrate(old)))
    assert table.loc[table["item"] == "000", ["a", "b"]].isna().all(axis=None)
    assert score_exported(new, table)["score"].tolist() == pytest.approx(new.mean(axis=1).tolist())


def test_a_fisher_subset_needs_its_own_calibration(made):
    old, _, _ = made
    subset = chosen(made, "marginal_fisher")
    with pytest.raises(SchemaError, match="without parameters"):
        export_subset(old, subset, irt.calibrate(old.drop(columns=subset.items[0])))
    with pytest.raises(SchemaError, match="not in the matrix"):
        export_subset(old.drop(columns=subset.items[0]), subset, made[2])


def test_a_file_that_was_changed_is_refused(made):
    table = export_subset(made[0], chosen(made, "disco"), made[2])
    for changed, said in (
        (table.iloc[:-1], "sum to 0.91"),
        (table.drop(columns=["method"]), "lacks method"),
        (table.assign(method=["random", *table["method"][1:]]), "one method"),
        (table.assign(item=table["item"].iloc[0]), "stand twice"),
        (table.iloc[:0], "no row"),
    ):
        with pytest.raises(SchemaError, match=said):
            score_exported(made[1], changed)
    with pytest.raises(UnknownNameError, match="Did you mean disco"):
        score_exported(made[1], table.assign(method="discos"))


@pytest.mark.parametrize("method", ["total_fisher", "disco"])
def test_models_that_were_not_asked_all_of_it_are_refused(made, method):
    table = export_subset(made[0], chosen(made, method), made[2])
    with pytest.raises(SchemaError, match="1 items of the subset are not in the matrix"):
        score_exported(made[1].drop(columns=table["item"][0]), table)
