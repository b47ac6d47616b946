"""The envelopes: sizes of the paper, nested, and names that are nearly right."""

from dataclasses import astuple

import pandas as pd
import pytest

from benchtrust import distributions, items
from benchtrust.errors import UnknownNameError
from benchtrust.harness import Configuration, envelope, tiers, within
from benchtrust.harness.configurations import DECODINGS, SHOTS, TEMPLATES
from benchtrust.responses import CONFIGURATION

CHAT = ("truthfulqa", "bbq", "toxigen", "xstest")
ALL = (*CHAT, "crows_pairs")
SIZES = {"full": (48, 12), "core": (27, 9), "conservative": (4, 4)}


@pytest.mark.parametrize("tier", SIZES)
@pytest.mark.parametrize("benchmark", ALL)
def test_sizes(benchmark, tier):
    assert len(envelope(benchmark, tier)) == SIZES[tier][benchmark == "crows_pairs"]


def test_three_models_have_612_cells():
    assert 3 * sum(len(envelope(benchmark)) for benchmark in ALL) == 612


@pytest.mark.parametrize("benchmark", ALL)
def test_tiers_are_nested_and_without_repeats(benchmark):
    full, core, conservative = (envelope(benchmark, tier) for tier in SIZES)
    assert len(set(full)) == len(full)
    assert set(conservative) < set(core) < set(full)


@pytest.mark.parametrize("benchmark", ALL)
def test_axes_have_all_their_levels(benchmark):
    full = envelope(benchmark)
    assert {c.template for c in full} == set(TEMPLATES)
    assert {c.shots for c in full} == set(SHOTS)
    free = set() if benchmark == "crows_pairs" else {(d, "free_form") for d in DECODINGS}
    assert {(c.decoding, c.scoring) for c in full} == free | {("none", "logprob")}


@pytest.mark.parametrize("benchmark", ALL)
def test_core_drops_chain_of_thought_and_the_hotter_sampling(benchmark):
    full, core = envelope(benchmark), envelope(benchmark, "core")
    assert core == [c for c in full if c.template != "cot" and c.decoding != "t0.7"]


def test_crows_pairs_is_scored_by_log_probability_only():
    for tier in SIZES:
        assert {c.scoring for c in envelope("crows_pairs", tier)} == {"logprob"}


@pytest.mark.parametrize("benchmark", ALL)
def test_nothing_is_decoded_under_log_prob_scoring(benchmark):
    for c in envelope(benchmark):
        assert (c.decoding == "none") == (c.scoring == "logprob")
        assert (c.max_new_tokens == 0) == (c.scoring == "logprob")


def test_token_limits():
    assert Configuration("minimal", 0, "greedy", "free_form").max_new_tokens == 24
    assert Configuration("cot", 0, "greedy", "free_form").max_new_tokens == 128


def test_other_conservative_members_can_be_named():
    mine = (Configuration("role", 3, "none", "logprob"),)
    assert envelope("bbq", "conservative", mine) == list(mine)
    assert len(envelope("bbq", "core", mine)) == 27


@pytest.mark.parametrize("tier", SIZES)
def test_a_choice_set_has_the_configuration_of_the_answer_distributions_alone(tier):
    for name in items.CHOICE_SETS:
        assert envelope(name, tier) == [Configuration(*distributions.CONFIGURATION)]


@pytest.mark.parametrize("spelling", ["Full", "FULL", "full "])
def test_case_and_spaces_do_not_matter(spelling):
    assert envelope("CrowS-Pairs", spelling) == envelope("crows_pairs", "full")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bbq", "ful"), "Did you mean full"),
        (("bbq", "conservativ"), "Did you mean conservative"),
        (("bbq", "paper"), "Valid: full, core, conservative"),
        (("bqq", "full"), "Did you mean bbq"),
        (("xtest",), "Did you mean xstest"),
        (("",), "Valid: truthfulqa, bbq, toxigen, crows_pairs, xstest"),
    ],
)
def test_unknown_names_list_the_nearest(arguments, said):
    with pytest.raises(UnknownNameError, match=said):
        envelope(*arguments)


@pytest.mark.parametrize("tier", SIZES)
def test_rows_within_a_tier_are_those_of_its_configurations(tier):
    rows = [(name, *astuple(c)) for name in ALL for c in envelope(name)]
    frame = pd.DataFrame(rows, columns=["benchmark", *CONFIGURATION]).sample(frac=1, random_state=1)
    kept = within(frame, tier)
    for name in ALL:
        own = kept.loc[kept["benchmark"] == name, CONFIGURATION]
        assert {Configuration(*row) for row in own.itertuples(index=False)} == set(envelope(name, tier))
    assert kept.index.isin(frame.index).all()


def test_rows_within_another_conservative_core():
    mine = (Configuration("cot", 3, "t0.7", "free_form"),)
    rows = [("bbq", *astuple(c)) for c in envelope("bbq")]
    frame = pd.DataFrame(rows, columns=["benchmark", *CONFIGURATION])
    (row,) = within(frame, "conservative", mine)[CONFIGURATION].itertuples(index=False)
    assert Configuration(*row) == mine[0]


def test_answers_in_other_configurations_have_the_full_envelope_alone():
    rows = [("bbq", *astuple(c)) for c in envelope("bbq")]
    ours = pd.DataFrame(rows, columns=["benchmark", *CONFIGURATION])
    theirs = ours.assign(benchmark="my_set")
    renamed = ours.assign(template="p-" + ours["template"])
    assert tiers(ours) == ["full", "core", "conservative"]
    for frame in (theirs, renamed, pd.concat([ours, theirs])):
        assert tiers(frame) == ["full"]
        assert len(within(frame, "full")) == len(frame)
    assert within(theirs, "core").empty
    with pytest.raises(UnknownNameError, match="core"):
        within(theirs, "cor")
