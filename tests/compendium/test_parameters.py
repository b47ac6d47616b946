"""Declared parameters: read from source, set from the command line and profiles, by type."""

from pathlib import Path

import pytest

from benchtrust.compendium import profiles
from benchtrust.compendium.parameters import Parameter, conform, declared, parse
from benchtrust.errors import ParameterError, UnknownNameError

SOURCE = """
n_boot: int = 2000  # bootstrap draws
alpha: float = 1  # level
model: str = "7b"  # model's name
paired: bool = True
sizes: list[int] = [10, 20]
names: list[str] = ["a"]
rates: list[float] = [0.5, 1]
"""


def test_help_may_stand_at_any_line_of_a_declaration() -> None:
    found = declared('models: list[str] = [  # whom to compare\n    "a",\n    "b",\n]\nn: int = 1')
    assert found["models"].help == "whom to compare"
    assert found["models"].shown == "a, b"
    assert found["n"].help == ""


def test_declarations_keep_type_default_and_help() -> None:
    found = declared(SOURCE)
    assert list(found) == ["n_boot", "alpha", "model", "paired", "sizes", "names", "rates"]
    assert found["n_boot"] == Parameter("n_boot", "int", 2000, "bootstrap draws")
    assert found["alpha"].default == 1.0
    assert isinstance(found["alpha"].default, float)
    assert found["rates"].default == [0.5, 1.0]
    assert found["paired"].help == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("model=007", "007"),
        ("model=true", "true"),
        ("model=a=b", "a=b"),
        ("model=", ""),
        ("n_boot=-5", -5),
        ("alpha=3", 3.0),
        ("alpha=1e-3", 0.001),
        ("paired=false", False),
        ("paired=True", True),
        ("sizes=1,2, 3", [1, 2, 3]),
        ("sizes=[4, 5]", [4, 5]),
        ("sizes=", []),
        ("names=007,true", ["007", "true"]),
        ('names=["a,b", "c"]', ["a,b", "c"]),
        ("rates=1,0.5", [1.0, 0.5]),
    ],
)
def test_text_is_read_by_the_declared_type(text: str, value: object) -> None:
    name = text.partition("=")[0]
    found = parse([text], declared(SOURCE))[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "n_boot=3.0",
            "n_boot=true",
            "n_boot=",
            "alpha=x",
            "alpha=nan",
            "alpha=inf",
            "paired=1",
            "paired=yes",
        ),
        *("sizes=1,x", "sizes=[1.5]", "sizes=[1", "rates=a", 'names=["a", 1]'),
    ],
)
def test_wrong_type_says_declared_type_found_value_and_example(text: str) -> None:
    name, _, value = text.partition("=")
    with pytest.raises(ParameterError) as caught:
        parse([text], declared(SOURCE))
    kind = declared(SOURCE)[name].type
    for part in (repr(name), f"declared {kind}", "found", f"-p {name}="):
        assert part in str(caught.value)
    if not value.startswith("["):
        assert repr(value) in str(caught.value)


def test_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"'n_bot'.*Did you mean n_boot"):
        parse(["n_bot=5"], declared(SOURCE))
    with pytest.raises(ParameterError, match=r"'N_BOOT'.*Did you mean n_boot"):
        parse(["N_BOOT=5"], declared(SOURCE))
    with pytest.raises(ParameterError, match="declares no parameters"):
        parse(["x=5"], {})


@pytest.mark.parametrize("texts", [["n_boot"], ["n_boot=1", "n_boot=2"]])
def test_no_value_and_twice_are_errors(texts: list[str]) -> None:
    with pytest.raises(ParameterError, match=r"no value|given twice"):
        parse(texts, declared(SOURCE))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("n = 3", "typed literal"),
        ("n: int = 1.5", "declared int"),
        ("n: int = True", "declared int"),
        ("n: dict = {}", "valid types"),
        ("n: int = len('a')", "not a literal"),
        ("n: int", "typed literal"),
        ("import os", "typed literal"),
        ("n: int = 1\nn: int = 2", "declared twice"),
        ("n: int = ", "not valid Python"),
        ("n: list[int] = [1, 'a']", "declared list"),
    ],
)
def test_bad_declarations_are_refused(source: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        declared(source, "part/x")


@pytest.mark.parametrize("value", [True, 1.0, "5", None, [5]])
def test_python_values_are_not_converted(value: object) -> None:
    with pytest.raises(ParameterError, match="declared int"):
        conform({"n_boot": value}, declared(SOURCE))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('["part/other"]\nlevle = 0.1', ParameterError, "bad.toml.*part/other.*Did you mean level"),
        ('["part/other"]\nlevel = "0.1"', ParameterError, "declared float"),
        ('["part/othr"]\nlevel = 0.1', UnknownNameError, "Did you mean part/other"),
        ('["other"]\nlevel = 0.1', UnknownNameError, "full id: part/other"),
        ("level = 0.1", ParameterError, "one table"),
        ("[part.other]\nlevel = 0.1", ParameterError, "in quotes"),
        ("[", ParameterError, "not valid TOML"),
    ],
)
def test_profiles_are_checked_the_same_way(
    small_project: Path, text: str, error: type[Exception], message: str
) -> None:
    (small_project / "profiles/bad.toml").write_text(text)
    with pytest.raises(error, match=message):
        profiles.values("bad")


def test_unknown_profile_gives_the_nearest(small_project: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean smoke"):
        profiles.values("smokee")
    with pytest.raises(UnknownNameError, match="Did you mean smoke"):
        profiles.values("Smoke")
    assert profiles.values("smoke") == {"part/other": {"level": 0.1}}
