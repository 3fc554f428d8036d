"""Why an address gave no answer: said once, in words, and not asked again where asking is of no use."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import requests
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import MaxRetryError, NameResolutionError

from relmgr.errors import SourceError
from relmgr.settings import load_project
from relmgr.sources.github.client import GitHub, GitHubError
from relmgr.sources.github.waits import Clock
from relmgr.sources.network import host_of, why_no_answer
from relmgr.workflows.forge import pulls_on_forge


class Still(Clock):
    """A clock that waits for nothing."""

    def sleep(self, seconds: float) -> None:
        pass


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Yield the port of a server on this machine that does `serve` to every connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    serve(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def cut(connection: socket.socket) -> None:
    connection.recv(1000)


def no_tls(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def failed(url: str, timeout: float = 10.0) -> requests.RequestException:
    with pytest.raises(requests.RequestException) as told:
        requests.get(url, timeout=timeout)
    return told.value


def test_a_refused_connection() -> None:
    assert why_no_answer(failed(f"http://127.0.0.1:{closed_port()}/")) == "the connection was refused"


def test_a_connection_that_is_cut_off() -> None:
    with listening(cut) as port:
        assert why_no_answer(failed(f"http://127.0.0.1:{port}/")) == "the connection was cut off"


def test_no_tls() -> None:
    with listening(no_tls) as port:
        assert why_no_answer(failed(f"https://127.0.0.1:{port}/")).startswith("TLS failed: ")


def test_no_answer_in_time() -> None:
    done = threading.Event()
    with listening(lambda connection: done.wait(60) and None) as port:
        why = why_no_answer(failed(f"http://127.0.0.1:{port}/", timeout=0.1))
        done.set()
    assert why == "no answer in time"


def unnamed() -> requests.ConnectionError:
    """What requests raises for a name that nobody knows; no name server is asked here."""
    pool = HTTPSConnectionPool("api.example.org")
    reason = NameResolutionError("api.example.org", pool, socket.gaierror(-2, "Name or service not known"))  # type: ignore[arg-type]
    return requests.ConnectionError(MaxRetryError(pool, "/graphql", reason))


def test_a_name_that_nobody_knows() -> None:
    assert why_no_answer(unnamed()) == "its name could not be looked up"


def test_what_is_none_of_these_is_told_in_its_own_words() -> None:
    assert why_no_answer(ValueError("a url  of\nno kind")) == "a url of no kind"
    assert why_no_answer(OSError(28, "No space left on device")) == "No space left on device"


def test_a_host_is_named_without_a_users_name() -> None:
    assert host_of("https://user:word@ghe.example.org:8443/api/v3") == "ghe.example.org:8443"


def test_what_cannot_be_reached_is_said_once_and_asked_for_once() -> None:
    """Both repositories are on one host: one sentence, with the host, the reason and the next step."""
    port = closed_port()
    github = GitHub(api=f"http://127.0.0.1:{port}", clock=Still())
    with pytest.raises(SourceError) as told:
        pulls_on_forge(load_project("miopen-rocmlir"), github)
    assert str(told.value) == (
        f"127.0.0.1:{port}: could not be reached: the connection was refused\n"
        "  next: check the network, the token and the project's repositories"
    )
    asked = len(github.calls)
    with pytest.raises(GitHubError, match="could not be reached: the connection was refused"):
        github.get("/repos/acme/gadget")
    assert len(github.calls) == asked
