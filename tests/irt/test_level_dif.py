"""DIF by level: the same test as Mantel–Haenszel, and a null that keeps what hangs together."""

import numpy as np
import pandas as pd
import pytest

from benchtrust.errors import SchemaError
from benchtrust.irt import level_dif, mantel_haenszel, simulate

LEVELS, BLOCKS, TWINS = 3, 16, 3
"""In each block every level has twins: three respondents with nearly the same answers."""


def design():
    rows = [(block, level, twin) for block in range(BLOCKS) for level in "pqr" for twin in range(TWINS)]
    return pd.DataFrame(rows, columns=["block", "level", "twin"])


def answers(seed, harder=0.0, shift=0.0, n_items=20):
    """Answers of twins; the first item is harder by `harder` at level p, all items by `shift` there."""
    rng, rows = np.random.default_rng(seed), design()
    once = rows[rows["twin"] == 0]
    items = pd.DataFrame({"a": 1.2, "b": rng.uniform(-1, 1, n_items)}, [f"i{j}" for j in range(n_items)])
    theta = pd.Series(rng.standard_normal(len(once)) - shift * (once["level"] == "p").to_numpy(), once.index)
    made = simulate(theta, items, rng)
    own = simulate(theta, items.assign(b=items["b"] + harder * (items.index == "i0")), rng)
    p = (once["level"] == "p").to_numpy()
    made[p] = own[p]
    twins = made.loc[made.index.repeat(TWINS)].reset_index(drop=True)
    noise = rng.random(twins.shape) < 0.05
    return twins.where(~noise, 1 - twins), rows["level"], rows["block"]


def test_the_observed_test_is_mantel_haenszels():
    matrix, levels, blocks = answers(1, harder=2.0)
    found = level_dif(matrix, levels, blocks, 20, np.random.default_rng(0)).items.set_index("item")
    table = mantel_haenszel(matrix, dict(zip(matrix.index, levels, strict=True)))
    table = table.assign(z=np.sign(table["delta"]) * np.sqrt(_chi2(table["p"])))
    own = table.loc[table.groupby("item")["p"].idxmin()].set_index("item").loc[found.index]
    plain = own["p"] < 0.3
    assert plain.sum() > 5
    assert (found.loc[plain, "level"] == own.loc[plain, "family"]).all()
    assert np.allclose(found.loc[plain, "z"], own.loc[plain, "z"])
    flagged = table.groupby("item")["p_adjusted"].min() <= 0.05
    assert level_dif(matrix, levels, blocks, 5, np.random.default_rng(0)).n_flagged == flagged.sum()


def _chi2(p):
    from scipy.stats import chi2

    return chi2.isf(p, 1)


def test_an_item_that_a_level_changes_is_found_by_name_and_direction():
    found = level_dif(*answers(2, harder=3.0), 300, np.random.default_rng(1))
    top = found.items.iloc[0]
    assert (top["item"], top["level"]) == ("i0", "p")
    assert top["z"] < 0
    assert top["p"] < 0.02
    assert (found.items["p"].iloc[1:] > 0.05).all()
    assert found.n_respondents == BLOCKS * LEVELS * TWINS


def test_twins_flag_items_that_the_exchange_of_labels_does_not():
    """Respondents taken as independent flag items without DIF; the null flags as many."""
    found = [level_dif(*answers(seed), 60, np.random.default_rng(seed)) for seed in range(30)]
    assert np.mean([one.n_flagged for one in found]) > 1
    assert np.mean([one.p <= 0.1 for one in found]) <= 0.25
    assert np.mean([one.items["p"].min() <= 0.1 for one in found]) <= 0.25


def test_a_level_that_is_harder_throughout_changes_few_items():
    found = [level_dif(*answers(seed, shift=1.0), 60, np.random.default_rng(seed)) for seed in range(20)]
    assert np.mean([one.items["p"].min() <= 0.05 for one in found]) <= 0.3


def test_labels_are_exchanged_within_blocks_only():
    """With one block a level each there is nothing to exchange."""
    matrix, levels, _ = answers(3)
    with pytest.raises(SchemaError, match="no block has two"):
        level_dif(matrix, levels, levels, 5, np.random.default_rng(0))


def test_respondents_without_a_level_are_left_out():
    matrix, levels, blocks = answers(4)
    some = levels.where(levels != "r")
    found = level_dif(matrix, some, blocks, 20, np.random.default_rng(0))
    kept = levels != "r"
    alone = level_dif(matrix[kept], levels[kept], blocks[kept], 20, np.random.default_rng(0))
    pd.testing.assert_frame_equal(found.items, alone.items)
    assert found.n_respondents == kept.sum()


def test_items_that_all_answer_alike_are_counted_not_tested():
    matrix, levels, blocks = answers(5)
    found = level_dif(matrix.assign(i0=1.0), levels, blocks, 5, np.random.default_rng(0))
    assert found.n_not_estimable == 1
    assert "i0" not in set(found.items["item"])


def test_bad_input_is_named():
    matrix, levels, blocks = answers(6)
    holed = matrix.astype(float)
    holed.iloc[0, 0] = np.nan
    with pytest.raises(SchemaError, match="1 answers are missing"):
        level_dif(holed, levels, blocks, 5, np.random.default_rng(0))
    with pytest.raises(SchemaError, match="3 levels"):
        level_dif(matrix, levels[:3], blocks, 5, np.random.default_rng(0))
