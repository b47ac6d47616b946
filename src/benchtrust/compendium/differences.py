"""Two profiles beside each other: which figures and numbers another set of parameters moves."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchtrust import project
from benchtrust.compendium import durations, ledger, notebooks, profiles
from benchtrust.compendium.comparison import SAME_BYTES, Found, compare, write_page
from benchtrust.compendium.ledger import Ledger
from benchtrust.compendium.published import build_folder
from benchtrust.compendium.runner import fresh, run
from benchtrust.errors import ParameterError


@dataclass(frozen=True)
class Difference:
    """The page, and the counts that it shows: artefacts that moved and artefacts compared."""

    page: Path
    moved: int
    compared: int


def diff(
    first: str,
    second: str,
    chosen: Sequence[str] = (),
    *,
    run_missing: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Difference:
    """Compare the results of two profiles and write one page of what moved.

    Parameters
    ----------
    first, second : str
        Names of files in ``profiles/``.
    chosen : sequence of str
        Notebooks to compare; those of the book where none is named.
    run_missing : bool
        Run what has no fresh results, after `say` was told how long that takes; else compare what is there.

    Raises
    ------
    ParameterError
        The same profile twice, or nothing to compare.
    """
    if first == second:
        raise ParameterError(f"Both profiles are {first!r}: name two.")
    for profile in (first, second):
        profiles.values(profile)
    names = [notebooks.resolve(name) for name in chosen] or notebooks.in_book()
    if run_missing:
        for profile in (first, second):
            _run_missing(names, profile, say)
    sides = [ledger.read_all(build_folder(profile) / "results") for profile in (first, second)]
    both = [name for name in names if all(name in side for side in sides)]
    if not both:
        raise ParameterError(f"No notebook has results in both {first} and {second}.")
    found = [one for name in both for one in _compare(name, first, second)]
    moved = [one for one in found if one[1].outcome != SAME_BYTES]
    page = write_page(
        project.root() / "build" / "diff" / f"{first}--{second}",
        f"{first} and {second}",
        _summary(both, names, sides, moved, found),
        moved,
        (first, second),
    )
    return Difference(page, len(moved), len(found))


def _run_missing(names: Sequence[str], profile: str, say: Callable[[str], None]) -> None:
    """Run the notebooks whose results in a profile are missing or stale."""
    missing = [name for name in names if not fresh(name, profile)]
    if missing:
        say(f"To run: {durations.estimate(missing, profile)}.")
    for number, name in enumerate(missing, start=1):
        say(f"{number} of {len(missing)}: {name}")
        run(name, profile=profile)


def _compare(name: str, first: str, second: str) -> Iterator[Found]:
    """Each artefact that either profile has recorded of one notebook."""
    folders = tuple(build_folder(profile) / "results" / name for profile in (first, second))
    old, new = (ledger.read(folder).artefacts for folder in folders)
    for artefact in dict.fromkeys([*old, *new]):
        yield name, compare(old.get(artefact), new.get(artefact), *folders), folders


def _summary(
    both: Sequence[str],
    names: Sequence[str],
    sides: Sequence[dict[str, Ledger]],
    moved: Sequence[Found],
    found: Sequence[Found],
) -> str:
    """What was compared, how much moved, which parameters differ."""
    left = [name for name in names if name not in both]
    text = f"{len(moved)} of {len(found)} artefacts of {len(both)} notebooks moved."
    if left:
        text += f" Without results in both: {', '.join(left)}."
    pairs = {name: list(_parameters(sides[0][name], sides[1][name])) for name in both}
    changed = [f"{name}: {', '.join(lines)}" for name, lines in pairs.items() if lines]
    return f"{text} Parameters that differ: {'; '.join(changed) or 'none'}."


def _parameters(old: Ledger, new: Ledger) -> Iterator[str]:
    for name in dict.fromkeys([*old.parameters, *new.parameters]):
        before, after = old.parameters.get(name), new.parameters.get(name)
        if before != after:
            yield f"{name} {before!r} → {after!r}"
