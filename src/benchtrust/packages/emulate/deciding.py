"""Decisions of a recipe on items: prompts through our engine, nothing of what a package answered."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchtrust import harness, inference
from benchtrust.errors import BenchtrustError, pick
from benchtrust.harness.scoring import TIE
from benchtrust.inference.model import Model
from benchtrust.inference.tokens import Prompt
from benchtrust.items import Item
from benchtrust.items.xstest import COMPLY, REFUSE
from benchtrust.packages.emulate.extraction import answer_line, first_token
from benchtrust.packages.emulate.guard import outputs_closed
from benchtrust.packages.emulate.prompts import Asked, Candidate, candidates, lay_out, prompt, shots
from benchtrust.packages.emulate.recipes import LEVELS, Recipe

COLUMNS = ("item_id", "part", "choice", "score", "outcome", "margin")
LONG, LONG_ROWS = 256, 8
READERS: dict[str, Callable[[str, int], int | None]] = {
    "first token": first_token,
    "answer line": answer_line,
}


class Engines(Mapping[str, Model]):
    """A catalogue model in each precision, loaded when it is asked for; one at a time is held."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._held: tuple[str, Model] | None = None

    def __getitem__(self, precision: str) -> Model:
        wanted = pick(precision, LEVELS["precision"], "precision")
        if self._held is None or self._held[0] != wanted:
            self._held = None
            self._held = wanted, self._load(wanted)
        return self._held[1]

    def __iter__(self) -> Iterator[str]:
        return iter(LEVELS["precision"])

    def __len__(self) -> int:
        return len(LEVELS["precision"])

    def _load(self, precision: str) -> Model:
        if precision == "nf4":
            return inference.load(self.name)
        from benchtrust.inference import folders

        return folders.read(folders.nf4_as_fp32(self.name))


def decisions(
    recipe: Recipe, items: Sequence[Item], model: Model | Path, train: Sequence[Item] = ()
) -> pd.DataFrame:
    """What a recipe decides on each item.

    Parameters
    ----------
    recipe : the way to ask and to decide.
    items : all items of the run, in the order in which a package's file has them: a shuffle depends on it.
    model : a loaded model, or a transformers folder to read in fp32.
    train : items of HELM's train split in its order (`helm_train`); used where five are drawn.

    Returns
    -------
    A row per item: item_id, part, choice (index of the option in the item; NA = none was read, or the answer
    is not one of the item's options), score, outcome (``"scored"`` or ``"unparsed"``, whose score is 0), and
    margin: by how much the best candidate's log-probability exceeds the best of another choice, in nats (NaN
    for generated answers).

    Raises
    ------
    PackageError : a text that the recipe takes from a package which is not installed; or something tried to
        read what a package answered.
    BenchtrustError : too few items to draw exemplars from; a log-probability that is not finite.
    """
    if isinstance(model, Path):
        from benchtrust.inference import folders

        model = folders.read(model)
    asked = lay_out(recipe.truth, items)
    return judge(recipe, asked, answers(request(recipe, asked, train), model))


@dataclass(frozen=True)
class Request:
    """All that a model is given for a recipe, beside its precision.

    Attributes
    ----------
    prompts : one an item.
    options : texts whose log-probabilities are asked for, an item each; None where an answer is generated.
    limit : most tokens of a generated answer.
    """

    prompts: tuple[Prompt, ...]
    options: tuple[tuple[str, ...], ...] | None
    limit: int

    @property
    def sha256(self) -> str:
        """Hash of the content: what has one hash has one answer of a model."""
        content = [self.prompts, self.options, self.limit if self.options is None else None]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def request(recipe: Recipe, asked: Sequence[Asked], train: Sequence[Item]) -> Request:
    """What a recipe gives to a model; arguments and errors as of `decisions`."""
    with outputs_closed():
        before = shots(recipe, train)
        prompts = tuple(prompt(recipe, one, before) for one in asked)
        if recipe.generates:
            return Request(prompts, None, recipe.limit)
        options = tuple(tuple(c.text for c in candidates(recipe, one)) for one in asked)
        return Request(prompts, options, recipe.limit)


def answers(given: Request, model: Model) -> list[tuple[float, ...]] | list[str]:
    """What the model gives: log-probabilities of an item's candidates, or a generated text."""
    start = model.tokenizer.bos_token or model.tokenizer.eos_token
    prompts = [text or start for text in given.prompts]
    with outputs_closed():
        if given.options is not None:
            return [scores.logprobs for scores in inference.option_logprobs(model, prompts, given.options)]
        rows = LONG_ROWS if given.limit > LONG else inference.BATCH_ROWS
        seeds = [0] * len(prompts)
        return [c.text for c in inference.generate(model, prompts, "greedy", seeds, given.limit, rows)]


def judge(
    recipe: Recipe, asked: Sequence[Asked], given: Sequence[tuple[float, ...]] | Sequence[str]
) -> pd.DataFrame:
    """Decisions by a recipe's extraction from what the model gave; columns as of `decisions`."""
    with outputs_closed():
        found = [_judge(recipe, one, raw) for one, raw in zip(asked, given, strict=True)]
    rows = [(one.item.item_id, one.item.part, *row) for one, row in zip(asked, found, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"choice": "Int64", "score": float, "margin": float})


def _judge(recipe: Recipe, asked: Asked, raw) -> tuple[int | None, float, str, float]:
    if not recipe.generates:
        return _compare(recipe, asked, candidates(recipe, asked), raw)
    if asked.item.benchmark == "xstest":
        return _behave(recipe.extraction, asked, raw)
    place = _read(recipe, asked, raw)
    if place is None:
        return None, 0.0, "unparsed", math.nan
    choice = asked.order[place]
    return choice, float(choice == asked.answer), "scored", math.nan


def _behave(extraction: str, asked: Asked, text: str) -> tuple[int | None, float, str, float]:
    """Whether an answer complies, by the book's matcher and a package's grades."""
    kind = harness.classify(text)
    if kind == "empty" and extraction == "refusal":
        return None, 0.0, "unparsed", math.nan
    choice = COMPLY if kind == "comply" else REFUSE
    half = extraction == "refusal, graded" and kind in ("partial", "empty")
    return choice, 0.5 if half else float(choice == asked.answer), "scored", math.nan


def _read(recipe: Recipe, asked: Asked, text: str) -> int | None:
    """Position of the option that a generated answer names."""
    if recipe.extraction == "our parser":
        return harness.extract(text, asked.options).choice
    return READERS[recipe.extraction](text, len(asked.order))


def _compare(
    recipe: Recipe, asked: Asked, offered: Sequence[Candidate], logprobs: Sequence[float]
) -> tuple[int | None, float, str, float]:
    """The first of the most probable candidates; options within 1e-4 are a tie, as in our own scoring."""
    values = np.asarray(logprobs)
    if not np.isfinite(values).all():
        raise BenchtrustError(f"{asked.item.item_id}: log-probabilities {list(logprobs)} are not all finite.")
    best = offered[int(np.flatnonzero(values.max() - values < TIE)[0])]
    kinds = [c.choice if c.choice is not None else i for i, c in enumerate(offered)]
    peaks = pd.Series(values).groupby(kinds).max().nlargest(2)
    margin = float(peaks.iloc[0] - peaks.iloc[-1]) if len(peaks) > 1 else math.inf
    if recipe.extraction == "probability of the true":
        shares = np.exp(values - values.max())
        true = np.array([c.true for c in offered])
        return best.choice, float(shares[true].sum() / shares.sum()), "scored", margin
    return best.choice, float(best.true), "scored", margin
