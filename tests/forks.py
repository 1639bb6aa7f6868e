"""Python in forks of one process that has imported torch, which takes most of the time of a start.

Not for what depends on how torch is imported, such as its threads: that is started as it is.
"""

import atexit
import functools
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

CAN_FORK = hasattr(os, "fork")
SERVER = f"""
import sys, torch
sys.path.append({str(Path(__file__).parent)!r})
from forks import serve
sys.path.pop()
serve()
"""


def run(arguments, cwd=None, env=None, timeout=120):
    """As ``subprocess.run`` of Python with these arguments: ["-W", "ignore", "-c", code]."""
    env = dict(os.environ if env is None else env)
    if not CAN_FORK or os.environ["LAYERS_ENGINE"] != "torch":
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout
        )
    server = started()
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        task = {"arguments": arguments, "cwd": str(cwd or os.getcwd()), "env": env, "paths": paths}
        print(json.dumps(task), file=server.stdin, flush=True)
        if not select.select([server.stdout], [], [], timeout)[0]:
            started.cache_clear()
            stop(server)
            raise subprocess.TimeoutExpired(arguments, timeout)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(
            arguments, status, *[Path(path).read_text("utf-8") for path in paths]
        )


@functools.cache
def started():
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        start_new_session=True,
        text=True,
    )
    atexit.register(stop, server)
    return server


def stop(server):
    """With the fork that it may wait for."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
    with server:
        pass


def serve():
    """In the process of its own: a fork for each line, which returns from here as a program."""
    while line := sys.stdin.readline():
        task = json.loads(line)
        with warnings.catch_warnings():
            # Python 3.12 warns of any thread: those that are here belong to NumPy, and wait.
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            return execute(**task)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def execute(arguments, cwd, env, paths):
    for number, path in enumerate([os.devnull, *paths]):
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    del sys.modules["forks"]
    sys.path[:1] = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    if arguments[0] == "-W":
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    main = sys.modules["__main__"].__dict__
    for name in ("sys", "torch", "serve"):
        del main[name]
    if arguments[0] == "-m":
        sys.argv = ["-m", *arguments[2:]]
        sys.path.insert(0, cwd)
        return runpy._run_module_as_main(arguments[1])
    if arguments[0] == "-c":
        text, sys.argv, first, file = arguments[1], ["-c", *arguments[2:]], "", "<string>"
    else:
        file, sys.argv = arguments[0], list(arguments)
        text, first = Path(file).read_text("utf-8"), str(Path(file).resolve().parent)
        main["__file__"] = file
    sys.path.insert(0, first)
    exec(compile(text, file, "exec"), main)
