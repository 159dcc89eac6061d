"""A real PostgreSQL for tests: a throwaway server on loopback, and a fresh database for each test.

Knows no pytest. The binaries are those of the system: on PATH, or where Debian keeps them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["PostgresServer"]

MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes that have to be free in a file system in memory."""
START_S = 30.0
"""Seconds that a server may take to start."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    # The files need not outlive the machine, only the server's processes. A commit still reaches the
    # operating system before it is acknowledged, so tests may stop the server at once and go on.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "16MB",
}


class PostgresServer:
    """One server with its own data folder. A stopped one can be started again, on the same port."""

    def __init__(self, primary: PostgresServer | None = None) -> None:
        """primary: the running server of which this one is a standby."""
        self._bin = _binaries()
        self._password: str = secrets.token_hex(8) if primary is None else primary._password
        self._names = (f"test_{n}" for n in itertools.count(1))
        self._process: subprocess.Popen[bytes] | None = None
        # Not below pytest's folder, which only its owner may enter; its name has to fit a socket's path.
        self._home = Path(tempfile.mkdtemp(prefix="pnyx-postgres-", dir=_in_memory()))
        self._data, self._log = self._home / "data", self._home / "log"
        self._as = _unprivileged(self._home)
        self.port = _free_port()
        if primary is not None:
            at = (f"--host={primary._home}", f"--port={primary.port}", "--username=pnyx")
            how = ("--checkpoint=fast", "--no-sync", "--write-recovery-conf")
            self._run("pg_basebackup", f"--pgdata={self._data}", *at, *how)
            return
        with _file(self._home / "password", self._password) as password:
            self._run(
                "initdb",
                f"--pgdata={self._data}",
                f"--pwfile={password}",
                *("--username=pnyx", "--auth-local=trust", "--auth-host=scram-sha-256"),
                *("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
            )

    def start(self) -> None:
        """Start and wait until connections are taken. Raises `RuntimeError` with the server's log."""
        settings = _SETTINGS | {"port": str(self.port), "unix_socket_directories": str(self._home)}
        command = [str(self._bin / "postgres"), "-D", str(self._data)]
        command += [f"--{name}={value}" for name, value in settings.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._home, **self._as
            )
        until = time.monotonic() + START_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start:\n{self._log.read_text(errors='replace')}")
            time.sleep(0.01)

    def promote(self) -> None:
        """Make a standby take writes."""
        self.sql("SELECT pg_promote()")

    def stop(self, *, at_once: bool = False) -> None:
        """Stop, closing sessions in order, or `at_once` as in a crash: the next start recovers."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """All its processes are stopped meanwhile: connections stay open, and nothing is answered."""
        assert self._process is not None
        pid = self._process.pid
        os.kill(pid, signal.SIGSTOP)  # first: it starts no others then
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in (*map(int, children), pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGCONT)

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def give(self, folder: Path) -> None:
        """Let the server write in a folder: it may run as another user."""
        if "user" in self._as:
            os.chown(folder, self._as["user"], self._as["group"])

    def remove(self) -> None:
        """Stop and delete all of it."""
        self.stop(at_once=True)
        shutil.rmtree(self._home)

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database, dropped afterwards even if sessions are still open."""
        name = next(self._names)
        self.sql(f"CREATE DATABASE {name}")
        try:
            yield f"postgresql+asyncpg://pnyx:{self._password}@127.0.0.1:{self.port}/{name}"
        finally:
            if self._process is not None:
                self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def _ready(self) -> bool:
        # The server writes its process id on the first line, and its state on the eighth, for pg_ctl.
        with contextlib.suppress(OSError, IndexError):
            lines = (self._data / "postmaster.pid").read_text().split("\n")
            return (
                self._process is not None
                and lines[0] == str(self._process.pid)
                and lines[7].strip() in ("ready", "standby")
            )
        return False

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Execute a statement as superuser, and return what it prints."""
        where = (f"--host={self._home}", f"--port={self.port}", "--username=pnyx", f"--dbname={database}")
        how = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align")
        return self._run("psql", *how, *where, f"--command={statement}")

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(self._bin / program), *arguments],
            capture_output=True,
            text=True,
            cwd=self._home,
            check=False,
            **self._as,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return done.stdout.strip()


def _in_memory() -> Path | None:
    """A folder in memory, if one has room: the 300 files of a new database cost less processor time there."""
    with contextlib.suppress(OSError):
        if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
            return MEMORY
    return None


def _binaries() -> Path:
    found = [Path(p).resolve().parent for p in [shutil.which("postgres")] if p]
    found += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    for folder in found:
        if all((folder / program).exists() for program in ("initdb", "postgres", "psql")):
            return folder
    raise RuntimeError("no PostgreSQL server was found; on Debian: apt-get install postgresql")


def _unprivileged(home: Path) -> dict[str, Any]:
    """How to start a server that owns `home`: PostgreSQL refuses to be run by root."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    if os.geteuid() != 0:
        return {"env": env}
    names = {user.pw_name for user in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(home, user.pw_uid, user.pw_gid)
    return {"env": env, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    """Return a free port below the range of outgoing connections, so that it is still free at a restart."""
    for _ in range(100):
        port = 20000 + secrets.randbelow(10000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port between 20000 and 30000")


@contextlib.contextmanager
def _file(path: Path, text: str) -> Iterator[Path]:
    path.write_text(text)
    # The server's user must read it; the folder's permissions keep others out.
    path.chmod(0o644)
    try:
        yield path
    finally:
        path.unlink()
