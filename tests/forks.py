"""Programs of tests, each in a fork of one process that has imported torch.

Importing torch takes most of the time in which a Python starts, and a fork has it already. `run`
asks a server, a process that does nothing but fork, started at the first call: there is one for
each process of pytest. Not for what depends on how torch is imported, such as its threads, nor for
what tests the start of a process: such tests start Python themselves.
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
# What the server runs. Its last call also ends the program of each fork: see `serve`.
SERVER = f"""
import sys, torch
sys.path.append({str(Path(__file__).parent)!r})
from forks import serve
sys.path.pop()
serve()
"""


def run(arguments, cwd=None, env=None, timeout=120):
    """As ``subprocess.run`` of Python with these arguments: ["-W", "ignore", "-c", code].

    It is ``subprocess.run`` where there is no fork, and on MXNet.
    """
    env = dict(os.environ if env is None else env)
    if not CAN_FORK or os.environ["LAYERS_ENGINE"] != "torch":
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout
        )
    server = running_server()
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        task = {"arguments": arguments, "cwd": str(cwd or os.getcwd()), "env": env, "paths": paths}
        print(json.dumps(task), file=server.stdin, flush=True)
        if not select.select([server.stdout], [], [], timeout)[0]:
            running_server.cache_clear()
            stop(server)
            raise subprocess.TimeoutExpired(arguments, timeout)
        status = server.stdout.readline()
        if not status:
            running_server.cache_clear()
            raise RuntimeError(f"the server of forks has ended, with status {server.wait()}")
        return subprocess.CompletedProcess(
            arguments, int(status), *[Path(path).read_text("utf-8") for path in paths]
        )


@functools.cache
def running_server():
    """The server of this process, started at the first call."""
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
    """Kill the server, and the fork that it may be waiting for."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
    with server:  # closes its streams, and waits until it has ended
        pass


def serve():
    """In the server: read tasks, run each in a fork, and write the exit status of each.

    In the server this returns when there are no more tasks. In a fork it returns as soon as the
    program of its task has run: nothing follows in `SERVER`, so the fork then ends as any Python
    does that has come to the end of its program. Threads are joined, functions of `atexit` called,
    and what the program has raised passes through here, to become a traceback or a status.
    """
    while line := sys.stdin.readline():
        task = json.loads(line)
        with warnings.catch_warnings():
            # Python 3.12 warns of any thread: those that are here belong to NumPy, and wait.
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            return become_program(**task)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def become_program(arguments, cwd, env, paths):
    """In a fork: run a program as if Python had been started with these arguments.

    Its output goes to the files of `paths`. What is here of the server is taken away before:
    open streams, environment, folder, `sys.path`, `sys.argv`, and names in ``__main__``.
    """
    for number, path in enumerate([os.devnull, *paths]):  # stdin, stdout, stderr
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    del sys.modules["forks"]
    # The first entry is that of `-c`, the current folder: a program gets its own below.
    sys.path[:1] = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    if arguments[0] == "-W":
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    main = sys.modules["__main__"].__dict__
    for name in ("sys", "torch", "serve"):  # what SERVER has imported
        del main[name]
    if arguments[0] == "-m":
        sys.argv = ["-m", *arguments[2:]]
        sys.path.insert(0, cwd)
        return runpy._run_module_as_main(arguments[1])
    if arguments[0] == "-c":
        file, text, folder = "<string>", arguments[1], ""
        sys.argv = ["-c", *arguments[2:]]
    else:
        file, text = arguments[0], Path(arguments[0]).read_text("utf-8")
        folder = str(Path(file).resolve().parent)
        sys.argv = list(arguments)
        main["__file__"] = file
    sys.path.insert(0, folder)
    exec(compile(text, file, "exec"), main)
