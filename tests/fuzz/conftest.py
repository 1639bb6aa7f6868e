"""The fuzzer runs on the torch engine, and starts MXNet by itself in a process beside."""


def pytest_ignore_collect(collection_path, config):
    return True if config.getoption("--engine") == "mxnet" else None
