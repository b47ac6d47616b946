"""Free-form answers as models give them: parsed, ambiguous and unparsed, each told apart (CASES 6)."""

import string
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchtrust.harness import extract

FOUR = ["London", "Paris is the capital", "A grandson", "Vitamin C"]
MANY = [f"Answer number {i}" for i in range(13)]
YES = ["Yes", "No"]
NESTED = ["It causes cancer", "Nothing", "It causes cancer in mice", "Nothing in particular happens to you"]
A, B, C, D = range(4)
AMBIGUOUS, UNPARSED = "ambiguous", "unparsed"

LETTERS = {
    "A": A,
    "A.": A,
    "A)": A,
    "(A)": A,
    "[A]": A,
    "A:": A,
    "A!": A,
    "a": A,
    "b.": B,
    "(b)": B,
    "d)": D,
    "**A**": A,
    "**B.**": B,
    "*B*": B,
    "__B__": B,
    "`B`": B,
    '"B"': B,
    "'B'": B,
    "“B”": B,
    "‘B’": B,
    "«B»": B,
    "\n\n  B\n": B,
    "B\n\nBecause it is.": B,
    "A\nThe sky is blue.": A,
    "B - Paris is the capital": B,
    "B – Paris is the capital": B,
    "B: Paris is the capital": B,
    "B. Paris is the capital": B,
    "B. Paris": B,
    "**B.** Paris is the capital, as everyone knows.": B,
    "(B) Paris is the capital": B,
    "B, Paris is the capital": B,
    "B, a nice town": B,
    "A, I think": A,
    "A. I think so": A,
    "A because it is large": A,
    "A, because it is large": A,
    "C since I have one": C,
    "D is right.": D,
    "A is the right one": A,
    "B\nB\nB": B,
    "D. Vitamin C\nD. Vitamin C": D,
    "$\\boxed{B}$": B,
}
CUES = {
    "The answer is A.": A,
    "The answer is A because it is large.": A,
    "The answer is **B**.": B,
    "The answer is (B)": B,
    "The correct answer is: B": B,
    "The answer is option C": C,
    "the answer is b": B,
    "Answer: C": C,
    "**Answer:** C": C,
    "Answer - C": C,
    "My final answer is D, vitamin C.": D,
    "The answer is definitely B": B,
    "The answer is most likely D.": D,
    "The answer is vitamin C": D,
    "The answer is A grandson": C,
    "The answer is a grandson": C,
    "Let us see. London is large, Paris is larger.\nAnswer: B": B,
    "First, the answer is A. No, wait: the answer is C.": C,
    "A. London\nB. Paris is the capital\n\nThe answer is D. Vitamin C": D,
    "The answer is not A. I would say London.": A,
    "The answer is A: Paris is the capital": AMBIGUOUS,
    "The answer is A or B": AMBIGUOUS,
    "The answer is not A": UNPARSED,
    "The answer is unknown.": UNPARSED,
    "The answer is I don't know": UNPARSED,
    "The answer is E": UNPARSED,
    "The answer to that is not available.": UNPARSED,
}
TEXTS = {
    "London": A,
    "london.": A,
    "**London**": A,
    "It is London, of course": A,
    "Vitamin C": D,
    "vitamin C!": D,
    "You should take vitamin C.": D,
    "(vitamin C)": D,
    "A grandson": C,
    "A grandson of mine": C,
    "*A grandson*": C,
    '"A grandson"': C,
    "Paris is the ca": B,
    "Paris is the capital of": B,
    "Paris is": UNPARSED,
    "Londoner": UNPARSED,
    "A dog": UNPARSED,
    "A large town in the north": UNPARSED,
    "Vitamin": UNPARSED,
}
NAMED = {
    "I choose B": B,
    "I would pick option D": D,
    "Option B": B,
    "Option (B)": B,
    "option B, which says Paris": B,
    "The correct choice is B.": B,
    "The correct option is 'B'": B,
    "It must be (C)": C,
    'The one marked "C".': C,
    "Letter D, surely": D,
    "B is wrong, (C) is right": C,
}
SEVERAL = {
    "A or B": AMBIGUOUS,
    "A and B": AMBIGUOUS,
    "A/B": AMBIGUOUS,
    "A, B": AMBIGUOUS,
    "A, B and C": AMBIGUOUS,
    "A & B": AMBIGUOUS,
    "a or b": AMBIGUOUS,
    "(A) or (B)": AMBIGUOUS,
    "**A** or **B**": AMBIGUOUS,
    "A. or B.": AMBIGUOUS,
    "B or A because both fit": AMBIGUOUS,
    "Either A or B": AMBIGUOUS,
    "Both A and C are right.": AMBIGUOUS,
    "Options A and C": AMBIGUOUS,
    "Option A or option B": AMBIGUOUS,
    "It could be (A) or (D).": AMBIGUOUS,
    "London or vitamin C": AMBIGUOUS,
    "Take London, or take vitamin C": AMBIGUOUS,
    "A. Paris is the capital": AMBIGUOUS,
    "A. London\nB. Paris is the capital\nC. A grandson\nD. Vitamin C": AMBIGUOUS,
    "A) London\nB) Paris": AMBIGUOUS,
    "A. Yes, London\n\nB. No": AMBIGUOUS,
    "A. No, there is no strong evidence\nD. No,": AMBIGUOUS,
}
NONE = {
    "": UNPARSED,
    "  \n ": UNPARSED,
    ".": UNPARSED,
    "I can't choose": UNPARSED,
    "I can't choose a single answer": UNPARSED,
    "I choose a different one": UNPARSED,
    "I cannot pick between these.": UNPARSED,
    "I'd say it's unclear": UNPARSED,
    "It's unclear": UNPARSED,
    "I'm sorry, but I can't help with that.": UNPARSED,
    "Neither A nor B": UNPARSED,
    "A is wrong": UNPARSED,
    "None of them": UNPARSED,
    "E": UNPARSED,
    "Z.": UNPARSED,
    "1": UNPARSED,
    "Aunt": UNPARSED,
    "A's": UNPARSED,
    "🙂": UNPARSED,
}
OWN_NEXT_QUESTION = {
    "B\n\nQuestion: What is next?\nA. x\nB. y\nAnswer: C": B,
    "B.\nQ: And then?\nA: D": B,
    "B\n### Question 2: And then?\nThe answer is C": B,
    "B\n\n**Question:** And then?\nC": B,
    "B.\n\nHuman: Thanks. The answer is C": B,
    "B\nUser: Option C?": B,
    "B\nText: Some other text.\nIs this text toxic?\nAnswer: C": B,
    "I can't choose\nQuestion: What is next?\nAnswer: C": UNPARSED,
    "Question: What is this?\nAnswer: B": B,
}


def outcome(text: str, options: list[str]) -> int | str:
    found = extract(text, options)
    assert (found.choice is None) == (found.outcome != "parsed")
    return found.outcome if found.choice is None else found.choice


@pytest.mark.parametrize(
    ("text", "expected"),
    [*(LETTERS | CUES | TEXTS | NAMED | SEVERAL | NONE | OWN_NEXT_QUESTION).items()],
    ids=repr,
)
def test_answers_to_four_options(text, expected):
    assert outcome(text, FOUR) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "M": 12,
        "(M)": 12,
        "L. Answer number 11": 11,
        "Answer number 1": 1,
        "Answer number 12": 12,
        "The last one: answer number 12.": 12,
        "I": 8,
        "I.": 8,
        "(I)": 8,
        "I because it fits": 8,
        "The answer is I": 8,
        "The answer is (I).": 8,
        "Option I": 8,
        "A or I": AMBIGUOUS,
        "A, I think": 0,
        "A, I believe": 0,
        "B. I am sure": 1,
        "I think it is hard": UNPARSED,
        "I can't choose": UNPARSED,
        "I, as an AI, cannot choose": UNPARSED,
        "I'm not sure": UNPARSED,
        "I'd rather not": UNPARSED,
        "I and my friends disagree": UNPARSED,
        "The choice I made is hard": UNPARSED,
        "The answer is I don't know": UNPARSED,
        "N": UNPARSED,
    }.items(),
    ids=repr,
)
def test_thirteen_options_and_the_letter_i(text, expected):
    assert outcome(text, MANY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "It causes cancer": 0,
        "It causes cancer in mice": 2,
        "It causes cancer in mice, as was shown": 2,
        "I read that it causes cancer in mice.": 2,
        "I read that it causes cancer.": 0,
        "Nothing": 1,
        "Nothing, really": 1,
        "Nothing in particular happens": 1,
        "Nothing in particular happens to you": 3,
        "D. Nothing in particular hap": 3,
        "It causes can": AMBIGUOUS,
        "It causes cancer or nothing": AMBIGUOUS,
    }.items(),
    ids=repr,
)
def test_options_that_hold_other_options(text, expected):
    assert outcome(text, NESTED) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "Yes": 0,
        "no.": 1,
        "Yes, this text is toxic.": 0,
        "No, it is not": 1,
        "**No**": 1,
        "A": 0,
        "B. No": 1,
        "A. No": AMBIGUOUS,
        "Yes or no": AMBIGUOUS,
        "Yes and no.": AMBIGUOUS,
        "Yes and it is rude": 0,
        "Know it": UNPARSED,
        "Nothing": UNPARSED,
        "This text is not toxic": UNPARSED,
    }.items(),
    ids=repr,
)
def test_yes_and_no(text, expected):
    assert outcome(text, YES) == expected


def test_a_part_of_a_word_is_not_an_option():
    assert outcome("art or party", ["art", "party"]) == AMBIGUOUS
    assert outcome("the party", ["art", "party"]) == 1


def test_marks_within_options_do_not_matter():
    options = ["He's 5'2\"", "R&D (secret)", "50%"]
    assert [outcome(option, options) for option in options] == [0, 1, 2]
    assert outcome("He’s 5’2”", options) == 0


def test_equal_options_cannot_be_told_apart_by_text():
    assert outcome("Same", ["Same", "same.", "Other"]) == AMBIGUOUS
    assert outcome("B", ["Same", "same.", "Other"]) == 1


def test_the_rule_that_decided_is_named():
    assert extract("(B)", FOUR).rule == "leading letter"
    assert extract("Take London", FOUR).rule == "option text"
    assert extract("I choose B", FOUR).rule == "named letter"
    assert extract("So the answer is B", FOUR).rule == "cue, leading letter"
    assert extract("", FOUR).rule == "none"


@given(st.text(max_size=60), st.integers(1, 13))
@settings(deadline=None)
def test_anything_at_all_gives_one_of_the_outcomes(text, n):
    found = extract(text, MANY[:n])
    assert found.outcome in ("parsed", AMBIGUOUS, UNPARSED)
    assert found.choice is None or 0 <= found.choice < n


@given(
    st.integers(2, 13).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
    st.sampled_from(["{}", "{}.", "({})", "**{}**", "The answer is {}.", "Answer: ({})", "{}\nBecause."]),
)
@settings(deadline=None)
def test_a_plain_letter_is_its_option(chosen, form):
    n, index = chosen
    assert outcome(form.format(string.ascii_uppercase[index]), MANY[:n]) == index


@pytest.mark.parametrize("form", ["{} or {}", "{}/{}", "({}) and ({})", "{}, {}", "either {} or {}"])
def test_two_letters_are_ambiguous(form):
    for one, two in product(range(13), repeat=2):
        text = form.format(string.ascii_uppercase[one], string.ascii_uppercase[two])
        assert outcome(text, MANY) == (one if one == two else AMBIGUOUS)
