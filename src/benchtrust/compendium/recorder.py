"""The recorder: the only way by which a notebook publishes a figure, a table or a number."""

import math
import numbers
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchtrust import project
from benchtrust.compendium import fingerprints, kept, notebooks, svg
from benchtrust.compendium.ledger import FILE, RTOL, Artefact, Kind, Ledger, LedgerError
from benchtrust.compendium.parameters import conform
from benchtrust.compendium.profiles import MANUAL, PAPER
from benchtrust.errors import DataFileError, NotAskableError, pick

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RESULTS = "BENCHTRUST_RESULTS"
PROFILE = "BENCHTRUST_PROFILE"

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Recorder:
    """Publishes the artefacts of one notebook run, each with its data and a ledger entry.

    Parameters
    ----------
    notebook : str
        Id of the notebook, as in ``stability/rank_flips``.
    namespace : mapping
        Where the effective values of its parameters stand: ``globals()`` in a notebook. They are
        checked against the declared types, so a run by plain papermill is checked too.

    Notes
    -----
    Results go to the folder that the runner names (``BENCHTRUST_RESULTS``), else to
    ``build/manual/results/<notebook>``.
    """

    def __init__(self, notebook: str, namespace: Mapping[str, Any]) -> None:
        source = notebooks.read(notebooks.resolve(notebook))
        values = {name: namespace[name] for name in source.parameters if name in namespace}
        commit, dirty = fingerprints.commit()
        self._profile = os.environ.get(PROFILE, MANUAL)
        self._defaults = {name: parameter.default for name, parameter in source.parameters.items()}
        self._folder = _results_folder(source.id)
        self._ledger = Ledger(
            notebook=source.id,
            code=source.code_hash,
            parameters=conform(values, source.parameters),
            sources=fingerprints.sources(source.syntax),
            lock=fingerprints.lock(),
            commit=commit,
            dirty=dirty,
        )
        self._public: list[str] = []
        self._save()

    def input(self, path: str | Path, *, optional: bool = False) -> Path:
        """Register a file or folder that the notebook reads, and return its path.

        Parameters
        ----------
        path : path
            Relative to the repository root, or absolute inside it or inside the cache; anywhere in a
            run with parameters given by hand, so that own data can stand where they are.
        optional : bool
            A path that may be missing; its absence is registered, so that the notebook runs again once
            it is there.

        Raises
        ------
        FileNotFoundError
            The path is missing and not optional.
        ValueError
            The path lies elsewhere, and the run belongs to a profile of the book.
        """
        full = project.root() / path
        if not full.exists() and not optional:
            elsewhere = "" if Path(path).is_absolute() else f" in {project.root()}"
            made = " If another notebook makes it, run that first." if elsewhere else ""
            raise FileNotFoundError(f"Input {path} is missing{elsewhere}.{made}")
        name = fingerprints.name(full)
        if Path(name).is_absolute() and self._profile != MANUAL:
            raise ValueError(f"Input {path} lies outside the repository and the cache: move it into data/.")
        self._ledger.inputs[name] = fingerprints.of_file(full)
        self._save()
        return full

    def named(self, parameter: str, held: Iterable[str]) -> list[str]:
        """Models or benchmarks that a parameter names, among those that a table holds.

        A default names ours. In a run by hand on a table that lacks some of them it means the others, and
        on a table without any all that it holds: so own data take the place of ours by their path alone.

        Parameters
        ----------
        parameter : str
            Its value is a name, or a list of names; an empty list means all that the table holds.
        held : iterable of str
            A column of the table.

        Raises
        ------
        UnknownNameError
            A name that was given and that the table does not hold, with the nearest ones.
        """
        known = list(dict.fromkeys(held))
        value = self._ledger.parameters[parameter]
        wanted = [value] if isinstance(value, str) else value
        if self._profile == MANUAL and value == self._defaults[parameter]:
            wanted = [name for name in wanted if name in known]
        return [pick(name, known, "name of this table") for name in wanted] or known

    def sources(self, listed: str | list[str], own: str = "") -> list[str]:
        """Public matrices by their names, or files of own answers, which are registered as inputs.

        Parameters
        ----------
        listed : str or list of str
            Names and paths; a path has a suffix.
        own : str
            A file that takes the place of all of them.
        """
        wanted = [own] if own else [listed] if isinstance(listed, str) else listed
        for name in wanted:
            if Path(name).suffix:
                self.input(name)
        return wanted

    def beside(self, of: str, folder: str, parameter: str = "", *, optional: bool = False) -> Path | None:
        """Register an input that belongs to another one, and return its path.

        Parameters
        ----------
        of : str
            Parameter that holds the path of the other input.
        folder : str
            Where it lies beside the other: ``<parent>/<folder>/<name>``.
        parameter : str
            Holds another path for it. Left at its default it is ours, and does not belong to own data.
        optional : bool
            None is returned where own data have none, or the parameter is empty.

        Raises
        ------
        NotAskableError
            There is none, and it is not optional.
        """
        other, path = self._ledger.parameters[of], self._ledger.parameters.get(parameter, "")
        if not parameter or (self._is_own(of) and path == self._defaults[parameter]):
            path = str(Path(other).parent / folder / Path(other).name)
            if not (project.root() / path).exists() and not optional:
                raise NotAskableError(f"This needs {folder} beside the answers, in {path}; there are none.")
        missing = not path or not (project.root() / path).exists()
        return None if optional and missing else self.input(path)

    def _is_own(self, parameter: str = "responses_path") -> bool:
        """Whether own answers take the place of ours."""
        return self._ledger.parameters.get(parameter) != self._defaults.get(parameter)

    def levels(self, parameter: str, held: "pd.DataFrame") -> list[str]:
        """Levels that a parameter names together, as those of a configuration: a row of `held`, as texts.

        A default names a row of ours. In a run by hand on a table without it, it means the table's first.
        """
        rows = held.drop_duplicates().astype(str).to_numpy().tolist()
        value = self._ledger.parameters[parameter]
        ours = self._profile == MANUAL and value == self._defaults[parameter] and value not in rows
        return rows[0] if ours and rows else value

    def default(self, parameter: str) -> Any:
        """What a parameter is declared to be."""
        return self._defaults[parameter]

    @staticmethod
    def kebab(name: str) -> str:
        """A benchmark's or model's name as part of an artefact's."""
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

    def result(self, notebook: str, name: str) -> Path:
        """Register and return the data (CSV) of an artefact that another notebook has recorded.

        Give both names as literals: the runner reads from them which notebook has to run first.
        """
        for profile in (self._profile, PAPER) if self._profile == MANUAL else (self._profile,):
            path = project.root() / "build" / profile / "results" / notebook / f"{name}.csv"
            if path.exists():
                return self.input(path)
        raise FileNotFoundError(
            f"{notebook} has not recorded {name!r} in the profile {self._profile!r}. "
            f"Run it first: benchtrust run {notebook}"
        )

    def public(self, *files: str) -> bool:
        """Register upstream files that may not be on this machine, and say whether all of them are.

        What is recorded from here on, to the next call, is badged "recomputed here" or "from committed
        results". Compute and `keep` what needs the files only where they are; read it back by `kept`.

        Parameters
        ----------
        files : str
            Names under a data folder, as in ``data/sources.toml``.
        """
        paths = [self.input(project.data_file(file), optional=True) for file in files]
        self._public = [fingerprints.name(path) for path in paths]
        return self._here

    @property
    def _here(self) -> bool:
        return fingerprints.ABSENT not in (self._ledger.inputs[name] for name in self._public)

    def keep(self, **tables: "pd.DataFrame") -> None:
        """Keep results on the public files: numbers only, each table with a plain index.

        ``benchtrust data commit`` puts them into the repository, for machines without the files.
        """
        for name, table in tables.items():
            if name in self._ledger.kept:
                raise LedgerError(f"{name!r} is already kept by this notebook; names are unique.")
            self._write(kept.file(name), _csv(name, table))
            self._ledger.kept[name] = fingerprints.of_file(self._folder / kept.file(name))
        self._save()

    def kept(self, name: str) -> "pd.DataFrame":
        """Read results on the public files: kept by this run, or, without the files, the committed ones.

        Raises
        ------
        LedgerError
            Nothing of that name was kept.
        DataFileError
            The files are not here, and the committed results are missing or altered, or, in a run with
            parameters given by hand, were computed with others.
        """
        import pandas as pd

        path = self._folder / kept.file(name)
        if not self._here:
            absent = [n for n in self._public if self._ledger.inputs[n] == fingerprints.ABSENT]
            path, made_with = kept.committed(self._ledger.notebook, name, absent)
            if self._profile == MANUAL:
                self._require_same(made_with, absent)
            self._ledger.committed_with = made_with
            self.input(path.parent)
        elif name not in self._ledger.kept:
            raise LedgerError(f"Nothing is kept as {name!r}; kept: {', '.join(self._ledger.kept)}.")
        return pd.read_csv(path, keep_default_na=False, na_values=[""])

    def _require_same(self, made_with: Mapping[str, Any], absent: list[str]) -> None:
        """Refuse other parameters than the committed ones; where own answers are asked, that is left out."""
        try:
            kept.require_same(made_with, self._ledger.parameters, absent)
        except DataFileError as error:
            if self._is_own():
                raise NotAskableError(f"This is about public answers, not your own. {error}") from None
            raise

    def figure(
        self,
        name: str,
        fig: "Figure",
        data: "pd.DataFrame",
        alt: str,
        *,
        rtol: float = RTOL,
        atol: float = 0.0,
        live: bool = False,
    ) -> None:
        """Publish a figure as SVG for light and dark pages, with the data behind it, and close it.

        Parameters
        ----------
        name : str
            Kebab-case, unique over the book.
        fig : Figure
            Drawn under `benchtrust.plots.style`.
        data : DataFrame
            The numbers that the figure shows, with a plain index.
        alt : str
            What a reader who cannot see the figure needs to know: 20 to 400 characters.
        rtol, atol : float
            Tolerance of ``benchtrust check`` on `data`.
        live : bool
            The data are measured in this run (a timing, say) and differ from run to run.
        """
        self._claim(name)
        if not 20 <= len(alt.strip()) <= 400:
            raise LedgerError(f"Figure {name!r}: alt has {len(alt.strip())} characters; write 20 to 400.")
        light = svg.render(fig)
        self._write(f"{name}.svg", light)
        self._write(f"{name}.dark.svg", svg.darken(light))
        self._write(f"{name}.csv", _csv(name, data))
        files = (f"{name}.csv", f"{name}.dark.svg", f"{name}.svg")
        self._enter(name, "figure", files, alt=alt.strip(), rtol=rtol, atol=atol, live=live)

    def table(
        self,
        name: str,
        frame: "pd.DataFrame",
        *,
        formats: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        rtol: float = RTOL,
        atol: float = 0.0,
        live: bool = False,
    ) -> None:
        """Publish a table as CSV.

        Parameters
        ----------
        name : str
            Kebab-case, unique over the book.
        frame : DataFrame
            The table, with a plain index (`reset_index` first).
        formats : mapping, optional
            Column → format spec in the book, as in ``{"rho": ".2f"}``; the CSV keeps all digits.
        labels : mapping, optional
            Column → heading in the book.
        """
        self._claim(name)
        for option in (formats or {}, labels or {}):
            if unknown := sorted(set(option) - set(frame.columns)):
                raise LedgerError(
                    f"Table {name!r} has no column {unknown[0]!r}; it has: {', '.join(frame.columns)}."
                )
        self._write(f"{name}.csv", _csv(name, frame))
        shown = {"formats": dict(formats or {}), "labels": dict(labels or {})}
        self._enter(name, "table", (f"{name}.csv",), **shown, rtol=rtol, atol=atol, live=live)

    def number(
        self,
        name: str,
        value: float | str,
        format: str = "",
        *,
        rtol: float = RTOL,
        atol: float = 0.0,
        live: bool = False,
    ) -> None:
        """Publish a number, or a short text such as a model's name, for use in prose.

        Parameters
        ----------
        name : str
            Kebab-case, unique over the book.
        value : number or str
            A finite number, or up to 80 characters.
        format : str
            How it is shown: ``"d"``, ``".2f"``, ``".1%"``.
        """
        self._claim(name)
        plain = _plain_value(name, value)
        try:
            display = plain if isinstance(plain, str) else f"{plain:{format}}"
        except ValueError as error:
            raise LedgerError(
                f"Number {name!r}: format {format!r} does not fit {plain!r}: {error}."
            ) from None
        self._enter(
            name,
            "number",
            (),
            value=plain,
            display=display.replace("-", "−") if not isinstance(plain, str) else display,
            format=format,
            rtol=rtol,
            atol=atol,
            live=live,
        )

    def _claim(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise LedgerError(
                f"Artefact name {name!r} is not kebab-case: small letters, digits, single hyphens."
            )
        if name in self._ledger.artefacts:
            raise LedgerError(f"{name!r} is already recorded by this notebook; names are unique.")

    def _write(self, file: str, text: str) -> None:
        (self._folder / file).write_text(text, encoding="utf-8", newline="\n")

    def _enter(self, name: str, kind: Kind, files: tuple[str, ...], **details: Any) -> None:
        hashes = {file: fingerprints.of_file(self._folder / file) for file in files}
        self._ledger.artefacts[name] = Artefact(
            name,
            kind,
            hashes,
            sorted(self._ledger.inputs),
            public=self._public,
            committed=not self._here,
            **details,
        )
        self._save()

    def _save(self) -> None:
        missed = fingerprints.loaded() - set(self._ledger.sources)
        self._ledger.sources |= fingerprints.now(missed)
        self._ledger.write(self._folder)


def _results_folder(notebook: str) -> Path:
    """Empty folder for the results of this run."""
    if named := os.environ.get(RESULTS):
        folder = Path(named)
    else:
        folder = project.root() / "build" / MANUAL / "results" / notebook
        if (folder / FILE).exists():
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _csv(name: str, frame: "pd.DataFrame") -> str:
    """CSV text without index, twelve significant digits, always the same bytes."""
    import pandas as pd

    if not frame.index.equals(pd.RangeIndex(len(frame))) or frame.index.name:
        raise LedgerError(f"The data of {name!r} have a meaningful index: call reset_index() first.")
    if not all(isinstance(column, str) for column in frame.columns) or not frame.columns.is_unique:
        raise LedgerError(f"The columns of {name!r} must be distinct strings; found {list(frame.columns)}.")
    if frame.empty:
        raise LedgerError(
            f"The data of {name!r} are empty ({frame.shape[0]} rows, {frame.shape[1]} columns)."
        )
    return frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")


def _plain_value(name: str, value: Any) -> float | int | str:
    """Value as JSON holds it: int, float to twelve significant digits, or a short text."""
    if isinstance(value, str):
        if not 0 < len(value) <= 80:
            raise LedgerError(f"Text {name!r} has {len(value)} characters; a recorded text has 1 to 80.")
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise LedgerError(
            f"Number {name!r} is {value!r} ({type(value).__name__}); record a number or a text."
        )
    if not math.isfinite(value):
        raise LedgerError(
            f"Number {name!r} is {value!r}: record the words to show instead, as in 'undefined'."
        )
    return int(value) if isinstance(value, numbers.Integral) else float(f"{float(value):.12g}")
