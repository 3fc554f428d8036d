"""Release notes: the commits of a range, what is known about them, and the notes made from both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from relmgr.model.abi import AbiVersion
from relmgr.model.audit import AuditFinding, ReleaseFacts
from relmgr.model.base import Confidence, Convention, Noun
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange, PinState
from relmgr.model.ticket import ScannedFile

CommitKind = Literal["change", "branch-merge", "pull-merge", "part"]
GroupedBy = Literal["category-block", "fragment", "label", "guess"]
DatabaseChange = Literal["unchanged", "changed", "re-packed", "moved", "added", "removed", "pruned", "regenerated"]
Direction = Literal["forward", "backward", "sideways", "same", "unknown"]


# -- facts ----------------------------------------------------------------------------------------------------------


class RangeCommit(Noun):
    """One commit of a range. `title` is its subject, or the pull request's title of a merge, without `numbers`.

    `numbers` are the pull requests named at its end, its own last (`x (#1) (#2)` is #2, a pick of #1). A `part` came in
    by the pull request that `part_of` merged; a `branch-merge` is no change of its own.
    """

    commit: str
    parents: tuple[str, ...]
    committed_at: datetime
    author: str
    subject: str
    body: str
    title: str
    numbers: tuple[int, ...]
    kind: CommitKind
    part_of: str | None = None
    picked_from: tuple[str, ...] = ()

    @property
    def pr(self) -> int | None:
        """Its own pull request."""
        return self.numbers[-1] if self.numbers else None


class SamePatch(Noun):
    """Two commits that change the same: by an equal patch, by saying so, or by one number under different patches."""

    commit: str
    other: str
    by: Literal["equal-patch", "trailer", "number"]


class RangeFacts(Noun):
    """The commits that `to` has and `from_` has not (`commits`), and the reverse (`missing`), oldest first.

    `elsewhere` pairs a commit of the range with one that only `from_` has; `twice` pairs two commits of the range.
    """

    from_: str
    from_commit: str
    to: str
    to_commit: str
    to_at: datetime
    commits: tuple[RangeCommit, ...]
    missing: tuple[RangeCommit, ...] = ()
    elsewhere: tuple[SamePatch, ...] = ()
    twice: tuple[SamePatch, ...] = ()
    gaps: tuple[str, ...] = ()


class PullText(Noun):
    """What a forge, or a recorded file, says of a pull request."""

    number: int
    title: str = ""
    body: str | None = None
    labels: tuple[str, ...] = ()
    author: str | None = None


class Fragment(Noun):
    """One note that the project keeps in a file. `commit` brought it in, `numbers` are named by its file's name.

    `category` is the project's own word: a type of towncrier's, a category of scriv's.
    """

    path: str
    category: str
    text: str
    commit: str
    numbers: tuple[int, ...] = ()


class ProviderRange(Noun):
    """The provider, under all its `names`, between the two pins; without `facts`, `gap` says why they are not there."""

    repository: str
    old: str | None
    new: str | None
    direction: Direction
    facts: RangeFacts | None
    gap: str | None = None
    names: tuple[str, ...] = ()


class NotesFacts(Noun):
    """Everything notes are made of, frozen. `pulls` is None when no forge and no file was asked.

    `names` are all that the consumer has or had, `owner/repo`.
    """

    consumer: str
    provider: str
    forge: str
    range_: RangeFacts
    version: str | None
    pulls: tuple[PullText, ...] | None
    fragments: tuple[Fragment, ...]
    pin_changes: tuple[PinChange, ...]
    before: SideFacts
    after: ReleaseFacts
    provider_range: ProviderRange
    scans: tuple[ScannedFile, ...] = ()
    findings: tuple[AuditFinding, ...] = ()
    gaps: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class SideFacts(Noun):
    """The start of a range: the pin, its number, the databases."""

    state: PinState
    abi: AbiVersion | None
    databases: tuple[DatabaseFact, ...]


# -- the document ---------------------------------------------------------------------------------------------------


class NoteEntry(Noun):
    """One change. `text` is as people wrote it; `is_markdown` for a fragment's. `commits` oldest first.

    `picks` are the pull requests it is a pick of, `also` says in what form `from` has it already, `reverts` which
    change from before the range it takes back, `moves_pin` the step of the pin it made.
    """

    text: str
    pr: int | None
    commits: tuple[str, ...]
    grouped_by: GroupedBy
    is_markdown: bool = False
    picks: tuple[int, ...] = ()
    also: SamePatch | None = None
    reverts: str | None = None
    moves_pin: PinChange | None = None


class NoteSection(Noun):
    """A heading with its entries, oldest first."""

    heading: str
    entries: tuple[NoteEntry, ...]


class NettedChange(Noun):
    """A change that the range brings and takes back; it is in no section, and neither is its revert."""

    text: str
    pr: int | None
    commit: str
    reverted_by: str
    reverted_by_pr: int | None


class LeftOut(Noun):
    """A change that is in no section, and why."""

    text: str
    pr: int | None
    commits: tuple[str, ...]
    why: Literal["already-in-from", "not-applicable"]
    as_commit: str | None = None
    by: Literal["equal-patch", "trailer", "number"] | None = None


class AbiSide(Noun):
    """The pin at one end of the range, and the number behind it."""

    ref: str | None
    repository: str | None
    number: int | None
    convention: Convention
    confidence: Confidence | None
    source: str


class NotesAbi(Noun):
    """The kernel ABI at both ends. `crossing` None: it could not be told. `crossed_by` are the moves that crossed."""

    provider: str
    macro: str | None
    old: AbiSide
    new: AbiSide
    crossing: bool | None
    moves: tuple[PinChange, ...]
    crossed_by: tuple[PinChange, ...]
    user_caches: str


class NotesDatabase(Noun):
    """One kernel database over the range. `state` is what its age or a scan says under the new number.

    "changed" says no more than that the bytes differ; "pruned" and "regenerated" are said only of scanned files.
    """

    path: str
    arch: str | None
    change: DatabaseChange
    state: str
    old_size: int | None
    new_size: int | None
    storage: str | None
    commit: str | None
    committed_at: datetime | None
    pr: int | None
    subject: str | None
    was: tuple[str, ...] = ()


class NotesDatabases(Noun):
    """The kernel databases at both ends; sizes in bytes, None when one is unknown."""

    files: tuple[NotesDatabase, ...]
    old_total: int | None
    new_total: int | None

    def changed(self) -> tuple[NotesDatabase, ...]:
        """The files that differ."""
        return tuple(file for file in self.files if file.change != "unchanged")

    def of_state(self, *states: str) -> tuple[NotesDatabase, ...]:
        """The files in one of `states` at the end of the range."""
        return tuple(file for file in self.files if file.state in states)


class KnownIssue(Noun):
    """An open finding about `to`; `kind` is the audit's."""

    kind: str
    outcome: str
    paths: tuple[str, ...]
    commit: str | None
    evidence: dict[str, object]
    remedy: str


class ProviderNotes(Noun):
    """The provider's changes that came in with the pin; `entries` None: not read, `gap` says why."""

    repository: str
    old: str | None
    new: str | None
    direction: Direction
    commits: int | None
    entries: tuple[NoteEntry, ...] | None
    netted: tuple[NettedChange, ...] = ()
    gap: str | None = None
    compare: str | None = None


class Contributor(Noun):
    """Who wrote changes of the range, by the name in git; bots are left out."""

    name: str
    commits: int


class NotesCounts(Noun):
    """`pull_requests` are distinct numbers at the ends of subjects; `remaining` those left after reverts are netted."""

    commits: int
    branch_merges: int
    pull_requests: int
    remaining: int
    guessed: int


class Notes(Noun):
    """The document of `notes show`."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    from_: str = Field(alias="from")
    to: str
    from_commit: str
    to_commit: str
    to_at: datetime
    consumer: str
    title: str | None
    compare: str
    counts: NotesCounts
    sections: tuple[NoteSection, ...]
    abi: NotesAbi
    databases: NotesDatabases
    known_issues: tuple[KnownIssue, ...]
    netted: tuple[NettedChange, ...]
    left_out: tuple[LeftOut, ...]
    provider: ProviderNotes
    contributors: tuple[Contributor, ...]
    gaps: tuple[str, ...]

    def entries(self) -> Iterator[tuple[str, NoteEntry]]:
        """Yield every entry with its heading."""
        for section in self.sections:
            for entry in section.entries:
                yield section.heading, entry


class MissingNote(Noun):
    """Something that changed and that the notes do not say; `component` names what, `remedy` what to write."""

    component: Literal["section", "pull-request", "change", "provider", "kernel-abi", "kernel-databases"]
    level: Literal["error", "warning"]
    detail: str
    remedy: str


class NotesCheck(Noun):
    """The document of `notes check`; `preview` is the section, or the entry of one pull request, as it will read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    from_: str = Field(alias="from")
    to: str
    pull_request: int | None
    changelog: str
    section: str | None
    missing: tuple[MissingNote, ...]
    preview: str

    @property
    def fails(self) -> bool:
        """Tell whether something must be written."""
        return any(item.level == "error" for item in self.missing)


class ChangelogPlan(Noun):
    """The document of `notes write`: what becomes of the section. `by-hand`: a section that relmgr did not write."""

    path: str
    title: str
    action: Literal["insert", "update", "unchanged", "by-hand"]
    added: int
    removed: int
    diff: str
    applied: bool = False


NotesFacts.model_rebuild()
