"""How long notebooks took when they last ran in a profile, to say beforehand how long they will take.

One small file a notebook in ``build/<profile>/seconds``; it is no part of what is published.
"""

from collections.abc import Sequence

from benchtrust.compendium.published import build_folder


def note(notebook: str, profile: str, seconds: float) -> None:
    """Remember how long a run took."""
    path = build_folder(profile) / "seconds" / notebook
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{seconds:.1f}\n", encoding="utf-8")


def known(notebook: str, profile: str) -> float | None:
    """Seconds of the last run; None where there was none."""
    path = build_folder(profile) / "seconds" / notebook
    return float(path.read_text(encoding="utf-8")) if path.is_file() else None


def estimate(notebooks: Sequence[str], profile: str) -> str:
    """How long these will take one after the other, in words."""
    times = {notebook: known(notebook, profile) for notebook in notebooks}
    total = sum(seconds for seconds in times.values() if seconds is not None)
    unknown = sum(seconds is None for seconds in times.values())
    count = f"{len(notebooks)} notebook{'s' * (len(notebooks) != 1)} of the profile {profile}"
    if unknown == len(times):
        return f"{count}, none timed on this machine yet" if times else "nothing to run"
    left = f", and {unknown} not timed yet" if unknown else ""
    return f"{count}, about {in_words(total)}{left}"


def in_words(seconds: float) -> str:
    """Seconds up to two minutes, else minutes, else hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
