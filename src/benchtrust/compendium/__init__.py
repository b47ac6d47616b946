"""The compendium: notebooks run with checked parameters, artefacts with a ledger, a book made of both.

Notebooks need `Recorder` alone. The rest is imported on first use, so that a kernel starts without
papermill and Sphinx.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchtrust.compendium.recorder import Recorder

if TYPE_CHECKING:
    from benchtrust.compendium.batch import run_all
    from benchtrust.compendium.book import build
    from benchtrust.compendium.checks import check
    from benchtrust.compendium.runner import run
    from benchtrust.compendium.verdicts import claims

__all__ = ["Recorder", "build", "check", "claims", "run", "run_all"]

_HOMES = {"build": "book", "check": "checks", "claims": "verdicts", "run": "runner", "run_all": "batch"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
