"""Every notebook that reads answers takes a matrix or a table of one's own, at the smallest sizes.

A few of them run in the quick suite (tests/notebooks/test_own_data.py); all together take some minutes.
"""

from pathlib import Path
from typing import Any

import pytest

from benchtrust.compendium import notebooks, profiles, run

READ = [name for name in notebooks.available() if "responses_path" in notebooks.read(name).parameters]
FITTING: dict[str, dict[str, Any]] = {
    "efficiency/adaptive": {"n_held_out": 10},
    "efficiency/saturation": {"ceiling": 0.7},
    "efficiency/subsets": {"n_held_out": 10, "k": 8},
    "efficiency/item_report": {"k": 8},
    "uniformity/plane": {"k_range": [2, 5]},
}
"""Sizes that forty models on thirty items can bear."""
TABLES = ("rank_flips", "flip_or_noise", "envelope", "disclosure_card", "variance", "scoring_path")
WHOLE = {
    "own_matrix": {name for name in READ if name.startswith("efficiency") and "configurations" not in name},
    "own_table": {f"stability/{name}" for name in TABLES},
}
"""Pages of which nothing is left out."""


def smallest(name: str) -> dict[str, Any]:
    """Sizes of the smoke profile, without the names of our models and benchmarks."""
    values = profiles.values("smoke").get(name, {})
    named = {
        key for key, value in values.items() if isinstance(value, str) or (value and isinstance(value, list))
    }
    return {key: value for key, value in values.items() if key not in named} | FITTING.get(name, {})


@pytest.mark.parametrize("kind", ["own_matrix", "own_table"])
@pytest.mark.parametrize("name", READ)
def test_a_page_takes_own_answers(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(kind)
    outcome = run(name, smallest(name) | {"responses_path": str(path)}, "manual", force=True, position=None)
    print(f"{name} on {kind}: {outcome.seconds:.0f} s", *outcome.left_out, sep="\n    ")
    assert outcome.state == "executed"
    if name in WHOLE[kind]:
        assert not outcome.left_out
