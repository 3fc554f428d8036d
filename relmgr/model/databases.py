"""Kernel databases as git holds them: where, which content, since when. What is inside them is `kernel_db`'s matter."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.base import Convention, Noun


class SolverEvidence(Noun):
    """What the find-dbs beside a database say of its rows.

    `may_hold` is False when every one of them was read and none names a solver that launches the provider's kernels,
    True when one does, and None when that could not be told: then `why` says what was not read.
    """

    may_hold: bool | None
    files: tuple[str, ...] = ()
    why: str = ""


class Introduction(Noun):
    """The first commit of a history in which a content appeared; `repacked_from` are files that it replaced at once."""

    commit: str
    committed_at: datetime
    pr: int | None
    subject: str
    repacked_from: tuple[DatabaseFact, ...] = ()


class DatabaseFact(Noun):
    """One database file at a commit. `oid` is the content's id: LFS sha256, DVC md5, or git's blob id for content.

    `size` is in bytes, None when unknown. `introduced` is None when it was not looked for; `after_crossing` tells
    whether that was after the last crossing of the history, `built_under` the convention in force then.
    `solvers` is None when no find-db was looked for.
    """

    path: str
    arch: str | None
    cu_count: int | None
    known_arch: bool
    storage: Literal["content", "git-lfs", "dvc", "missing"]
    oid: str
    size: int | None
    introduced: Introduction | None = None
    after_crossing: bool | None = None
    built_under: Convention | None = None
    solvers: SolverEvidence | None = None


Introduction.model_rebuild()
