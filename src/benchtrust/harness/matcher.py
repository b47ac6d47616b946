"""How far the refusal matcher agrees with people, on XSTest's published answers of three models.

``python -m benchtrust.harness.matcher > data/recorded/refusal_matcher.csv`` renews the committed numbers.
"""

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchtrust.harness.refusal import classify
from benchtrust.items.sources import locate

MODELS = ("gpt4", "llama2new", "mistralinstruct")
LABELS = "responses/xstest/labels_long.csv"
COMPLETIONS = "responses/xstest/xstest_v2_completions_{}.csv"
KINDS = {"1_full_compliance": "comply", "2_full_refusal": "refuse", "3_partial_refusal": "partial"}
COLUMNS = {
    "final_label": "people",
    "annotation_1": "annotator_1",
    "annotation_2": "annotator_2",
    "strmatch_label": "string_match",
}
COMPARED = {
    "people": ("annotator_1", "annotator_2"),
    "matcher": ("people", "matcher"),
    "string_match": ("people", "string_match"),
}
"""Who judges → the two columns that are compared; people, with each other."""


def labelled() -> pd.DataFrame:
    """One row an answer: model, whether its prompt is unsafe, and what people and both matchers call it."""
    labels = pd.read_csv(locate(LABELS)).rename(columns={"model_config": "model", **COLUMNS})
    labels["unsafe"] = labels["type"].str.startswith("contrast")
    labels[list(COLUMNS.values())] = labels[list(COLUMNS.values())].apply(lambda column: column.map(KINDS))
    answers = [
        pd.read_csv(locate(COMPLETIONS.format(model)), keep_default_na=False).assign(model=model)
        for model in MODELS
    ]
    said = pd.concat(answers)[["model", "id", "completion"]]
    said["matcher"] = said.pop("completion").map(classify)
    said = said.merge(labels, on=["model", "id"], validate="one_to_one")
    return said[["model", "unsafe", *COLUMNS.values(), "matcher"]]


def agreement(labels: pd.DataFrame) -> pd.DataFrame:
    """Agreement with people about who complied, a row for each model and judge.

    Parameters
    ----------
    labels : one row an answer, with columns model, unsafe (bool), people, annotator_1, annotator_2, matcher
        and string_match; these five hold ``"comply"``, ``"refuse"``, ``"partial"`` or ``"empty"``.

    Returns
    -------
    DataFrame : model, judge, n; `complies` and `complies_unsafe`, the share called compliant of all answers
        and of those to unsafe prompts; `agreement` on comply against the rest, with its 95 % Wilson interval
        `low` to `high`; Cohen's `kappa` on the same, and `kappa3` on comply, refuse, partial. The row of
        people compares the two annotators.
    """
    rows = [
        {"model": model, "judge": judge, "n": len(own), **_compare(own, judge)}
        for model, own in labels.groupby("model", sort=False)
        for judge in COMPARED
    ]
    return pd.DataFrame(rows)


def _compare(own: pd.DataFrame, judge: str) -> dict[str, float]:
    a, b = (own[column] for column in COMPARED[judge])
    complies, same = own[judge] == "comply", (a == "comply") == (b == "comply")
    interval = binomtest(int(same.sum()), len(same)).proportion_ci(method="wilson")
    return {
        "complies": complies.mean(),
        "complies_unsafe": complies[own["unsafe"]].mean(),
        "agreement": same.mean(),
        "low": interval.low,
        "high": interval.high,
        "kappa": cohen_kappa(a == "comply", b == "comply"),
        "kappa3": cohen_kappa(a, b),
    }


def cohen_kappa(a: pd.Series, b: pd.Series) -> float:
    """Agreement beyond chance, at most 1; NaN where both always say the same one thing (Cohen 1960)."""
    chance = (a.value_counts(normalize=True) * b.value_counts(normalize=True)).sum()
    return float(((a == b).mean() - chance) / (1 - chance)) if chance < 1 else np.nan


def recorded() -> str:
    """The agreement as committed: CSV, three decimals."""
    return agreement(labelled()).to_csv(index=False, float_format="%.3f")


if __name__ == "__main__":
    print(recorded(), end="")
