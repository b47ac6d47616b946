"""MMLU letter logits as responses: a made-up file by hand, faults, and the pinned file by another path."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from benchtrust import responses, stability
from benchtrust.errors import SchemaError, UnknownNameError
from benchtrust.items.sources import locate
from benchtrust.public import mmlu_logits
from benchtrust.public.mmlu_logits import EXEMPLARS, FILE

external = pytest.mark.external(FILE)
SIX, FOUR = mmlu_logits.READINGS
CONFIGS = ["outputs_base|a|base_icl1", "outputs_chat_v1|b|task_icl1", "outputs_chat_v2|b|task_icl1"]
PUBLISHED = {
    "Qwen-14B": 64.25,
    "Yi-6B": 57.57,
    "Mistral-7B-v0.1": 60.44,
    "Llama-2-13b-hf": 52.52,
    "Qwen-7B": 55.21,
    "internlm-7b": 48.37,
    "Llama-2-7b-hf": 45.60,
    "deepseek-llm-7b-base": 45.65,
    "mpt-7b": 29.49,
    "falcon-7b": 23.75,
}
"""Accuracy in per cent by the README of LLM-Uncertainty-Bench: three styles, the test half of the items."""


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Three configurations of two models, twelve items: item 0 lacks a key, five are exemplars."""
    logits = np.zeros((3, 12, 6), dtype="float32")
    logits[0, :, 2] = 1
    logits[1, :, 4], logits[1, :, 1] = 2, 1
    logits[2, :, 3] = logits[2, :, 5] = 1
    gold = np.array([-1, *[2] * 9, 1, 3], dtype="int8")
    subject = np.array(["", *["law"] * 11])
    return {"logits": logits, "configs": np.array(CONFIGS), "gold": gold, "subject": subject}


def read(arrays: dict[str, np.ndarray], folder: Path, models=()) -> pd.DataFrame:
    path = folder / "logits.npz"
    np.savez(path, **arrays)
    return mmlu_logits.load(models, path)


def cell(frame: pd.DataFrame, model: str, template: str, reading: str) -> pd.DataFrame:
    own = (frame["model"] == model) & (frame["template"] == template) & (frame["scoring"] == reading)
    return frame[own].set_index("item_id")


def test_the_best_letter_is_the_answer(arrays, tmp_path):
    frame = read(arrays, tmp_path)
    kept = [f"mmlu-10k-{i}" for i in (2, 4, 6, 8, 10, 11)]
    assert list(cell(frame, "a", "base, plain", SIX).index) == kept
    assert cell(frame, "a", "base, plain", SIX)["score"].tolist() == [1, 1, 1, 1, 0, 0]
    assert cell(frame, "b", "task, chat", SIX)["choice"].eq(4).all()
    assert cell(frame, "b", "task, chat", SIX)["score"].eq(0).all()


def test_with_four_letters_e_and_f_are_no_options(arrays, tmp_path):
    frame = read(arrays, tmp_path)
    assert cell(frame, "b", "task, chat", FOUR)["choice"].eq(1).all()
    assert cell(frame, "b", "task, chat", FOUR)["score"].tolist() == [0, 0, 0, 0, 1, 0]
    assert cell(frame, "a", "base, plain", FOUR)["choice"].eq(2).all()


def test_a_tie_goes_to_the_first_letter_and_is_counted(arrays, tmp_path):
    frame = read(arrays, tmp_path)
    assert cell(frame, "b", "task, plain", SIX)["choice"].eq(3).all()
    assert cell(frame, "b", "task, plain", SIX)["near_ties"].eq(1).all()
    assert cell(frame, "b", "task, plain", FOUR)["near_ties"].eq(0).all()
    arrays["logits"][2, :, 5] -= 9e-4
    assert cell(read(arrays, tmp_path), "b", "task, plain", SIX)["near_ties"].eq(1).all()
    arrays["logits"][2, :, 5] -= 2e-4
    assert cell(read(arrays, tmp_path), "b", "task, plain", SIX)["near_ties"].eq(0).all()


def test_items_without_a_key_and_exemplars_are_left_out_and_counted(arrays, tmp_path):
    frame = read(arrays, tmp_path)
    assert frame.attrs == {"n_no_key": 1, "n_exemplars": 5}
    asked = {int(name.removeprefix("mmlu-10k-")) for name in frame["item_id"]}
    assert not asked & {0, *EXEMPLARS}
    arrays["gold"][3] = -1
    assert read(arrays, tmp_path).attrs == {"n_no_key": 2, "n_exemplars": 4}


def test_the_table_fits_the_schema(arrays, tmp_path):
    frame = read(arrays, tmp_path)
    assert list(frame) == list(responses.COLUMNS)
    valid = responses.validate(frame)
    assert len(valid) == 3 * 2 * 6
    assert valid["cell_id"].nunique() == 6
    assert set(valid["part"]) == {"law"}
    assert (valid["decoding"] == "none").all()
    assert (valid["shots"] == 5).all()


def test_models_can_be_chosen(arrays, tmp_path):
    assert set(read(arrays, tmp_path, ["B"])["model"]) == {"b"}
    with pytest.raises(UnknownNameError, match="Unknown model 'c'"):
        read(arrays, tmp_path, ["c"])


@pytest.mark.parametrize("name", ["logits", "configs", "gold", "subject"])
def test_a_missing_array_is_named(arrays, tmp_path, name):
    del arrays[name]
    with pytest.raises(SchemaError, match=f"array '{name}' is missing"):
        read(arrays, tmp_path)


@pytest.mark.parametrize("name", ["logits", "configs", "gold", "subject"])
def test_arrays_must_fit_each_other(arrays, tmp_path, name):
    arrays[name] = arrays[name][:-1] if name != "logits" else arrays[name][:, :, :4]
    with pytest.raises(SchemaError, match="do not fit"):
        read(arrays, tmp_path)


def test_an_array_must_have_its_axes(arrays, tmp_path):
    arrays["gold"] = arrays["gold"][None]
    with pytest.raises(SchemaError, match=r"array 'gold' is of shape \(1, 12\)"):
        read(arrays, tmp_path)


@pytest.mark.parametrize(
    "label", ["outputs_chat_v3|b|task_icl1", "outputs_base|b|fancy_icl1", "outputs_base||base_icl1", "b"]
)
def test_an_unknown_configuration_is_named(arrays, tmp_path, label):
    arrays["configs"][1] = label
    with pytest.raises(SchemaError, match=r"is not 'group\|model\|style_icl1'"):
        read(arrays, tmp_path)


def test_logits_must_be_finite(arrays, tmp_path):
    arrays["logits"][1, 2, 3] = np.nan
    with pytest.raises(SchemaError, match="not finite"):
        read(arrays, tmp_path)


def test_probabilities_are_a_softmax_over_the_letters_that_count(arrays, tmp_path):
    path = tmp_path / "logits.npz"
    np.savez(path, **arrays)
    four, six = (mmlu_logits.probabilities(reading=reading, path=path) for reading in (FOUR, SIX))
    e = np.exp(1)
    assert four.values[0, 0] == pytest.approx(np.array([1, 1, e, 1]) / (3 + e))
    assert six.values[1, 0] == pytest.approx(np.array([1, e, 1, 1, e**2, 1]) / (4 + e + e**2))
    assert four.values.shape == (3, 6, 4)
    assert four.configurations.to_numpy().tolist() == [
        ["a", "base", "plain"],
        ["b", "task", "chat"],
        ["b", "task", "plain"],
    ]
    assert four.items.index.tolist() == [f"mmlu-10k-{i}" for i in (2, 4, 6, 8, 10, 11)]
    assert four.items["key"].tolist() == [2, 2, 2, 2, 1, 3]
    assert four.items["subject"].eq("law").all()


@pytest.mark.parametrize("reading", [SIX, FOUR])
def test_probabilities_score_as_the_responses_do(arrays, tmp_path, reading):
    arrays["logits"] = np.random.default_rng(0).normal(size=arrays["logits"].shape).astype("float32")
    frame = read(arrays, tmp_path)
    found = mmlu_logits.probabilities(reading=reading, path=tmp_path / "logits.npz")
    for place, row in enumerate(found.configurations.itertuples()):
        own = cell(frame, row.model, f"{row.style}, {row.format}", reading)
        assert own.index.equals(found.items.index)
        assert (own["score"].to_numpy() == found.scores[place]).all()
        assert (own["choice"].to_numpy() == found.choices[place]).all()
    assert 0 < found.scores.mean() < 1


def test_probabilities_of_chosen_models(arrays, tmp_path):
    read(arrays, tmp_path)
    found = mmlu_logits.probabilities(["b"], path=tmp_path / "logits.npz")
    assert set(found.configurations["model"]) == {"b"}
    assert len(found.values) == 2
    with pytest.raises(UnknownNameError, match="Unknown reading 'five'"):
        mmlu_logits.probabilities(reading="five", path=tmp_path / "logits.npz")


def test_names_tell_family_size_and_kind():
    names = [
        "Llama-2-70b-chat-hf",
        "Qwen-1_8B",
        "deepseek-llm-67b-base",
        "falcon-7b-instruct",
        "Mistral-7B-v0.1",
    ]
    found = mmlu_logits.families(names).drop(columns="model").to_numpy().tolist()
    assert found == [
        ["Llama-2", 70.0, "chat"],
        ["Qwen", 1.8, "base"],
        ["deepseek", 67.0, "base"],
        ["falcon", 7.0, "chat"],
        ["Mistral", 7.0, "base"],
    ]
    with pytest.raises(SchemaError, match="'gpt-large' holds no size"):
        mmlu_logits.families(["gpt-large"])


# ---------------------------------------------------------------- the pinned file

PAIR = ["Llama-2-13b-chat-hf", "falcon-40b-instruct"]


@pytest.fixture(scope="module")
def archive() -> dict[str, np.ndarray]:
    with np.load(locate(FILE)) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture(scope="module")
def pair() -> pd.DataFrame:
    return mmlu_logits.load(PAIR)


@external
def test_the_file_holds_what_its_note_says(archive):
    assert archive["logits"].shape == (102, 10_000, 6)
    assert np.bincount(archive["gold"] + 1).tolist() == [3, 2289, 2438, 2544, 2726]
    known = archive["gold"] >= 0
    assert len(set(archive["subject"][known])) == 57
    kinds = [str(label).split("|")[0] for label in archive["configs"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "outputs_base": 48,
        "outputs_chat_v1": 27,
        "outputs_chat_v2": 27,
    }


@external
def test_base_models_answer_as_published(archive):
    """Mean over the three styles; ours over all items, theirs over the test half."""
    hit = (archive["logits"].argmax(axis=2) == archive["gold"]).mean(axis=1)
    names = np.array([str(label).split("|")[1] for label in archive["configs"]])
    for model, percent in PUBLISHED.items():
        assert hit[names == model].mean() == pytest.approx(percent / 100, abs=0.013), model


@external
def test_exemplars_are_known_to_models_that_answer_at_chance(archive):
    """They stand in the prompt with their answers, as the source of the bench says."""
    right = archive["logits"].argmax(axis=2) == archive["gold"]
    weak = right.mean(axis=1) < 0.3
    assert weak.sum() > 10
    assert right[weak][:, list(EXEMPLARS)].mean() > 2 * right[weak].mean()


@external
def test_rows_are_counted_and_fit_the_schema(pair):
    assert len(pair) == 2 * 2 * 6 * 9_992
    assert pair.attrs == {"n_no_key": 3, "n_exemplars": 5}
    one = pair[(pair["model"] == PAIR[0]) & (pair["template"] == "shared, chat")]
    assert len(responses.validate(one)) == 2 * 9_992


@external
def test_cell_scores_are_the_accuracies_of_the_file(archive, pair):
    kept = np.setdiff1d(np.flatnonzero(archive["gold"] >= 0), EXEMPLARS)
    cells = responses.cell_means(pair).set_index(["model", "template", "scoring"])["score"]
    for group, shape in (("outputs_chat_v1", "chat"), ("outputs_chat_v2", "plain")):
        at = list(archive["configs"]).index(f"{group}|{PAIR[1]}|task_icl1")
        for reading, n in ((SIX, 6), (FOUR, 4)):
            best = archive["logits"][at, kept, :n].argmax(axis=1)
            by_hand = (best == archive["gold"][kept]).mean()
            assert cells[PAIR[1], f"task, {shape}", reading] == pytest.approx(by_hand)


@external
def test_the_chat_format_really_reverses_a_pair(pair):
    """Ahead in plain text, behind in chat format; each cell by scipy's binomial distribution."""
    items = stability.item_scores(pair)
    rates = stability.flip_rates(items.cells)
    assert (rates["n"].item(), rates["rho"].item()) == (12, 0.5)
    lead = items.cells[PAIR[0]] - items.cells[PAIR[1]]
    plain = lead.index.get_level_values("template").str.endswith("plain")
    assert (lead[plain] > 0).all()
    assert (lead[~plain] < 0).all()
    tests = stability.compare_cells(items, 1, np.random.default_rng(0))
    for row in tests.iloc[[0, 5, 11]].itertuples():
        half = binom(row.n01 + row.n10, 0.5)
        assert row.p_ahead == pytest.approx(half.cdf(row.n01) - half.pmf(row.n01) / 2, abs=1e-10)
    found = stability.detectable_differences(items).iloc[0]
    effect = stability.detectable_effect(9_992, found["discordance"])
    assert found["detectable"] == pytest.approx(effect, rel=1e-6)
    assert found["detectable"] < lead[plain].mean()


@external
def test_every_model_of_the_file_has_a_family(archive):
    names = {str(label).split("|")[1] for label in archive["configs"]}
    found = mmlu_logits.families(sorted(names))
    sizes = found.groupby(["family", "kind"])["parameters"].agg(list).map(sorted).to_dict()
    assert sizes["Llama-2", "base"] == sizes["Llama-2", "chat"] == [7, 13, 70]
    assert sizes["Qwen", "base"] == [1.8, 7, 14, 72]
    assert sizes["Yi", "base"] == sizes["Yi", "chat"] == [6, 34]
    assert sizes["deepseek", "base"] == sizes["deepseek", "chat"] == [7, 67]
    assert sizes["falcon", "base"] == sizes["falcon", "chat"] == [7, 40]
    assert len(sizes) == 12
