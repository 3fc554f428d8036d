"""The shipped databases of a subject: what is there, what scans and find-dbs tell of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relmgr.errors import RelmgrError
from relmgr.gate.tickets import shipped_databases
from relmgr.model.project import PinConfig, Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import DatabaseFacts
from relmgr.sources.databases.find_dbs import FindDbs
from relmgr.sources.git.clone import Clone
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.ticket_facts import read_listed_databases, read_rebuild_facts
from relmgr.workflows.ticket import read_scans


def with_databases(
    project: Project, snapshot: Snapshot, clone: Clone, scans: Sequence[Path] = (), databases: Sequence[str] = ()
) -> Snapshot:
    """Return the snapshot with the databases as its subject leaves them; what could not be read is a gap.

    `scans` are documents of `kdb scan`, `databases` files, folders and globs to scan now. Mistakes in what was handed
    in are raised; the repository's own troubles block and are named.
    """
    pin = kernel_pin(project, snapshot.repository)
    if not project.repositories[snapshot.repository].databases or snapshot.head is None or pin is None:
        return snapshot.model_copy(update={"databases": ()})
    given = bool(scans or databases)
    try:
        facts = _read(project, pin, clone, snapshot.head, aged=given or _ships(snapshot))
    except RelmgrError as error:
        return snapshot.model_copy(update={"gaps": snapshot.gaps | {"databases": " ".join(str(error).split())}})
    if given:
        facts = facts.model_copy(update={"scans": read_scans(project, pin, facts.convention, scans, databases)})
    if given or _ships(snapshot) or any(move.moves for move in snapshot.pin_moves or ()):
        facts = _with_solvers(project, pin, clone, snapshot.head, facts)
    gaps = {fact: said for fact, said in snapshot.gaps.items() if fact != "databases"}
    return snapshot.model_copy(update={"databases": shipped_databases(facts), "gaps": gaps})


def kernel_pin(project: Project, consumer: str) -> PinConfig | None:
    """Return the pin whose provider's kernels the consumer's databases hold: the first with a contract."""
    return next((pin for pin in project.pins if pin.consumer == consumer and pin.contract), None)


def _ships(snapshot: Snapshot) -> bool:
    """Tell whether what is judged ships: a cut, a release, or a change to a release branch."""
    return snapshot.kind != "pull-request" or snapshot.base not in (None, snapshot.default_branch)


def _read(project: Project, pin: PinConfig, clone: Clone, commit: str, *, aged: bool) -> DatabaseFacts:
    """Return the databases of a commit; ages take the whole history, which a shallow clone does not have."""
    abi = AbiReader(project, pin)
    if not aged or clone.shallow:
        return read_listed_databases(clone, project, pin, abi, commit)
    found = read_rebuild_facts(clone, project, pin, abi, commit)
    return DatabaseFacts(abi=found.abi, moves=found.moves, databases=found.databases)


def _with_solvers(project: Project, pin: PinConfig, clone: Clone, commit: str, facts: DatabaseFacts) -> DatabaseFacts:
    contract = project.contract(pin)
    reader = FindDbs(clone, project.repositories[pin.consumer], contract.solvers if contract else ())
    told = reader.beside(commit, [database.fact for database in facts.databases])
    dated = zip(facts.databases, told, strict=True)
    return facts.model_copy(
        update={"databases": tuple(database.model_copy(update={"fact": fact}) for database, fact in dated)}
    )
