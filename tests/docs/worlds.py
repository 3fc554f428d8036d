"""The surroundings in which the commands of pages run, rebuilt at run time. Nothing in them reaches the network.

`empty`       an empty folder
`clones`      clones of MIOpen and rocMLIR side by side, rebuilt as far as the recorded tables tell, with their remotes.
              GitHub is the stand-in, with the token in GITHUB_TOKEN and two open pull requests: 3400 changes a source
              file, 3401 moves the pin. The session starts in MIOpen
`slurm`       as `clones`, with a relmgr.toml that is a copy of the shipped project, beside a Slurm of this machine
`acme`        clones of two invented repositories, acme/engine and acme/shaders; the session starts in engine
`configured`  as `acme`, with the relmgr.toml of the page that adds a consumer
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from relmgr.workflows.demo import rebuild
from tests.docs.pages import File, read_page
from tests.docs.session import Session
from tests.support.github_standin import StandIn
from tests.support.repositories import TestRepository, new_repository
from tests.support.slurm import Slurm

ROOT = Path(__file__).parents[2]
FORGE = "https://github.com/"
SLUGS = {"miopen": "ROCm/MIOpen", "rocmlir": "ROCm/rocMLIR"}


@contextmanager
def world(name: str, folder: Path, slurm: Slurm | None = None) -> Iterator[Session]:
    """Build the world called `name` in `folder`, which is empty, and yield a session in it."""
    home, state = folder / "home", folder / "state"
    home.mkdir()
    settings = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state")}
    work = home / "work"
    work.mkdir()
    with ExitStack() as stack:
        if name in ("clones", "slurm"):
            settings["GIT_CONFIG_GLOBAL"] = str(_build_clones(work))
            forge = stack.enter_context(_forge(work / "MIOpen").running())
            settings |= {"GITHUB_API_URL": forge.url, "GITHUB_TOKEN": "planted-token"}
            # Nobody serves archives here.
            settings["GITHUB_SERVER_URL"] = "http://127.0.0.1:1"
            work = work / "MIOpen"
            stack.callback(lambda: _check(forge))
        elif name in ("acme", "configured"):
            work = _build_acme(work)
            if name == "configured":
                (work / "relmgr.toml").write_text(_acme_settings())
        elif name != "empty":
            raise ValueError(f"no world {name!r}")
        if slurm is not None:
            (work / "relmgr.toml").write_text(_own_settings())
            settings["SLURM_CONF"] = str(slurm.configuration)
        yield Session(work, state, settings)


def _check(forge: StandIn) -> None:
    assert forge.mistakes == []


def _build_clones(work: Path) -> Path:
    """Rebuild both repositories as remotes, clone them, and return the git configuration that leads there."""
    remotes = rebuild(work / "relmgr-demo")
    config = work.parent / "gitconfig"
    lines = ["[user]", "name = A Maintainer", "email = maintainer@example.org", "[advice]", "detachedHead = false"]
    for name, path in remotes.items():
        lines += [f'[url "{path}"]', f"insteadOf = {FORGE}{SLUGS[name]}"]
    config.write_text("\n".join(lines) + "\n")
    for name, path in remotes.items():
        clone = TestRepository(work / SLUGS[name].partition("/")[2])
        subprocess.run(["git", "clone", "-q", str(path), str(clone.path)], check=True, env=_git_env(config))
        clone.git("remote", "set-url", "origin", f"{FORGE}{SLUGS[name]}")
    _go_on(TestRepository(work / "rocMLIR"), remotes["rocmlir"])
    return config


def _go_on(compiler: TestRepository, remote: Path) -> None:
    """Add a commit to the provider, newer than every pin: the recorded tables end at the last one."""
    names = ("-c", "user.name=A Developer", "-c", "user.email=dev@example.org")
    note = compiler.path / "NEWS.md"
    note.write_text("Faster backward data kernels.\n")
    compiler.git("add", "NEWS.md")
    compiler.git(*names, "commit", "-q", "-m", "Faster backward data kernels", at="2024-10-20T12:00:00-07:00")
    compiler.git("push", "-q", str(remote), "develop")
    compiler.git("update-ref", "refs/remotes/origin/develop", "HEAD")


def _build_acme(work: Path) -> Path:
    """Build a provider whose number goes from 3 to 4, and a consumer that moves its pin over that; return that."""
    shaders, engine = new_repository(work / "shaders", "main"), new_repository(work / "engine", "main")
    commits = []
    for number, day in ((3, "2024-02-01"), (3, "2024-03-01"), (4, "2024-04-01")):
        header = f"#define SHADERS_KERNEL_ABI {number}\nint shadersBuild(const char *options);\n"
        commits.append(
            shaders.commit(f"Work of {day}", {"include/shaders.h": header, "day": day}, at=f"{day}T12:00:00+00:00")
        )
    for commit, subject, day in zip(
        commits,
        ("Build with shaders", "Update shaders", "Use the shaders' new build script"),
        ("2024-02-05", "2024-03-05", "2024-04-05"),
        strict=True,
    ):
        engine.commit(subject, {"third_party/shaders.txt": f"{commit}\n"}, at=f"{day}T12:00:00+00:00")
    for repository in (shaders, engine):
        repository.git("remote", "add", "origin", f"{FORGE}acme/{repository.path.name}")
    return engine.path


def _own_settings() -> str:
    """Return the shipped project as a file that stands elsewhere."""
    text = (ROOT / "policies" / "projects" / "miopen-rocmlir.toml").read_text()
    return text.replace('"../', f'"{ROOT / "policies"}/')


def _acme_settings() -> str:
    """Return the settings that the page about another project ends with, so that later pages go on from there."""
    page = read_page(ROOT / "docs" / "how-to" / "add-a-consumer.md")
    return [step.text for step in page.steps if isinstance(step, File) and step.name == "relmgr.toml"][-1]


def _git_env(config: Path) -> dict[str, str]:
    return os.environ | {"GIT_CONFIG_GLOBAL": str(config)}


def _forge(clone: Path) -> StandIn:
    """Make two pull requests of the consumer, at the remote and on the stand-in of GitHub."""
    forge = StandIn()
    for slug in SLUGS.values():
        forge.add_repo(slug)
    consumer, remote = TestRepository(clone), clone.parent / "relmgr-demo" / "miopen.git"
    pin = (clone / "requirements.txt").read_text()
    newest = TestRepository(clone.parent / "rocMLIR").git("rev-parse", "develop")
    changes = {
        3400: ("Search fewer tuning candidates", {"src/tuning.cpp": "int candidates = 8;\n"}),
        3401: ("Bump rocMLIR", {"requirements.txt": pin.replace("@rocm-5.5.0", f"@{newest}")}),
    }
    for number, (title, files) in changes.items():
        consumer.git("checkout", "-q", "--detach", "develop")
        head = consumer.commit(title, files, at="2024-10-21T12:00:00-07:00")
        consumer.git("push", "-q", str(remote), f"HEAD:refs/pull/{number}/head")
        forge.add_pull(SLUGS["miopen"], number, title=title, head_sha=head, at="2024-10-21T19:00:00Z")
    consumer.git("checkout", "-q", "develop")
    return forge
