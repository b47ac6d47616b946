"""From an artefact back to the data: what it was made from, and which of it has changed since."""

from rich.tree import Tree

from benchtrust.compendium import fingerprints, ledger, notebooks, profiles
from benchtrust.compendium.ledger import Artefact, Ledger
from benchtrust.compendium.published import recorded


def tree(name: str, profile: str = profiles.PAPER) -> Tree:
    """Tree of an artefact's origins, with the state of each."""
    ledgers = recorded(profile)
    home, artefact = ledger.find(name, ledgers)
    return _grow(Tree(_title(home, artefact)), home, artefact, ledgers, profile)


def moved(name: str, profile: str = profiles.PAPER) -> list[str]:
    """What has changed since an artefact was recorded, over its whole line of origin; empty if nothing."""
    ledgers = recorded(profile)
    home, artefact = ledger.find(name, ledgers)
    found = list(_moved(home, artefact))
    for input_name in artefact.inputs:
        if earlier := _maker(input_name, ledgers, profile):
            found += moved(earlier[1].name, profile)
    return list(dict.fromkeys(found))


def _moved(home: Ledger, artefact: Artefact) -> list[str]:
    """What has changed of an artefact's own notebook run."""
    source = notebooks.read(home.notebook)
    found = fingerprints.changed({name: home.inputs[name] for name in artefact.inputs})
    if source.code_hash != home.code:
        found.append(f"notebooks/{home.notebook}.ipynb")
    found += fingerprints.changed(home.sources)
    if fingerprints.lock() != home.lock:
        found.append(fingerprints.LOCK)
    return found


def _grow(branch: Tree, home: Ledger, artefact: Artefact, ledgers: dict[str, Ledger], profile: str) -> Tree:
    changed = set(_moved(home, artefact))
    notebook = f"notebooks/{home.notebook}.ipynb"
    branch.add(_line(notebook, home.code, changed))
    values = ", ".join(f"{name} = {value!r}" for name, value in home.parameters.items())
    branch.add(f"parameters: {values or 'none'}")
    modules = branch.add(
        f"modules: {len(home.sources)} files under src/, {len(changed & set(home.sources))} changed"
    )
    for name in sorted(changed & set(home.sources)):
        modules.add(_line(name, home.sources[name], changed))
    branch.add(_line(fingerprints.LOCK, home.lock, changed))
    branch.add(f"commit {home.commit or 'none'}{' with local changes' if home.dirty else ''}")
    inputs = branch.add(f"inputs: {len(artefact.inputs)}")
    for name in artefact.inputs:
        leaf = inputs.add(_line(name, home.inputs[name], changed))
        if earlier := _maker(name, ledgers, profile):
            _grow(leaf.add(_title(*earlier)), *earlier, ledgers, profile)
    return branch


def _maker(name: str, ledgers: dict[str, Ledger], profile: str) -> tuple[Ledger, Artefact] | None:
    """The artefact, with its ledger, whose data file an input is."""
    for home in ledgers.values():
        for artefact in home.artefacts.values():
            if artefact.data and name == f"build/{profile}/results/{home.notebook}/{artefact.data}":
                return home, artefact
    return None


def _title(home: Ledger, artefact: Artefact) -> str:
    return f"[bold]{artefact.name}[/] ({artefact.kind} of {home.notebook})"


def _line(name: str, recorded: str, changed: set[str]) -> str:
    state = f"[red]changed since: now {_now(name)}[/]" if name in changed else "[green]unchanged[/]"
    return f"{name} {recorded[:12]} {state}"


def _now(name: str) -> str:
    """Present hash of an input, a module, the lock or a notebook's code, shortened."""
    if name.startswith("notebooks/"):
        return notebooks.read(name.removeprefix("notebooks/").removesuffix(".ipynb")).code_hash[:12]
    return fingerprints.of_file(fingerprints.locate(name))[:12]
