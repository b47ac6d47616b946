"""Parameters of a notebook: declared in its one `parameters` cell, checked by declared type.

A declaration is an annotated literal, its trailing comment the help text::

    n_boot: int = 2000  # bootstrap draws
"""

import ast
import io
import json
import math
import tokenize
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchtrust.errors import ParameterError, UnknownNameError, pick

EXAMPLES = {
    "int": "200",
    "float": "0.5",
    "str": "text",
    "bool": "true",
    "list[int]": "1,2,3",
    "list[float]": "0.1,0.5",
    "list[str]": "first,second",
}
_SCALARS: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, declared type, default value and help text."""

    name: str
    type: str
    default: Any
    help: str = ""

    @property
    def shown(self) -> str:
        """The default as it would be given on the command line; what is empty as Python has it."""
        if isinstance(self.default, list) and self.default:
            return ", ".join(map(str, self.default))
        return str(self.default) if self.default not in ("", []) else repr(self.default)

    @cached_property
    def example(self) -> str:
        """How the parameter is set on the command line."""
        return f"-p {self.name}={EXAMPLES[self.type]}"

    def conform(self, value: Any) -> Any:
        """Return `value` as the declared type; a whole number is a valid float, nothing else is converted.

        Raises
        ------
        ParameterError
            The value is of another type; the message gives type, value and an example.
        """
        if self.type.startswith("list["):
            if not isinstance(value, list | tuple):
                raise self._refusal(value)
            return [self._scalar(self.type[5:-1], entry, value) for entry in value]
        return self._scalar(self.type, value, value)

    def parse(self, text: str) -> Any:
        """Return the value that `text` from the command line means under the declared type."""
        if not self.type.startswith("list["):
            return self._parse_scalar(self.type, text, text)
        if text.lstrip().startswith("["):
            try:
                return self.conform(json.loads(text))
            except json.JSONDecodeError:
                raise self._refusal(text) from None
        entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
        return [self._parse_scalar(self.type[5:-1], entry, text) for entry in entries]

    def _scalar(self, kind: str, value: Any, whole: Any) -> Any:
        if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not _SCALARS[kind] or (isinstance(value, float) and not math.isfinite(value)):
            raise self._refusal(whole)
        return value

    def _parse_scalar(self, kind: str, text: str, whole: str) -> Any:
        if kind == "str":
            return text
        if kind == "bool":
            if text.casefold() not in ("true", "false"):
                raise self._refusal(whole)
            return text.casefold() == "true"
        try:
            return self._scalar(kind, _SCALARS[kind](text), whole)
        except ValueError:
            raise self._refusal(whole) from None

    def _refusal(self, value: Any) -> ParameterError:
        return ParameterError(
            f"Parameter {self.name!r} is declared {self.type} (default {self.default!r}); found {value!r}. "
            f"Example: {self.example}"
        )


def declared(source: str, notebook: str = "notebook") -> dict[str, Parameter]:
    """Read the declarations of a parameters cell.

    Parameters
    ----------
    source : str
        The cell's code.
    notebook : str
        Name used in error messages.

    Returns
    -------
    dict
        Parameters by name, in the order of the cell.

    Raises
    ------
    ParameterError
        A statement that is not a typed literal, or a name declared twice.
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(f"{notebook}: the parameters cell is not valid Python: {error}") from None
    comments = _comments(source)
    found: dict[str, Parameter] = {}
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        help = next((comments[line] for line in lines if line in comments), "")
        parameter = _declaration(statement, help, notebook)
        if parameter.name in found:
            raise ParameterError(f"{notebook}: parameter {parameter.name!r} is declared twice.")
        found[parameter.name] = parameter
    return found


def _declaration(statement: ast.stmt, comment: str, notebook: str) -> Parameter:
    line = ast.unparse(statement)
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
            pass
        case _:
            raise ParameterError(
                f"{notebook}: the parameters cell holds {line!r}; write every parameter as a typed literal, "
                "as in 'n_boot: int = 2000  # help text'."
            )
    kind = ast.unparse(annotation)
    if kind not in EXAMPLES:
        raise ParameterError(f"{notebook}: {line!r} has type {kind}; valid types: {', '.join(EXAMPLES)}.")
    try:
        default = ast.literal_eval(value)
    except ValueError:
        raise ParameterError(f"{notebook}: {line!r} is not a literal; compute it in a later cell.") from None
    return Parameter(name, kind, Parameter(name, kind, default).conform(default), comment)


def _comments(source: str) -> dict[int, str]:
    """Comments by line number."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}


def parse(texts: Iterable[str], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Read ``name=value`` strings by the declared types.

    Raises
    ------
    ParameterError
        An unknown name (with the nearest valid ones), a wrong type, a name given twice.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"Parameter {text!r} has no value: write name=value.")
        parameter = _find(name.strip(), parameters)
        if parameter.name in values:
            raise ParameterError(f"Parameter {parameter.name!r} is given twice.")
        values[parameter.name] = parameter.parse(value)
    return values


def conform(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Check Python values (from a profile or a caller) against the declarations."""
    return {name: _find(name, parameters).conform(value) for name, value in values.items()}


def _find(name: str, parameters: Mapping[str, Parameter]) -> Parameter:
    """Exact names only: a parameter's name is code."""
    if name in parameters:
        return parameters[name]
    if not parameters:
        raise ParameterError(f"Unknown parameter {name!r}: this notebook declares no parameters.")
    try:
        near = pick(name, parameters, "parameter")
    except UnknownNameError as error:
        raise ParameterError(str(error)) from None
    raise ParameterError(f"Unknown parameter {name!r}. Did you mean {near}? Valid: {', '.join(parameters)}.")


def profile_values(path: Path) -> dict[str, dict[str, Any]]:
    """Read a profile: one TOML table per notebook, ``["stability/rank_flips"]``."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path.name} is not valid TOML: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict) or any(isinstance(value, dict) for value in table.values()):
            raise ParameterError(
                f'{path.name}: {name!r} must be one table of parameter values; write ["{name}/…"] in quotes.'
            )
    return tables
