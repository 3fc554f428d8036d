"""A ticket's words: its title and its body, from templates; text of strangers is shown as code, and stays there."""

from __future__ import annotations

from collections.abc import Iterable

from relmgr.errors import UserError
from relmgr.model.ticket import MAX_LISTED, ExistingTicket, RegenerationTicket, TicketDatabase, Tickets
from relmgr.model.ticket_block import parse_block, write_block
from relmgr.render.engine import SHIPPED, Words
from relmgr.render.foreign import code


def write_tickets(document: Tickets, existing: Iterable[ExistingTicket] = (), words: Words = SHIPPED) -> Tickets:
    """Return the document with every ticket's title and body; one whose words stand there already is kept as it is."""
    bodies = {ticket.data.key.text: ticket.body or "" for ticket in existing if ticket.data}
    written = tuple(_settled(render_ticket(ticket, document, words), bodies) for ticket in document.tickets)
    return document.model_copy(update={"tickets": written})


def render_ticket(ticket: RegenerationTicket, document: Tickets, words: Words = SHIPPED) -> RegenerationTicket:
    """Return a ticket with its title and body. The body does not depend on the day, only on what is true on it (B2)."""
    view = {
        "t": ticket,
        "d": document,
        "code": code,
        "cell": lambda text: code(text).replace("|", "\\|"),
        "names": _names,
        "shown": ticket.databases[:MAX_LISTED],
        "more": max(0, len(ticket.databases) - MAX_LISTED),
    }
    title = " ".join(words.render("issue/regeneration-title.txt.j2", **view).split())
    body = words.render("issue/regeneration.md.j2", **view, title=title, block=write_block(ticket.data))
    if parse_block(body) is None:
        # Only a project's own template can lose it.
        raise UserError(
            "the ticket lacks the block by which it is found again",
            where="issue/regeneration.md.j2",
            next_step="print {{ block }} in it, on lines of its own",
        )
    return ticket.model_copy(update={"title": title, "body": body})


def _names(databases: Iterable[TicketDatabase], most: int = 4) -> str:
    """Return the file names of some databases as code, the first few and how many more there are."""
    names = [code(database.path.rpartition("/")[2]) for database in databases]
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _settled(ticket: RegenerationTicket, bodies: dict[str, str]) -> RegenerationTicket:
    same = bodies.get(ticket.key, "").replace("\r\n", "\n").strip() == ticket.body.strip()
    return ticket.model_copy(update={"action": "keep"}) if same and ticket.action == "update" else ticket
