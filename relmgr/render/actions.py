"""From documents to what must be true on the forge. Pure: the same document gives the same actions, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from relmgr.errors import UserError
from relmgr.model.actions import Action, Annotation, Conclusion, UpsertCheck, UpsertComment, UpsertIssue
from relmgr.model.checklist import Checklist
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import RegenerationTicket, Tickets
from relmgr.model.ticket_block import marker as ticket_marker
from relmgr.model.ticket_block import write_block
from relmgr.model.verdict import Decision, GateReport
from relmgr.render.engine import SHIPPED, Words

CHECK_NAME = "relmgr"
_CONCLUSIONS: dict[Decision, Conclusion | None] = {"merge": "success", "wait": None, "block": "failure"}
_ISSUE_PAGE = re.compile(r"^https?://[^/\s]+/(?P<slug>[\w.-]+/[\w.-]+)/issues/(?P<number>[1-9]\d{0,8})/?(?:[?#]\S*)?$")
_TICKET_STATES = {"open": "open", "done": "done", "withdrawn": "withdrawn"}


def gate_actions(snapshot: Snapshot, report: GateReport, words: Words = SHIPPED) -> tuple[Action, ...]:
    """Return the comment and the check of a judged pull request; a check needs to know the head's commit.

    One that may merge, moves no pin and speaks of no order gets no comment, unless an older one has to be set right.
    A wait is a check that is not completed: a merge button stays closed, and nothing is red.
    """
    thread = thread_of(snapshot.subject)
    moves = any(move.moves for move in snapshot.pin_moves or ())
    quiet = report.decision == "merge" and not moves and not snapshot.suggestions
    comment = UpsertComment(thread=thread, key="gate", body=gate_comment(snapshot, report, words), only_update=quiet)
    actions: list[Action] = [comment]
    if snapshot.head is not None and snapshot.merged_at is None:
        check = UpsertCheck(
            repository=thread.repository,
            commit=snapshot.head,
            # Two pull requests can share a head: each has a check of its own (M9).
            key=f"gate/{thread.number}",
            name=CHECK_NAME,
            conclusion=_CONCLUSIONS[report.decision],
            title=" ".join(words.render("check_run/gate-title.txt.j2", d=report).split()),
            summary=tidy(words.render("check_run/gate.md.j2", d=report)),
            annotations=tuple(annotations_of(snapshot)),
        )
        actions.append(check)
    return tuple(actions)


def gate_comment(snapshot: Snapshot, report: GateReport, words: Words = SHIPPED) -> str:
    """Return what the gate says about a pull request, as Markdown for the forge."""
    return tidy(words.render("comment/gate.md.j2", d=report, snapshot=snapshot))


def annotations_of(snapshot: Snapshot) -> Iterable[Annotation]:
    """Yield remarks at lines of the change: pins that cross the ABI, and rules that would be refused (B8)."""
    crossing = {move.pin: move for move in snapshot.pin_moves or () if move.abi and move.abi.crossing}
    for pin in snapshot.pins or ():
        for site in pin.sites:
            move = crossing.get(pin.pin)
            if move is not None and move.abi is not None and site.line is not None:
                said = f"{move.contract} {move.abi.old} ({move.abi.old_convention}) -> "
                said += f"{move.abi.new} ({move.abi.new_convention}): kernels built before must be rebuilt"
                path = site.site.split(":")[0]
                yield _annotation(path, site.line, "warning", "this pin crosses the kernel ABI", said)
    for edit in snapshot.policy_edits or ():
        if edit.problem:
            yield _annotation(edit.path, _line_in(edit.problem, edit.path), "failure", "not accepted", edit.problem)


def ticket_actions(document: Tickets, words: Words = SHIPPED) -> tuple[Action, ...]:
    """Return the issue of each ticket; where somebody planned it before relmgr, a comment in that issue instead."""
    return tuple(
        _joined(ticket, document, words) if ticket.action == "join" else _filed(ticket, document)
        for ticket in document.tickets
    )


def _filed(ticket: RegenerationTicket, document: Tickets) -> UpsertIssue:
    return UpsertIssue.model_validate(
        {
            "repository": document.consumer,
            "marker": ticket_marker(ticket.data.key),
            "title": ticket.title[:256],
            "body": ticket.body,
            "state": _TICKET_STATES[ticket.state],
        }
    )


def _joined(ticket: RegenerationTicket, document: Tickets, words: Words) -> UpsertComment:
    """Return the comment that tells a person's own issue what relmgr found; without the block of an issue of ours."""
    thread = issue_at(ticket.url, document.consumer)
    if thread is None:
        raise UserError(
            f"the plan for {ticket.arch} is at {ticket.url or 'no address'}, no issue of {document.consumer}",
            next_step=f"give its `url` as https://HOST/{document.consumer}/issues/NUMBER",
        )
    found = ticket.body.replace(write_block(ticket.data), "")
    body = tidy(words.render("comment/ticket.md.j2", t=ticket, d=document, found=found))
    # Any train's name and any arch are words of a key.
    key = ",".join(quote(part, safe="") for part in (document.train, ticket.arch))
    return UpsertComment(thread=thread, key=f"ticket/{key}", body=body)


def issue_at(url: str | None, repository: str) -> PullRequestRef | None:
    """Return the issue of `repository` whose page `url` is, None when it is no such page."""
    match = _ISSUE_PAGE.match(url or "")
    if match is None or match["slug"].lower() != repository.lower():
        return None
    return PullRequestRef(repository=repository, number=int(match["number"]))


def checklist_action(project: Project, document: Checklist, repository: str, words: Words = SHIPPED) -> UpsertIssue:
    """Return the issue of a cut's checklist: what people tick and write in it stays, and once closed it stays so."""
    body = words.render("cut/checklist.md.j2", d=document)
    first = body.split("\n", 1)[0]
    if "<!-- relmgr:checklist=" not in first:
        # Only a project's own template can lose it.
        raise UserError(
            "the checklist's first line lacks its marker",
            where="cut/checklist.md.j2",
            next_step="keep the hidden markers of the shipped template: by them it is found again and merged",
        )
    title = f"Cut of {document.release}"
    return UpsertIssue(
        repository=project.repositories[repository].slug,
        marker=first,
        title=title,
        body=body,
        state=None,
        keep_hands=True,
    )


def tidy(text: str) -> str:
    """Return Markdown without runs of blank lines, with one newline at its end."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip("\n") + "\n"


def _annotation(path: str, line: int, level: str, title: str, message: str) -> Annotation:
    fields = {"path": path, "line": line, "end_line": line, "level": level, "title": title, "message": message}
    return Annotation.model_validate(fields)


def _line_in(problem: str, path: str) -> int:
    """Return the first line that a refusal names in its file, 1 where it names none."""
    rest = problem.split(f"{path}:", 1)[-1]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return int(digits[:9]) if f"{path}:" in problem and digits and int(digits[:9]) else 1


def thread_of(subject: str) -> PullRequestRef:
    """Return `owner/repo#n` as a name."""
    slug, _, number = subject.rpartition("#")
    return PullRequestRef(repository=slug, number=int(number))
