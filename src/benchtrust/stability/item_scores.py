"""Item scores of all models in all configurations of one benchmark, and how they make cell scores."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError, UnknownNameError, pick
from benchtrust.responses import CELL_RULES, CONFIGURATION, response_matrix, slug

_AXES = ("model", "configuration", "item")


@dataclass(frozen=True)
class ItemScores:
    """Scores of M models on I items in C configurations.

    Attributes
    ----------
    models : M names.
    configurations : C labels; for responses the levels are template, shots, decoding and scoring.
    items : I labels.
    scores : (M, C, I) item scores in [0, 1]; NaN = not asked, the same items for all models.
    parts : (I,) number of the item's part.
    weights : (C, I) what an item counts in the mean of a cell; each row sums to 1.
    parity : whether a cell's score is 1 - 2 |m - .5| of its mean m, and not m.
    """

    models: tuple[Hashable, ...]
    configurations: pd.Index
    items: tuple[Hashable, ...]
    scores: np.ndarray
    parts: np.ndarray
    weights: np.ndarray
    parity: bool

    @property
    def pairs(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Pairs of models, in the order of `flip_rates`."""
        return tuple(combinations(self.models, 2))

    @property
    def shares(self) -> np.ndarray:
        """What each item adds to the mean of a cell: (I, M, C)."""
        return np.transpose(np.nan_to_num(self.scores) * self.weights, (2, 0, 1))

    @property
    def added(self) -> np.ndarray:
        """What each item adds to the score of a cell, (I, M, C): its share of the mean.

        By parity the score is twice the share of the rarer answer, and the item adds to that if it holds this
        answer.
        """
        if not self.parity:
            return self.shares
        common = self.shares.sum(axis=0) > 0.5
        rarer = np.where(common, np.transpose(self.weights)[:, None] - self.shares, self.shares)
        return 2 * rarer

    @property
    def cells(self) -> pd.DataFrame:
        """Cell scores, configurations × models."""
        scores = self.through_rule(self.shares.sum(axis=0))
        return pd.DataFrame(scores.T, index=self.configurations, columns=list(self.models))

    def through_rule(self, means: np.ndarray) -> np.ndarray:
        """Cell scores from cell means, of any shape."""
        return 1 - 2 * np.abs(means - 0.5) if self.parity else means

    def pair(self, a: Hashable, b: Hashable) -> "ItemScores":
        """The same for two models, `a` first.

        Raises
        ------
        UnknownNameError : no such model.
        """
        for model in (a, b):
            if model not in self.models:
                raise UnknownNameError(
                    f"Unknown model {model!r}. Models: {', '.join(map(str, self.models))}."
                )
        return replace(self, models=(a, b), scores=self.scores[[self.models.index(m) for m in (a, b)]])

    def on(self, items: Sequence[Hashable]) -> "ItemScores":
        """The same on some of the items, in the order given, which count anew in their parts.

        Raises
        ------
        SchemaError : none, one twice, or one that is not there.
        """
        place = {item: at for at, item in enumerate(self.items)}
        lost = [item for item in items if item not in place]
        if lost or not len(items) or len(set(items)) < len(items):
            found = f"Item {lost[0]!r} is not there" if lost else f"{len(items)} items, some twice or none"
            raise SchemaError(f"{found}: choose some of {len(self.items)}, each once.")
        at = [place[item] for item in items]
        own = self.scores[:, :, at], self.models, self.configurations, items, self.parts[at]
        return _assemble(*own, self.parity)


def item_scores(
    items: ItemScores | np.ndarray | pd.DataFrame,
    parts: Sequence[Hashable] | None = None,
    rule: str = "mean",
) -> ItemScores:
    """Check item scores and bring them into one shape.

    Parameters
    ----------
    items : (models, configurations, items) item scores in [0, 1], NaN = not asked. Or the responses to one
        benchmark, one sample per item: unparsed answers count as 0, parts and rule are those of `cell_means`.
        Item scores that have passed here are returned as they are.
    parts : (items,) labels, for an array: a cell's score is the mean of the rates of the parts asked there.
    rule : ``mean``, or ``parity`` for 1 - 2 |m - .5| of the cell's mean m, for an array.

    Returns
    -------
    `ItemScores`, without the configurations and items of which nothing was asked.

    Raises
    ------
    SchemaError : a wrong shape, fewer than two models, nothing asked, an item asked of some models only, or
        parts and a rule beside responses, which bring their own.
    UnknownNameError : no such rule.
    """
    if isinstance(items, ItemScores | pd.DataFrame) and (parts is not None or rule != "mean"):
        raise SchemaError("Responses bring their own parts and rule: give these with an array only.")
    if isinstance(items, ItemScores):
        return items
    if isinstance(items, pd.DataFrame):
        cube, labels = _cube(items)
        parts, rule = part_rule(items, labels[2])
    else:
        cube = np.asarray(items, dtype="float64")
        labels = tuple(pd.RangeIndex(size, name=axis) for size, axis in zip(cube.shape, _AXES, strict=False))
    parity = pick(rule, ["mean", "parity"], "rule") == "parity"
    _check_same_items(cube, labels)
    return _assemble(cube, *labels, _part_codes(parts, cube.shape[2]), parity)


def pool_decoding(items: ItemScores | pd.DataFrame) -> ItemScores:
    """Average the decodings of a prompt item by item, so that the item is the unit.

    An item counts where it was asked under all decodings of the prompt.

    Raises
    ------
    SchemaError : as `item_scores`, or configurations without a level named decoding.
    """
    table = item_scores(items)
    if "decoding" not in table.configurations.names:
        raise SchemaError("Configurations have no level 'decoding': give responses.")
    prompt = table.configurations.droplevel("decoding")
    prompts = prompt.unique()
    codes = prompts.get_indexer(prompt)
    scores = np.stack([table.scores[:, codes == k].mean(axis=1) for k in range(len(prompts))], axis=1)
    return _assemble(scores, table.models, prompts, table.items, table.parts, table.parity)


def _assemble(
    scores: np.ndarray,
    models: Sequence[Hashable],
    configurations: pd.Index,
    items: Sequence[Hashable],
    parts: np.ndarray,
    parity: bool,
) -> ItemScores:
    """The table, without configurations and items of which nothing was asked."""
    asked = ~np.isnan(scores[0])
    cells, own = asked.any(axis=1), asked.any(axis=0)
    return ItemScores(
        models=tuple(models),
        configurations=configurations[cells],
        items=tuple(np.array(items, dtype=object)[own]),
        scores=scores[:, cells][:, :, own],
        parts=parts[own],
        weights=item_weights(asked[cells][:, own], parts[own]),
        parity=parity,
    )


def _cube(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[pd.Index, ...]]:
    """Responses as models × configurations × items, and the labels of the three axes."""
    matrix = response_matrix(frame, ["model", *CONFIGURATION])
    models = matrix.index.unique("model")
    cells = matrix.index.droplevel("model").unique().sort_values()
    cube = np.stack([matrix.xs(model).reindex(cells).to_numpy(float) for model in models])
    return cube, (models, cells, matrix.columns)


def part_rule(frame: pd.DataFrame, items: Sequence[Hashable]) -> tuple[list[str] | None, str]:
    """Part of each item, if the benchmark averages over parts, and the rule on top of it."""
    rule = CELL_RULES.get(slug(frame["benchmark"].iloc[0]), "mean")
    if rule != "mean_of_parts":
        return None, rule
    if "part" not in frame or frame["part"].isna().all():
        return None, "mean"
    return list(frame.groupby("item_id")["part"].first()[items]), "mean"


def _check_same_items(cube: np.ndarray, labels: tuple[pd.Index, ...]) -> None:
    if cube.ndim != 3 or len(cube) < 2:
        raise SchemaError(f"Item scores of shape {cube.shape}: need (models >= 2, configurations, items).")
    asked = ~np.isnan(cube)
    uneven = np.argwhere(asked != asked[0])
    if len(uneven):
        model, cell, item = (axis[place] for axis, place in zip(labels, uneven[0], strict=True))
        raise SchemaError(
            f"Item {item!r} in configuration {cell!r} has an answer of only one of {labels[0][0]!r} and "
            f"{model!r} (and {len(uneven) - 1} more such): complete it, or drop it there for all models."
        )
    if not asked.any():
        raise SchemaError("No item was asked in any configuration: nothing to compare.")


def _part_codes(parts: Sequence[Hashable] | None, n_items: int) -> np.ndarray:
    named = pd.Series([""] * n_items if parts is None else list(parts), dtype="object")
    if len(named) != n_items or named.isna().any():
        raise SchemaError(f"{named.count()} parts for {n_items} items: give each item one label.")
    return pd.factorize(named)[0]


def item_weights(asked: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """What an item counts in a cell's mean, from what was asked (C, I) and the items' parts."""
    per_part = asked @ np.eye(parts.max() + 1)[parts]
    n_parts = (per_part > 0).sum(axis=1, keepdims=True)
    return np.divide(asked, per_part[:, parts] * n_parts, where=asked, out=np.zeros(asked.shape))
