"""Logs that the packages themselves wrote, as copies to spoil."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

LOGS = Path(__file__).parent / "logs"


@pytest.fixture
def logs(tmp_path) -> Path:
    """A copy of all logs."""
    return Path(shutil.copytree(LOGS, tmp_path / "logs", ignore=shutil.ignore_patterns("README.md")))


@pytest.fixture
def edit() -> Callable:
    """Change a JSON file in place: ``edit(path, lambda content: ...)`` works on the loaded content."""

    def change(path: Path, how: Callable) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        changed = how(content)
        path.write_text(json.dumps(content if changed is None else changed), encoding="utf-8")

    return change


@pytest.fixture
def edit_lines() -> Callable:
    """Change a file of JSON lines in place: each is handed over, and dropped where None comes back."""

    def change(path: Path, how: Callable) -> None:
        rows = [how(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        kept = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows if row is not None]
        path.write_text("".join(kept), encoding="utf-8")

    return change
