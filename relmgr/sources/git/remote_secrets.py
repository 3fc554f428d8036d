"""Credentials in a remote's address, kept out of process lists (B7): git's helpers bear the address as an argument.

The address is given to git without them; git asks a helper of ours, which reads them from its environment.
https://git-scm.com/docs/gitcredentials
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

_ADDRESS = re.compile(r"^(?P<scheme>https?://)(?P<who>[^/\s]+)@(?P<rest>(?P<host>[^/@\s]+)\S*)$", re.IGNORECASE)
_HELPER = '!f() {{ if test "$1" = get; then printf "username=%s\\npassword=%s\\n" "${user}" "${password}"; fi; }}; f'


class Secret(NamedTuple):
    """An address with and without its credentials, the site they are for, and what they are."""

    address: str
    plain: str
    site: str
    user: str
    password: str


def secret_of(address: str) -> Secret | None:
    """Return an address taken apart, None for one without credentials of a web site."""
    match = _ADDRESS.match(address)
    if match is None:
        return None
    user, _, password = (unquote(part) for part in match["who"].partition(":"))
    if any(not char.isprintable() for char in user + password):
        return None
    return Secret(address, match["scheme"] + match["rest"], match["scheme"] + match["host"], user, password)


def plain_arguments(args: Iterable[str]) -> list[str]:
    """Return a command's arguments with every address bare."""
    return [found.plain if (found := secret_of(arg)) else arg for arg in args]


def environment_for(addresses: Iterable[str], env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment in which git takes bare addresses for `addresses`, and signs in as those say."""
    secrets = [found for address in dict.fromkeys(addresses) if (found := secret_of(address))]
    if not secrets:
        return {}
    start = int(env.get("GIT_CONFIG_COUNT", "0")) if env.get("GIT_CONFIG_COUNT", "0").isdecimal() else 0
    told: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for number, secret in enumerate(secrets):
        user, password = f"RELMGR_GIT_USER_{number}", f"RELMGR_GIT_PASSWORD_{number}"
        told |= {user: secret.user, password: secret.password}
        # An empty helper first: nobody else's is asked, or told to keep what is not theirs.
        helper = f"credential.{secret.site}.helper"
        pairs += [(f"url.{secret.plain}.insteadOf", secret.address), (helper, "")]
        pairs += [(helper, _HELPER.format(user=user, password=password))]
    for number, (key, value) in enumerate(pairs, start):
        told |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return told | {"GIT_CONFIG_COUNT": str(start + len(pairs))}
