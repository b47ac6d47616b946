"""Committed results on public data: whole, numbers only, and what the data at hand give."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchtrust import responses, stability
from benchtrust.items.sources import sources
from benchtrust.public import mmlu_logits, xstest_labels

ROOT = Path(__file__).parents[2] / "data/recorded/public"
FOLDERS = sorted(path.parent for path in ROOT.rglob("manifest.json"))
OTHER = ROOT / "stability/other_data"


def committed(name: str) -> pd.DataFrame:
    return pd.read_csv(OTHER / f"{name}.csv", keep_default_na=False, na_values=[""])


def test_there_are_committed_results():
    assert OTHER in FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_tables_are_those_of_the_manifest_and_made_from_the_pinned_files(folder):
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.csv")}
    assert facts["files"] == found
    assert facts["data"] == {name: sources()[name.removeprefix("data:")].sha256 for name in facts["data"]}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.csv")), ids=lambda path: path.stem)
def test_no_row_is_an_answer_and_no_text_is_longer_than_a_name(path):
    """Items stand there by their ids with what was computed for them, never who answered which how."""
    table = pd.read_csv(path)
    assert not {"item_hash", "completion"} & set(table)
    assert not ({"model", "respondent"} & set(table) and {"item", "item_id", "id"} & set(table))
    texts = [value for name in table.select_dtypes("str") for value in table[name].dropna()]
    phrases = [phrase for text in texts for phrase in text.split(";")]
    assert max(map(len, phrases), default=0) <= 80
    assert len(table) < 3000


@pytest.mark.external(xstest_labels.FILE)
def test_labellers_are_what_the_labels_give():
    labels = xstest_labels.load()
    parts = {"all": labels, **dict(iter(labels.groupby("part")))}
    cells = committed("labeller_cells")
    key = ["model", "scoring"]
    for part, own in cells.groupby("prompts"):
        again = own[key].merge(responses.cell_means(parts[part]), on=key)
        for column in ("score", "score_low", "score_high", "n_unparsed"):
            assert own[column].to_numpy() == pytest.approx(again[column].to_numpy(), abs=1e-11)
    for part, own in committed("labeller_tests").groupby("prompts"):
        again = stability.compare_cells(parts[part], 1, np.random.default_rng(0))
        assert own["n10"].tolist() == again["n10"].tolist()
        assert own["p"].to_numpy() == pytest.approx(again["p"].to_numpy(), abs=1e-11)


@pytest.mark.external(mmlu_logits.FILE)
def test_cells_and_reversals_of_chat_models_are_what_the_logits_give():
    pair = ["Llama-2-70b-chat-hf", "Yi-34B-Chat"]
    asked = mmlu_logits.load(pair)
    key = ["model", "template", "scoring"]
    cells = committed("mmlu_cells").assign(template=lambda c: c["style"] + ", " + c["format"])
    again = responses.cell_means(asked)[[*key, "score", "n_items"]].merge(cells, on=key)
    assert len(again) == 24
    assert again["score_x"].to_numpy() == pytest.approx(again["score_y"].to_numpy(), abs=1e-11)
    assert (again["n_items_x"] == again["n_items_y"]).all()
    one = committed("mmlu_pairs").query("envelope == 'both' and model_a == @pair[0] and model_b == @pair[1]")
    tests = stability.compare_cells(asked, 1, np.random.default_rng(0))
    alone = tests[["p_ahead_holm", "p_behind_holm"]].min().max()
    assert alone <= one["p_reversal"].item() <= 0.05, "Holm over one pair is milder than over all"
    found = stability.detectable_differences(asked).iloc[0]
    assert one["detectable"].item() == pytest.approx(found["detectable"], abs=1e-11)


def test_what_the_page_says_of_the_envelopes_follows_from_the_committed_cells():
    """Flips counted by hand from the cells: 14 of 300 pairs in plain text, 13 of 36 with both formats."""
    cells = committed("mmlu_cells")
    chat = set(cells.loc[cells["format"] == "chat", "model"])
    counts = {}
    rows = {"plain": cells[cells["format"] == "plain"], "both": cells[cells["model"].isin(chat)]}
    for name, own in rows.items():
        scores = own.pivot(index=["style", "format", "scoring"], columns="model", values="score")
        models = list(scores)
        lead = [scores[a] - scores[b] for i, a in enumerate(models) for b in models[i + 1 :]]
        counts[name] = (len(lead), sum(bool((gap > 1e-12).any() and (gap < -1e-12).any()) for gap in lead))
    assert counts == {"plain": (300, 14), "both": (36, 13)}
    pairs = committed("mmlu_pairs")
    real = pairs[pairs["p_reversal"] <= 0.05].groupby("envelope").size()
    assert real.to_dict() == {"both": 8}
