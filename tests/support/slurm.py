"""A real Slurm on this machine: three nodes of different archs with GPUs that are clones of /dev/null. No systemd.

It needs root and Debian's slurmctld, slurmd, slurm-client and munge. All daemons are children of this process, in the
foreground, and are ended by their handles; steps that outlive their node's daemon are told by the configuration file in
their environment, which no other Slurm has.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.services import missing, need

NODES = {"mi100-0": ("gfx908", 4), "mi200-0": ("gfx90a", 4), "mi300-0": ("gfx942", 8)}
_START_SECONDS = 60
_CALL_SECONDS = 20

_CONFIGURATION = """\
ClusterName=relmgr
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
MinJobAge=300
KillWait=2
SlurmctldTimeout=60
SlurmdTimeout=120
InactiveLimit=0
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=NO
PartitionName=closed Nodes=ALL Default=NO MaxTime=60 State=DOWN
"""


@dataclass
class Slurm:
    """A running cluster. `nodes` holds the daemon of each node that is up."""

    folder: Path
    controller: subprocess.Popen[bytes]
    munge: subprocess.Popen[bytes]
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        """The file that SLURM_CONF must name."""
        return self.folder / "slurm.conf"

    def call(self, *argv: str) -> str:
        """Run a client and return what it printed."""
        done = subprocess.run(
            argv, env=self._environment(), capture_output=True, text=True, timeout=_CALL_SECONDS, check=True
        )
        return done.stdout

    def states(self) -> dict[str, str]:
        """Return the state of every node."""
        lines = self.call("sinfo", "-h", "-N", "-p", "main", "-o", "%N|%T").split()
        return {name: state for name, _, state in (line.partition("|") for line in lines)}

    def start_node(self, name: str) -> None:
        """Start the daemon of one node."""
        (self.folder / "spool" / name).mkdir(parents=True, exist_ok=True)
        argv = ["slurmd", "-D", "-c", "-N", name, "-f", str(self.configuration)]
        self.nodes[name] = _start(argv, self.folder / f"{name}.out", self._environment())

    def cut_node(self, name: str, task: int) -> None:
        """Cut the power of a node that runs the process `task`: daemon, step and task go, and nobody is told."""
        node = self.nodes.pop(name)
        node.kill()
        node.wait()
        chain = [task]
        while not _command_of(chain[-1]).startswith("slurmstepd"):
            chain.append(_parent_of(chain[-1]))
        # From the top, so that no one is left to report an end.
        for pid in [*reversed(chain), *_children_of(task)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait_idle(self) -> None:
        """Wait until all nodes are up and free; end what is left of other tests, bring back nodes that were cut off."""
        self.call("scancel", "-u", "root")
        for name in NODES:
            if name not in self.nodes:
                self.start_node(name)
        end = time.monotonic() + _START_SECONDS
        while set(self.states().values()) != {"idle"}:
            if time.monotonic() > end:
                raise RuntimeError(f"nodes are not idle: {self.states()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End all that was started here."""
        with contextlib.suppress(subprocess.SubprocessError):
            self.call("scancel", "-u", "root", "--signal=KILL", "--full")
        for process in [*self.nodes.values(), self.controller]:
            process.terminate()
        for process in [*self.nodes.values(), self.controller]:
            _reap(process)
        for pid in _processes_with(f"SLURM_CONF={self.configuration}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.munge.terminate()
        _reap(self.munge)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.configuration)}


def start_slurm() -> Slurm:
    """Start munge, the controller and three nodes; skip with the reason where that cannot be."""
    for program in ("slurmctld", "slurmd"):
        need(program)
    for program, package in (("sbatch", "slurm-client"), ("munged", "munge")):
        need(program, package)
    if os.geteuid() != 0:
        missing("Slurm's daemons are started as root only")
    # Not pytest's folder: munge's user must be able to walk there.
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    slurm = Slurm(folder, *_start_daemons(folder))
    try:
        for name in NODES:
            slurm.start_node(name)
        _wait_for_controller(slurm)
        slurm.wait_idle()
    except BaseException:
        slurm.stop()
        raise
    return slurm


def _start_daemons(folder: Path) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Return the controller and munge."""
    for name in ("state", "spool", "dev", "munge"):
        (folder / name).mkdir()
    _write_configuration(folder)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = folder / "munge"
    (munge / "key").write_bytes(os.urandom(1024))
    for path in (munge, munge / "key"):
        shutil.chown(path, "munge", "munge")
    (munge / "key").chmod(0o400)
    files = {option: munge / option for option in ("socket", "pid-file", "log-file", "seed-file")}
    options = [f"--{option}={path}" for option, path in files.items()]
    argv = ["munged", "--foreground", "--force", "--num-threads=2", f"--key-file={munge / 'key'}", *options]
    guard = _start(argv, folder / "munged.out", environment, user="munge")
    _wait_for_file(files["socket"])
    controller = ["slurmctld", "-D", "-c", "-f", str(folder / "slurm.conf")]
    return _start(controller, folder / "slurmctld.out", environment), guard


def _write_configuration(folder: Path) -> None:
    host = socket.gethostname().partition(".")[0]
    ports = _free_ports(len(NODES) + 1)
    nodes = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={gpus} RealMemory=4000 "
        f"Gres=gpu:{arch}:{gpus} Feature={arch},{name.partition('-')[0]}"
        for (name, (arch, gpus)), port in zip(NODES.items(), ports[1:], strict=True)
    ]
    text = _CONFIGURATION.format(host=host, port=ports[0], folder=folder, nodes="\n".join(nodes))
    (folder / "slurm.conf").write_text(text)
    lines = ["AutoDetect=off"]
    for name, (arch, gpus) in NODES.items():
        lines.append(f"NodeName={name} Name=gpu Type={arch} File={folder}/dev/gpu[0-{gpus - 1}]")
    (folder / "gres.conf").write_text("\n".join(lines) + "\n")
    for number in range(max(gpus for _, gpus in NODES.values())):
        os.mknod(folder / "dev" / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def _start(argv: list[str], output: Path, env: dict[str, str], user: str | None = None) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, user=user, start_new_session=True
        )


def _wait_for_controller(slurm: Slurm) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            slurm.states()
            return
        except subprocess.SubprocessError as error:
            if time.monotonic() > end:
                log = (slurm.folder / "slurmctld.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"slurmctld does not answer: {error}\n{log}") from None
            time.sleep(0.1)


def _wait_for_file(path: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise RuntimeError(f"{path} did not appear")
        time.sleep(0.05)


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _parent_of(pid: int) -> int:
    # The name stands in brackets and may hold anything; the fields are counted from behind it.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if _parent_of(int(entry.name)) == pid:
                found.append(int(entry.name))
    return found


def _processes_with(setting: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if setting.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]
