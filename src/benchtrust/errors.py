"""Named errors: each says what was found and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class BenchtrustError(Exception):
    """Base of all errors that a user can act on."""


class UnknownNameError(BenchtrustError, KeyError):
    """A name that is not in its list; the message holds the nearest valid ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class SchemaError(BenchtrustError, ValueError):
    """A response table that breaks the schema: column, row, rule."""


class NotAskableError(SchemaError):
    """Sound responses of which a question cannot be asked: what it needs and what they have.

    In a run on own data the sections of the page that ask it are left out, and say this.
    """


class DataFileError(BenchtrustError, FileNotFoundError):
    """A data file that is missing or altered: its name, the hashes, how to get it."""


class ParameterError(BenchtrustError, ValueError):
    """A notebook parameter with an unknown name or a value of the wrong type."""


class PackageError(BenchtrustError, RuntimeError):
    """An evaluation package that is missing, has another version than the pinned one, or failed."""


class FewRespondentsWarning(UserWarning):
    """A calibration on so few respondents that its item parameters are rough."""


class NotConvergedWarning(UserWarning):
    """An iteration that stopped before it converged."""


class NoAnswersWarning(UserWarning):
    """Models or items of a file without any answer, which are left out."""


class UnnamedAxesWarning(UserWarning):
    """A matrix whose axes do not say which holds respondents and which items."""


class LogError(BenchtrustError, ValueError):
    """A log of an evaluation package that is empty, cut off, incomplete or contradicts itself."""


class ForeignLogError(LogError):
    """A file that is no log of a package that is read here."""


class LogVersionError(LogError):
    """A log that does not say which version of its package wrote it, or logs of several versions."""


def fold(name: str) -> str:
    """Name without case and punctuation, so that ``CrowS-Pairs`` finds ``crows_pairs``."""
    return "".join(c for c in str(name).casefold() if c.isalnum())


def pick(name: str, valid: Iterable[str], what: str) -> str:
    """Return the entry of `valid` that `name` means, or raise with the nearest ones.

    Case and punctuation are ignored; nothing is ever guessed beyond that.
    """
    names = list(valid)
    by_fold = {fold(entry): entry for entry in names}
    if fold(name) in by_fold:
        return by_fold[fold(name)]
    near = _nearest(fold(name), by_fold)
    hint = f"Did you mean {', '.join(near)}? " if near else ""
    raise UnknownNameError(f"Unknown {what} {name!r}. {hint}Valid: {', '.join(names)}.")


def _nearest(folded: str, by_fold: dict[str, str]) -> list[str]:
    """Up to three names: those that hold it, then those spelt alike, then those that begin alike."""
    begins = [f for f in by_fold if folded and f.startswith(folded[:4])]
    holds = [f for f in by_fold if folded and folded in f]
    alike = get_close_matches(folded, list(by_fold), n=3, cutoff=0.5)
    return [by_fold[f] for f in dict.fromkeys([*holds, *alike, *begins])][:3]
