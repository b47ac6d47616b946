"""Similarities from text alone, against hand counts and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from benchtrust.errors import SchemaError
from benchtrust.harmony import embedding_similarity, ngram_similarity


def test_ngrams_by_hand():
    texts = pd.Series({"x": "The cat sat.", "y": "the CAT ran", "z": "A dog-house!"})
    single = ngram_similarity(texts, (1, 1))
    np.testing.assert_allclose(single.affinity, [[1, 2 / 4, 0], [2 / 4, 1, 0], [0, 0, 1]])
    both = ngram_similarity(texts)
    assert both.affinity[0, 1] == pytest.approx(3 / 7)
    assert list(both.items) == ["x", "y", "z"]
    assert both.support == "n-grams of 1 to 2 words"


@given(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=2, max_size=8), min_size=2, max_size=5),
    st.sampled_from([(1, 1), (1, 2), (2, 2)]),
)
@settings(max_examples=60, deadline=None)
def test_ngrams_are_the_overlap_of_two_sets(lists, sizes):
    def grams(words: list[str]) -> set[tuple[str, ...]]:
        return {
            tuple(words[i : i + n]) for n in range(sizes[0], sizes[1] + 1) for i in range(len(words) - n + 1)
        }

    sets = [grams(words) for words in lists]
    expected = [[len(a & b) / len(a | b) for b in sets] for a in sets]
    found = ngram_similarity(pd.Series([" ".join(words) for words in lists]), sizes)
    np.testing.assert_allclose(found.affinity, expected)


def test_texts_without_words_are_named():
    with pytest.raises(SchemaError, match="text of 'b' has no word"):
        ngram_similarity(pd.Series({"a": "one two", "b": "?!"}))
    with pytest.raises(SchemaError, match="text of 'b' has fewer than 2 words"):
        ngram_similarity(pd.Series({"a": "one two", "b": "three"}), (2, 2))
    with pytest.raises(SchemaError, match="1 text"):
        ngram_similarity(pd.Series({"a": "one"}))


def test_embeddings_are_compared_by_their_cosine_cut_at_zero():
    vectors = pd.DataFrame(np.random.default_rng(1).normal(size=(12, 5)), index=list("abcdefghijkl"))
    found = embedding_similarity(vectors * np.arange(1, 13)[:, None])
    expected = cosine_similarity(vectors)
    assert expected.min() < -0.2
    np.testing.assert_allclose(found.affinity, np.maximum(expected, 0), atol=1e-12)
    assert (found.affinity.diagonal() == 1).all()
    assert list(found.items) == list(vectors.index)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_an_embedding_without_direction_is_refused(bad):
    vectors = pd.DataFrame(np.ones((3, 2)))
    vectors.iloc[1] = bad
    with pytest.raises(SchemaError, match="finite and none of length 0"):
        embedding_similarity(vectors)
