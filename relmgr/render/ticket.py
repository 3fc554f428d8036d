"""A ticket's words: its title and its body, from templates; text of strangers is shown as code, and stays there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from relmgr.errors import redact
from relmgr.model.ticket import MAX_LISTED, ExistingTicket, RegenerationTicket, TicketDatabase, Tickets
from relmgr.model.ticket_block import write_block
from relmgr.render.engine import render

MAX_TEXT = 200


def write_tickets(document: Tickets, existing: Iterable[ExistingTicket] = ()) -> Tickets:
    """Return the document with every ticket's title and body; one whose words stand there already is kept as it is."""
    bodies = {ticket.data.key.text: ticket.body or "" for ticket in existing if ticket.data}
    written = tuple(_settled(render_ticket(ticket, document), bodies) for ticket in document.tickets)
    return document.model_copy(update={"tickets": written})


def render_ticket(ticket: RegenerationTicket, document: Tickets) -> RegenerationTicket:
    """Return a ticket with its title and body. The body does not depend on the day, only on what is true on it (B2)."""
    view = {
        "t": ticket,
        "d": document,
        "code": code_span,
        "cell": lambda text: code_span(text).replace("|", "\\|"),
        "names": _names,
        "shown": ticket.databases[:MAX_LISTED],
        "more": max(0, len(ticket.databases) - MAX_LISTED),
    }
    title = " ".join(render("issue/regeneration-title.txt.j2", **view).split())
    body = render("issue/regeneration.md.j2", **view, title=title, block=write_block(ticket.data))
    return ticket.model_copy(update={"title": title, "body": body})


def code_span(text: object) -> str:
    """Return a stranger's text as one line of inline code: no mention, link, markup or HTML in it takes effect (N6).

    Control and format characters are dropped, blanks collapsed, length cut at `MAX_TEXT`; backticks are kept by a
    longer fence around them.
    """
    plain = "".join(c if not unicodedata.category(c).startswith("C") else " " for c in redact(str(text)))
    line = " ".join(plain.split())
    line = line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."
    if not line:
        return "(empty)"
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _names(databases: Iterable[TicketDatabase], most: int = 4) -> str:
    """Return the file names of some databases as code, the first few and how many more there are."""
    names = [code_span(database.path.rpartition("/")[2]) for database in databases]
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _settled(ticket: RegenerationTicket, bodies: dict[str, str]) -> RegenerationTicket:
    same = bodies.get(ticket.key, "").replace("\r\n", "\n").strip() == ticket.body.strip()
    return ticket.model_copy(update={"action": "keep"}) if same and ticket.action == "update" else ticket
