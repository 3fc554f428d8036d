"""Read smoke reports, and tell whether their signatures hold."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from pydantic import ValidationError

from relmgr.errors import SourceError
from relmgr.model.smoke_report import SignedReport, SmokeReport
from relmgr.model.smoke_signing import HMAC_PREFIX, SSH_NAMESPACE, SSH_PREFIX, hmac_holds, signed_bytes

MAX_REPORT_BYTES = 16 << 20
_SECONDS = 30


def read_report(file: Path, *, secrets: tuple[bytes, ...] = (), allowed_signers: bytes | None = None) -> SignedReport:
    """Return the report in `file` and what its signature says.

    `secrets` are those in force (several while one is replaced), `allowed_signers` the content of an SSH allowed
    signers file of the base branch. Raises `SourceError` for what is no report.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_REPORT_BYTES + 1)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(file), next_step="check the path") from None
    return parse_report(data, str(file), secrets=secrets, allowed_signers=allowed_signers)


def parse_report(
    data: bytes, where: str, *, secrets: tuple[bytes, ...] = (), allowed_signers: bytes | None = None
) -> SignedReport:
    """Return the report that `data` is and what its signature says; `where` is for messages. Raises `SourceError`."""
    if len(data) > MAX_REPORT_BYTES:
        raise SourceError(f"more than {MAX_REPORT_BYTES} bytes", where=where, next_step="give a smoke report")
    try:
        report = SmokeReport.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}".lstrip(": ")
        raise SourceError(
            f"not a smoke report: {what}", where=where, next_step="see `relmgr smoke run --json`"
        ) from None
    return SignedReport(report=report, signed=check_signature(report, secrets, allowed_signers), source=where)


def check_signature(report: SmokeReport, secrets: tuple[bytes, ...], allowed_signers: bytes | None) -> bool | None:
    """Return True for a signature that holds, False for one that does not, None where there is nothing to check by."""
    signature = report.signature or ""
    if signature.startswith(HMAC_PREFIX):
        # Every secret is tried, so that the time taken tells nothing about which one fits.
        held = [hmac_holds(report, secret) for secret in secrets]
        return any(held) if held else None
    if signature.startswith(SSH_PREFIX):
        return _ssh_holds(report, signature, allowed_signers) if allowed_signers is not None else None
    return False if signature else None


def _ssh_holds(report: SmokeReport, signature: str, allowed_signers: bytes) -> bool:
    """Ask `ssh-keygen` whether one of the allowed signers signed it. Raises `SourceError` where it cannot be asked."""
    with tempfile.TemporaryDirectory(prefix="relmgr-signature-") as folder:
        signers, signed = Path(folder) / "signers", Path(folder) / "report.sig"
        signers.write_bytes(allowed_signers)
        signed.write_text(f"{signature}\n", encoding="utf-8")
        files = ["-f", str(signers), "-s", str(signed)]
        found = _ssh_keygen(["-Y", "find-principals", *files], b"")
        if found.returncode:
            return False
        principal = found.stdout.decode(errors="replace").splitlines()[0]
        command = ["-Y", "verify", "-n", SSH_NAMESPACE, "-I", principal, *files]
        return _ssh_keygen(command, signed_bytes(report)).returncode == 0


def _ssh_keygen(arguments: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *arguments], input=data, capture_output=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise SourceError("ssh-keygen is not installed", next_step="install OpenSSH's client") from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"ssh-keygen gave no answer in {_SECONDS} s", next_step="run again") from None
