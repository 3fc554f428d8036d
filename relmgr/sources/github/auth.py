"""Who relmgr is on GitHub: a token, an App's installation, or nobody. Secrets come from the environment or from files.

Never from arguments: a process list shows those. What an App's installation may do is asked for when its token is made
(`PERMISSIONS`), so that a token that leaks can do no more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from relmgr.errors import UserError

if TYPE_CHECKING:
    from github.Auth import Auth

# https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps
PERMISSIONS = {
    "metadata": "read",
    "contents": "read",
    "checks": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
}
MAX_KEY_BYTES = 64 * 1024


@dataclass(frozen=True)
class Credentials:
    """How to sign in. `identity` keys caches: it differs between two accounts and tells nothing about the secret."""

    token: str | None = field(default=None, repr=False)
    app_id: str | None = None
    installation: int | None = None
    private_key: str | None = field(default=None, repr=False)
    starts_workflows: bool = False

    @property
    def identity(self) -> str:
        """A word for this account."""
        if self.app_id:
            return f"app {self.app_id} {self.installation}"
        return f"token {sha256(self.token.encode()).hexdigest()[:16]}" if self.token else "nobody"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that no message may hold."""
        return tuple(text for text in (self.token, self.private_key) if text)

    def to_auth(self) -> Auth | None:
        """Return what PyGithub signs requests with, None for nobody."""
        from github import Auth

        if self.app_id and self.private_key and self.installation:
            wanted = PERMISSIONS | ({"actions": "write"} if self.starts_workflows else {})
            return Auth.AppAuth(self.app_id, self.private_key).get_installation_auth(self.installation, wanted)
        return Auth.Token(self.token) if self.token else None


def read_credentials(environ: Mapping[str, str] | None = None) -> Credentials:
    """Return the credentials that the environment names.

    `RELMGR_APP_ID`, `RELMGR_APP_INSTALLATION` and `RELMGR_APP_KEY_FILE` (or `RELMGR_APP_KEY`) for an App; else
    `GITHUB_TOKEN` or `GH_TOKEN`; else nobody, who reads public repositories at 60 requests an hour.
    """
    env = os.environ if environ is None else environ
    if not env.get("RELMGR_APP_ID"):
        return Credentials(token=(env.get("GITHUB_TOKEN") or env.get("GH_TOKEN") or "").strip() or None)
    installation = env.get("RELMGR_APP_INSTALLATION", "")
    if not installation.isdecimal():
        raise UserError(
            "RELMGR_APP_ID is set, RELMGR_APP_INSTALLATION is not a number",
            next_step="set it to the installation's id, the last part of its settings page's address",
        )
    return Credentials(
        app_id=env["RELMGR_APP_ID"], installation=int(installation), private_key=env.get("RELMGR_APP_KEY") or _key(env)
    )


def credentials_for(forge: str, environ: Mapping[str, str] | None = None) -> Credentials:
    """Return the credentials for the forge that a project's file names: only GitHub's own hosts get those of GitHub.

    A file is anybody's, so the owner of the environment says which other host gets a secret: by `GITHUB_API_URL`, or
    with `GH_ENTERPRISE_TOKEN` (or `GITHUB_ENTERPRISE_TOKEN`) for the host that `GH_HOST` names. Raises `UserError`
    where there are credentials and nobody said so.
    """
    env = os.environ if environ is None else environ
    if env.get("GITHUB_API_URL") or forge == "github.com" or forge.endswith(".ghe.com"):
        return read_credentials(env)
    own = (env.get("GH_ENTERPRISE_TOKEN") or env.get("GITHUB_ENTERPRISE_TOKEN") or "").strip()
    if own and env.get("GH_HOST", "").lower() == forge.lower():
        return Credentials(token=own)
    if own or any(env.get(name) for name in ("RELMGR_APP_ID", "GITHUB_TOKEN", "GH_TOKEN")):
        raise UserError(
            f"only the project's file says that {forge} is the forge: it is sent no credentials",
            next_step=f"set GITHUB_API_URL=https://{forge}/api/v3, or GH_HOST={forge} and GH_ENTERPRISE_TOKEN",
        )
    return Credentials()


def _key(env: Mapping[str, str]) -> str:
    name = env.get("RELMGR_APP_KEY_FILE", "")
    try:
        if not name or Path(name).stat().st_size > MAX_KEY_BYTES:
            raise OSError(0, "not set" if not name else "too large for a key")
        return Path(name).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a PEM file"
        raise UserError(
            f"RELMGR_APP_KEY_FILE cannot be read: {why}", next_step="give the path of the App's private key (PEM)"
        ) from None
