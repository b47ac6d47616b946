"""Profiles: one set of parameter values for the whole book, in ``profiles/<name>.toml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchtrust import project
from benchtrust.compendium import notebooks, parameters
from benchtrust.compendium.notebooks import Notebook
from benchtrust.errors import BenchtrustError, ParameterError, UnknownNameError, pick

PAPER = "paper"
"""The profile of the published book."""
MANUAL = "manual"
"""Where runs outside a profile go: by papermill alone, or with parameters given by hand."""


def available() -> dict[str, Path]:
    """Profile files by name."""
    return {path.stem: path for path in sorted((project.root() / "profiles").glob("*.toml"))}


def values(profile: str) -> dict[str, dict[str, Any]]:
    """Parameter values of a profile by notebook id, all checked against the notebooks' declarations.

    `MANUAL` has no file and no values.

    Raises
    ------
    UnknownNameError
        An unknown profile or notebook, with the nearest ones.
    ParameterError
        An unknown parameter or a value of the wrong type; the message names profile and notebook.
    """
    if profile == MANUAL:
        return {}
    files = available()
    if profile not in files:
        raise UnknownNameError(_unknown(profile, files))
    checked = {}
    for notebook, table in parameters.profile_values(files[profile]).items():
        try:
            if notebook not in notebooks.available():
                raise UnknownNameError(f"write the full id: {notebooks.resolve(notebook)}.")
            checked[notebook] = parameters.conform(table, notebooks.read(notebook).parameters)
        except BenchtrustError as error:
            kind = ParameterError if isinstance(error, ParameterError) else UnknownNameError
            raise kind(f"profiles/{profile}.toml, table {notebook!r}: {error}") from None
    return checked


def _unknown(profile: str, files: Mapping[str, Path]) -> str:
    try:
        near = pick(profile, files, "profile")
    except UnknownNameError as error:
        return str(error)
    return f"Unknown profile {profile!r}. Did you mean {near}? Valid: {', '.join(files)}."


def effective(source: Notebook, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults of a notebook with `chosen` put over them, after checking names and types."""
    defaults = {name: parameter.default for name, parameter in source.parameters.items()}
    return defaults | parameters.conform(chosen, source.parameters)
