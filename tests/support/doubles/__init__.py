"""Test doubles of AMD's HIP runtime, written in C and built by the tests. Each says its name; none is AMD's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.services import need

_HERE = Path(__file__).parent


def build_hip_double(kind: str, folder: Path) -> dict[str, str]:
    """Build `libamdhip64.so` and `libhiprtc.so` of a kind, `host` or `cuda`; return the environment that finds them."""
    compiler = need("cc", "gcc")
    folder.mkdir(parents=True, exist_ok=True)
    for source, library in ((f"hip_{kind}.c", "libamdhip64.so"), (f"hiprtc_{kind}.c", "libhiprtc.so")):
        command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(_HERE / source), "-ldl"]
        subprocess.run([*command, "-o", str(folder / library)], check=True, capture_output=True, text=True)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
    return {"LD_LIBRARY_PATH": path}


def build_miir_double(folder: Path, *definitions: str) -> Path:
    """Build the double of a provider's library in `folder`; `definitions` such as `-DOLD` give it faults."""
    library = folder / "libmiir.so"
    command = [need("cc", "gcc"), "-shared", "-fPIC", "-O1", "-w", *definitions, str(_HERE / "miir.c")]
    subprocess.run([*command, "-o", str(library)], check=True, capture_output=True, text=True)
    return library
