"""What each command in a comment does: it may make something so on the forge, and returns its part of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.gate.asked import Entry, key_of
from relmgr.gate.slash_commands import PREFIX
from relmgr.gate.waivers import waiver_state
from relmgr.model.actions import Done, Posting, UpsertComment
from relmgr.model.answer import AnswerPart, RunState, StartWorkflow
from relmgr.model.event import EventComment
from relmgr.model.project import PinConfig, Project
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.model.slash_commands import CommandName, RefusedCommand, SlashCommand, SlashCommands
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import Tickets
from relmgr.model.verdict import GateReport
from relmgr.render.actions import ticket_actions, tidy
from relmgr.render.engine import Words
from relmgr.render.order_actions import order_actions
from relmgr.workflows.forge import Forge, ask_forge, pulls_on_forge, require_base, snapshot_on
from relmgr.workflows.gate import Calendars, explain, judge
from relmgr.workflows.gate_given import GateInputs, with_given
from relmgr.workflows.order import plan_pulls
from relmgr.workflows.post import Sink, tickets_beside_issues
from relmgr.workflows.ticket import TicketInputs

RUN_STATES: tuple[RunState, ...] = ("asked", "started", "unknown", "refused")


@dataclass
class Desk:
    """Where one event is worked on: the pull request, what is known of it and was handed in, and what became of it."""

    project: Project
    forge: Forge
    ref: PullRequestRef
    calendars: Calendars
    comment: EventComment | None
    given: GateInputs
    sink: Sink
    words: Words
    postings: list[Posting] = field(default_factory=list)
    troubles: list[RelmgrError] = field(default_factory=list)

    @cached_property
    def pull(self) -> PullRequest:
        """The pull request as the forge tells it."""
        found = self.forge.pulls.found.get(self.ref)
        if found is None:
            raise SourceError(self.forge.pulls.gaps.get(str(self.ref), "it was not read"), where=str(self.ref))
        return found

    @cached_property
    def judged(self) -> tuple[Snapshot, GateReport]:
        """The facts and the report, taken once."""
        snapshot = snapshot_on(self.project, self.forge, self.ref, None, self.calendars)
        snapshot = with_given(self.project, snapshot, self.given)
        return snapshot, judge(self.project, snapshot, recorded=False)

    def judge_anew(self) -> None:
        """Forget the facts: what was just written is one of them."""
        before = self.forge.base_of(self.ref)
        self.forge = ask_forge(self.project, self.forge.github, self.ref)
        for told in ("judged", "pull"):
            self.__dict__.pop(told, None)
        require_base(self.forge, self.ref, before)
        _ = self.judged

    @property
    def not_posted(self) -> list[Done]:
        """What could not be made so on the forge."""
        return [one for posting in self.postings for one in posting.done if one.outcome == "not-posted"]

    @property
    def was_judged(self) -> bool:
        """Tell whether a command asked for the report."""
        return "judged" in self.__dict__


def part_of(desk: Desk, command: SlashCommand) -> AnswerPart:
    """Do what a command says and return its part of the answer; one that fails is answered so, the others go on."""
    try:
        return _HANDLERS[command.name](desk, command)
    except RelmgrError as error:
        desk.troubles.append(error)
        return _part(desk, command, failed=" ".join(str(error).split()))


def refusal(desk: Desk, entry: Entry, refused: RefusedCommand) -> AnswerPart:
    """Return the part that says why a line is not run."""
    said = SlashCommands(refused=(refused,))
    return AnswerPart(key=key_of(entry), body=desk.words.render("comment/slash-commands.md.j2", d=said, usages=[]))


def _recheck(desk: Desk, command: SlashCommand) -> AnswerPart:
    snapshot, report = desk.judged
    return _part(desk, command, snapshot=snapshot, report=report)


def _waive(desk: Desk, command: SlashCommand) -> AnswerPart:
    """Say whether the waiver counts: the snapshot has read it from the forge by itself, as every later one will."""
    snapshot, report = desk.judged
    mine = f"#issuecomment-{desk.comment.id}" if desk.comment else ""
    found = [w for w in snapshot.waivers or () if w.policy == command.policy and (w.url or "").endswith(mine)]
    state = {"state": waiver_state(snapshot, found[0])} if found else None
    return _part(desk, command, d=state, snapshot=snapshot, report=report)


def _explain(desk: Desk, command: SlashCommand) -> AnswerPart:
    page = explain(desk.project, command.policy or "", desk.pull.base)
    text = tidy(desk.words.render("gate/explain.md.j2", d=page)).replace("## ", "##### ", 1)
    return _part(desk, command, text=text, base=desk.pull.base)


def _order(desk: Desk, command: SlashCommand) -> AnswerPart:
    """Plan over all open pull requests, and make the order's own comment on this one say the same."""
    if desk.pull.state != "open":
        return _part(desk, command, text=f"This pull request is {desk.pull.state}: it waits for nothing.")
    plan = plan_pulls(desk.project, pulls_on_forge(desk.project, desk.forge.github))
    mine = [action for action in order_actions(plan, desk.words) if action.thread == desk.ref]
    # What orders it no more is not left standing there.
    desk.postings.append(desk.sink.apply(mine or [UpsertComment(thread=desk.ref, key="order", body=None)]))
    return _part(desk, command, d=plan if mine else None, text=mine[0].body if mine else "")


def _ticket(desk: Desk, command: SlashCommand) -> AnswerPart:
    """File or update the tickets that this pull request's pin moves need; none is closed from here."""
    snapshot, _ = desk.judged
    found = TicketsHere(crosses=False)
    for pin in desk.project.pins:
        found = _tickets_of(desk, snapshot, pin, found) if pin.contract else found
    if any(one["outcome"] in ("created", "updated") for one in found.tickets):
        desk.judge_anew()
    return _part(desk, command, d=found)


class TicketsHere(NamedTuple):
    """What `/relmgr ticket` found: whether a pin crosses (None: not told), the tickets with their pages, gaps."""

    crosses: bool | None
    tickets: tuple[dict[str, Any], ...] = ()
    gaps: tuple[str, ...] = ()

    def without(self, gap: str) -> TicketsHere:
        """Return it with what could not be told."""
        return TicketsHere(self.crosses or None, self.tickets, (*self.gaps, gap))


def _tickets_of(desk: Desk, snapshot: Snapshot, pin: PinConfig, so_far: TicketsHere) -> TicketsHere:
    if snapshot.pin_moves is None or "pin_moves" in snapshot.gaps:
        return so_far.without(snapshot.gap("pin_moves") or "its pins were not read")
    move = next((move for move in snapshot.pin_moves if move.pin == pin.name and move.moves), None)
    if move is None or (move.abi is not None and move.abi.crossing is False):
        return so_far
    if move.abi is None or move.abi.crossing is None:
        return so_far.without(f"the kernel ABI on both sides of the pin {pin.name} is not known")
    document = _plan_tickets(desk, snapshot, pin)
    needed = document.model_copy(update={"tickets": tuple(t for t in document.tickets if t.state == "open")})
    posting = desk.sink.apply(ticket_actions(needed, desk.words))
    desk.postings.append(posting)
    return TicketsHere(
        crosses=True,
        tickets=(*so_far.tickets, *_listed(needed, posting)),
        gaps=(*so_far.gaps, *document.gaps),
    )


def _plan_tickets(desk: Desk, snapshot: Snapshot, pin: PinConfig) -> Tickets:
    """Return the tickets as they would be with this pull request merged: judged at its head."""
    if desk.calendars.calendar is None:
        raise UserError(desk.calendars.gap or "there is no calendar of trains", next_step="name one with --trains")
    given = TicketInputs(ref=snapshot.head)
    return tickets_beside_issues(desk.project, pin, desk.calendars.calendar, snapshot.train, given, desk.forge.github)


def _listed(document: Tickets, posting: Posting) -> Iterator[dict[str, Any]]:
    """Yield each ticket as the answer lists it: there is one action for each."""
    for ticket, done in zip(document.tickets, posting.done, strict=True):
        said = "told where a person planned it" if ticket.action == "join" else done.outcome
        yield {
            "arch": ticket.arch,
            "title": ticket.title,
            "url": done.url or ticket.url,
            "outcome": f"not filed: {done.why}" if done.outcome == "not-posted" else said,
        }


def _smoke(desk: Desk, command: SlashCommand) -> AnswerPart:
    """Start the project's workflow on the head as it is now; it is the default branch's copy, never the change's.

    What was pushed after the comment was written is not what its author looked at. A commit's date is its author's to
    choose, so this stops accidents only.
    """
    head, arch, comment = desk.pull.head_commit or "", command.arch or "", desk.comment
    if comment is None or (desk.pull.last_push_at and desk.pull.last_push_at > comment.at):
        return _part(desk, command, failed="the head was pushed after this comment was written: look at it, ask again")
    workflow = desk.project.commands.smoke_workflow
    if workflow is None:
        return _part(desk, command, d=None, head=head, number=desk.ref.number, subject=str(desk.ref))
    key = key_of(command)
    request = f"relmgr-{comment.id}-{key}"
    view = {"workflow": workflow, "arch": arch, "head": head}
    words = {state: desk.words.render("comment/answer-run.md.j2", state=state, **view).strip() for state in RUN_STATES}
    inputs = {"arch": arch, "pull_request": str(desk.ref.number), "head_sha": head, "request": request}
    start = StartWorkflow.model_validate({"workflow": workflow, "inputs": inputs, "request": request, "words": words})
    return _part(desk, command, d=workflow).model_copy(update={"start": start})


def _part(desk: Desk, command: SlashCommand, **view: Any) -> AnswerPart:
    names = dict.fromkeys(("d", "report", "snapshot", "text", "base", "head", "number", "subject", "failed"))
    asked = " ".join(filter(None, (PREFIX, command.name, command.policy, command.arch)))
    asked += f" until {command.until}" if command.until else ""
    shown = names | view | {"c": command, "asked": asked, "zone": desk.project.zone}
    return AnswerPart(key=key_of(command), body=tidy(desk.words.render("comment/answer.md.j2", **shown)))


_HANDLERS: dict[CommandName, Callable[[Desk, SlashCommand], AnswerPart]] = {
    "recheck": _recheck,
    "waive": _waive,
    "explain": _explain,
    "order": _order,
    "ticket": _ticket,
    "smoke": _smoke,
}
