"""The part of a ticket's body that machines read: a marker line, and the ticket's data as JSON in an HTML comment."""

from __future__ import annotations

import json
import re

from pydantic import ValidationError

from relmgr.model.ticket import TicketData, TicketKey

# A body on GitHub ends there; what is longer was not written by relmgr.
MAX_BODY = 65_536
_MARKER = re.compile(r"^<!-- relmgr:ticket (?P<key>[A-Za-z0-9_.~%,/-]+) -->$", re.MULTILINE)
_BLOCK = re.compile(r"^<!-- relmgr:ticket-data\n(?P<json>\{[^\n]*\})\n-->$", re.MULTILINE)
_ESCAPED = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&@`"})


class NotATicket(ValueError):
    """A body with relmgr's marker whose data cannot be used, and why."""


def write_block(data: TicketData) -> str:
    """Return marker and data; nothing in the data can end the comment, mention anyone, or close a fence."""
    text = json.dumps(data.model_dump(mode="json"), separators=(",", ":"), sort_keys=True).translate(_ESCAPED)
    return f"{marker(data.key)}\n<!-- relmgr:ticket-data\n{text}\n-->"


def marker(key: TicketKey) -> str:
    """Return the line by which a ticket is found again."""
    return f"<!-- relmgr:ticket {key.text} -->"


def parse_block(body: str) -> TicketData | None:
    """Return the data of a ticket's body, None for a body without relmgr's marker.

    Raises `NotATicket` for more than one marker or block, for data that are not valid, and when marker and data differ.
    """
    text = body[:MAX_BODY].replace("\r\n", "\n")
    markers, blocks = _MARKER.findall(text), _BLOCK.findall(text)
    if not markers and not blocks:
        return None
    if len(markers) != 1 or len(blocks) != 1:
        raise NotATicket(f"{len(markers)} markers and {len(blocks)} data blocks, expected one of each")
    try:
        data = TicketData.model_validate_json(blocks[0])
    except (ValidationError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "nested too deeply"
        raise NotATicket(f"its data are not valid: {what}") from None
    if data.key.text != markers[0]:
        raise NotATicket("its marker names another ticket than its data")
    return data
