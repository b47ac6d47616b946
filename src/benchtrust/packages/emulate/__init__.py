"""What a package would decide, worked out by our own harness from its recipe: prompts and logits alone.

A recipe has one field for each way in which the packages differ; a path leads from our nearest configuration
to a package's by one field a step. Nothing here reads what a package answered: the only files of a package
that are opened are those it is installed from.
"""

from benchtrust.packages.emulate.deciding import Engines, Request, answers, decisions, judge, request
from benchtrust.packages.emulate.extraction import answer_line, first_token
from benchtrust.packages.emulate.paths import agreement, implementations, path_scores, spread
from benchtrust.packages.emulate.prompts import helm_train, lay_out
from benchtrust.packages.emulate.recipes import (
    LEVELS,
    OURS,
    Recipe,
    Step,
    lenient,
    meaning,
    ours,
    path,
    recipe,
    recipes,
)

__all__ = [
    "LEVELS",
    "OURS",
    "Engines",
    "Recipe",
    "Request",
    "Step",
    "agreement",
    "answer_line",
    "answers",
    "decisions",
    "first_token",
    "helm_train",
    "implementations",
    "judge",
    "lay_out",
    "lenient",
    "meaning",
    "ours",
    "path",
    "path_scores",
    "recipe",
    "recipes",
    "request",
    "spread",
]
