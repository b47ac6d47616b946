"""Similarities that read the text of the items and ask no model: what predictive similarity must beat."""

import numpy as np
import pandas as pd

from benchtrust.errors import SchemaError
from benchtrust.harmony.similarity import Similarity, given_similarity

WORD = r"[^\W_]+(?:'[^\W_]+)*"
"""A word: letters and digits, with apostrophes inside."""


def ngram_similarity(texts: pd.Series, sizes: tuple[int, int] = (1, 2)) -> Similarity:
    """Overlap of the n-grams of words: distinct ones in both texts over those in either (Jaccard).

    Parameters
    ----------
    texts : (n,) text of each item by its name; capitals and punctuation do not count.
    sizes : smallest and largest n.

    Raises
    ------
    SchemaError : fewer than two texts, or one without a word.

    Source: Broder (1997), "On the resemblance and containment of documents"; arXiv 2509.25671 compares with
    n-gram overlap and does not define it.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if len(texts) < 2:
        raise SchemaError(f"{len(texts)} text(s): give two or more.")
    if empty := [name for name, found in texts.str.contains(WORD).items() if not found]:
        raise SchemaError(f"The text of {empty[0]!r} has no word.")
    counts = CountVectorizer(binary=True, token_pattern=WORD, ngram_range=sizes).fit_transform(texts)
    both = (counts @ counts.T).toarray().astype("float64")
    own = both.diagonal()
    either = own[:, None] + own - both
    if not either.all():
        raise SchemaError(f"The text of {texts.index[int(own.argmin())]!r} has fewer than {sizes[0]} words.")
    return given_similarity(both / either, f"n-grams of {sizes[0]} to {sizes[1]} words", texts.index)


def embedding_similarity(vectors: pd.DataFrame) -> Similarity:
    """Cosine of the items' sentence embeddings; a negative one counts as 0.

    Parameters
    ----------
    vectors : items × dimensions, of any length above 0.

    Raises
    ------
    SchemaError : fewer than two items, missing values, or a vector of length 0.
    """
    values = vectors.to_numpy(dtype="float64")
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise SchemaError("Embeddings must be finite and none of length 0.")
    unit = values / lengths
    return given_similarity(np.maximum(unit @ unit.T, 0), "sentence embeddings", vectors.index)
