"""Credentials in addresses, as people spell them: none of their letters is left anywhere (B7)."""

from __future__ import annotations

import pytest

from relmgr.errors import redact
from relmgr.sources.git.remote_secrets import environment_for, plain_arguments, secret_of

ADDRESSES = {
    "https://bot:planted-1@forge.example/a/b.git": ("bot", "planted-1"),
    "https://planted-2@forge.example/a/b.git": ("planted-2", ""),
    # Git takes what stands before the last `@` of the host's part.
    "https://bot:pl@nted-3@forge.example/a/b.git": ("bot", "pl@nted-3"),
    "https://bot:planted%2D4@forge.example/a/b.git": ("bot", "planted-4"),
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_b7_an_address_is_bare_as_an_argument_and_in_words(address: str) -> None:
    found = secret_of(address)
    assert found is not None
    assert (found.user, found.password) == ADDRESSES[address]
    assert plain_arguments(["push", address]) == ["push", "https://forge.example/a/b.git"]
    assert redact(f"cannot read {address}!") == "cannot read https://***@forge.example/a/b.git!"
    told = environment_for([address], {})
    assert told["GIT_CONFIG_KEY_0"] == "url.https://forge.example/a/b.git.insteadOf"
    assert told["GIT_CONFIG_KEY_1"] == "credential.https://forge.example.helper"


@pytest.mark.parametrize("text", ["https://forge.example/@team/b", "git@forge.example:a/b.git", "mail a@b.example"])
def test_what_holds_no_credentials_stays(text: str) -> None:
    assert redact(text) == text
    assert secret_of(text) is None


@pytest.mark.parametrize(
    "token", ["ghp_planted0123456789", "ghs_12345_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2ln-bmF0dXJl"]
)
def test_b7_a_token_is_redacted_to_its_end(token: str) -> None:
    assert redact(f"401 for {token}. Try again") == "401 for ***. Try again"
