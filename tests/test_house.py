"""The rules of the house, read off the source.

A rule yields its offences in one source file; `test_rule` shows them all, and `test_rule_bites`
holds an example against each rule.
"""

import ast
import importlib
import io
import os
import re
import subprocess
import sys
import tokenize
from functools import cached_property, lru_cache
from pathlib import Path
from types import FunctionType

import pytest

ROOT = Path(__file__).resolve().parents[1]
MXNET_MODULES = (ROOT / "tests/golden/mxnet_modules.txt").read_text().split()

# Packages under other projects' names: their public modules are named as they are there.
MIRRORS = ("layers.mxnet", "layers.minpy", "layers.mindspore")

# What runs what it reads. An exception is a line of ALLOWED: (path, name): the reason.
UNSAFE = {
    "eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load",
    "marshal.loads", "shelve.open", "torch.load", "torch.export.load", "torch.jit.load",
    "joblib.load",
}  # fmt: skip
ALLOWED = {
    ("layers/mxnet/gluon/data/dataloader.py", "pickle.loads"): "batches from the processes that a "
    "DataLoader itself started",
    (
        "layers/mxnet/_files/state_dict.py",
        "torch.load",
    ): "with weights_only, by which it makes tensors and containers alone",
    ("layers/mxnet/_graph/program.py", "exec"): "the lines of a graph: its names are numbered, "
    "its attributes bound objects",
    ("layers/mxnet/_graph/recorder.py", "exec"): "recorded calls of PyTorch: names are numbered, "
    "functions and constants bound objects",
    ("layers/ops/ways/_kernel/compiler.py", "exec"): "the lines of a loop kernel: a checked "
    "function's, written anew with its names behind a prefix",
}

# The public modules of layers.mxnet that MXNet does not have: the module: the reason.
OF_OUR_OWN = {"convert": "a program that users start by its name: python -m layers.mxnet.convert"}

MODULE_LINES = 500
FUNCTION_LINES = 60  # without the docstring; 40 is where to ask which idea is missing


class Source:
    """One file: its path from the root, its module's name, its text and syntax tree."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        parts = Path(path).with_suffix("").parts
        self.package = parts[:-1]
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tree(self):
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self):
        return list(ast.walk(self.tree))

    @cached_property
    def statements(self):
        """All statements, also those inside others, in far less time than all nodes."""
        return list(statements(self.tree, with_functions=True))

    def origin(self, node):
        """The module that a `from ... import` takes from, with the dots resolved."""
        above = self.package[: len(self.package) - node.level + 1] if node.level else ()
        return ".".join((*above, *filter(None, [node.module])))

    @cached_property
    def imports(self):
        """Every (line, module) imported; `from a import b` counts as a and as a.b."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(node.lineno, name.name) for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(node)
                found += [(node.lineno, origin)]
                found += [(node.lineno, f"{origin}.{name.name}") for name in node.names]
            elif isinstance(node, ast.Call) and node.args:
                if self.name(node.func) in ("__import__", "importlib.import_module"):
                    found += [(node.lineno, getattr(node.args[0], "value", ""))]
        return found

    @cached_property
    def aliases(self):
        """What each imported name stands for: np is numpy, loads is pickle.loads."""
        known = {}
        for node in self.statements:
            if isinstance(node, ast.Import):
                known |= {name.asname: name.name for name in node.names if name.asname}
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(node)
                known |= {n.asname or n.name: f"{origin}.{n.name}" for n in node.names}
        return known

    @cached_property
    def made(self):
        """The type that each function says it returns: of those that make exceptions, theirs."""
        functions = [n for n in self.statements if isinstance(n, ast.FunctionDef)]
        return {f.name: f.returns.id for f in functions if isinstance(f.returns, ast.Name)}

    def name(self, node):
        """The full dotted name of an expression, "" where it has none."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.name(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""


@lru_cache
def sources(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
    ]


def inside(module, package):
    return f"{module}.".startswith(f"{package}.")


RULES = []


def rule(*folders):
    def add(check):
        RULES.append(pytest.param(check, folders, id=check.__name__))
        return check

    return add


@rule("layers", "train")
def only_layers_mxnet_imports_torch(source):
    if not inside(source.module, "layers.mxnet"):
        for line, module in source.imports:
            if inside(module, "torch"):
                yield line, f"imports {module}"


@rule("layers", "train")
def only_the_engine_knows_that_there_are_two(source):
    if source.module == "layers.engine" or inside(source.module, "layers.mxnet"):
        return
    for line, module in source.imports:
        if inside(module, "mxnet") or inside(module, "layers.mxnet"):
            yield line, f"imports {module}: take it from layers.engine"
    for node in source.nodes:
        if isinstance(node, ast.Compare | ast.MatchValue):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and part.value in ("torch", "mxnet"):
                    yield part.lineno, f"asks which engine it is: {ast.unparse(node)}"


@rule("layers", "train")
def nothing_runs_what_it_reads(source):
    for node in source.nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            name = source.name(node).removeprefix("builtins.")
            if name in UNSAFE and (source.path, name) not in ALLOWED:
                yield node.lineno, name
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            if getattr(node.value, "value", True):
                yield node.value.lineno, "allow_pickle"


@rule("layers")
def the_state_of_a_thread_is_one_object(source):
    if inside(source.module, "layers.mxnet") and source.module != "layers.mxnet._state":
        for node in source.nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                if source.name(node) in ("threading.local", "contextvars.ContextVar"):
                    yield node.lineno, f"{source.name(node)}: add a field to layers.mxnet._state"


@rule("layers", "train", "tests", "benchmarks")
def a_module_is_named_for_what_it_does(source):
    mirrored = any(inside(source.module, mirror) for mirror in MIRRORS)
    for part in source.module.split("."):
        if mirrored and not part.startswith("_"):
            continue
        if part.strip("_") in ("util", "utils", "common", "helper", "helpers", "misc", "impl"):
            yield 1, f"{part} says nothing"


@rule("layers")
def public_modules_of_layers_mxnet_are_mxnets(source):
    name = source.module.removeprefix("layers.mxnet.")
    if inside(source.module, "layers.mxnet") and name != "layers.mxnet":
        if not re.search(r"(^|\.)_", name) and name not in {*MXNET_MODULES, *OF_OUR_OWN}:
            yield 1, f"MXNet 1.9.1 has no module {name}: a module of our own begins with _"


@rule("layers", "train", "benchmarks")
def modules_are_short(source):
    """The table aside, and what MXNet has in one file too."""
    lines = source.text.count("\n")
    mirrored = source.module.removeprefix("layers.mxnet.") in MXNET_MODULES
    if lines > MODULE_LINES and not mirrored and "_table" not in source.module.split("."):
        yield 1, f"{lines} lines, more than {MODULE_LINES}"


@rule("layers", "train", "benchmarks", "tests")
def functions_are_short(source):
    for node in source.statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            if lines > FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines, more than {FUNCTION_LINES}"


@rule("layers", "train", "benchmarks", "tests")
def a_silenced_warning_says_why(source):
    if "noqa" not in source.text.lower():  # it takes long to read the comments
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT and re.match(r"#\s*noqa\b", token.string, re.I):
            if not re.match(r"# noqa: [A-Z]+[0-9]+(, [A-Z]+[0-9]+)*\W+\w", token.string):
                yield token.start[0], f"{token.string}: name the rule and the reason"


@rule("tests")
def a_skip_says_why(source):
    if not re.search("skip|xfail", source.text):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = source.name(node.func)
            if re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail)", name):
                first = [] if name in ("pytest.mark.skipif", "pytest.mark.xfail") else node.args
                reasons = [*first, *(k.value for k in node.keywords if k.arg == "reason")]
                if not any(getattr(reason, "value", "computed") for reason in reasons):
                    yield node.lineno, f"{name} without a reason"
        for bare in getattr(node, "decorator_list", []):
            if source.name(bare) in ("pytest.mark.skip", "pytest.mark.xfail"):
                yield bare.lineno, f"{source.name(bare)} without a reason"


BLOCKS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def statements(node, with_functions=False):
    """The statements of a node's body, and those inside them.

    Those of functions and classes in it are left out unless `with_functions`.
    """
    rest = list(node.body)
    while rest:
        node = rest.pop()
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield node
            if with_functions or not isinstance(node, BLOCKS):
                rest += ast.iter_child_nodes(node)


def raised(function, made):
    """Names of the exceptions that a function raises itself, where its text has them.

    `made` has the types of those that functions of the module return, to be raised.
    """
    for node in statements(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            what = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = what.attr if isinstance(what, ast.Attribute) else getattr(what, "id", "")
            name = made.get(name, name)
            if name[:1].isupper() and name != "NotImplementedError":  # of a method to be written
                yield node.lineno, name


def sections(docstring):
    """The sections of a docstring by their titles, as in numpydoc."""
    parts = re.split(r"^[ \t]*(\w[\w ]*)\n[ \t]*---+$", docstring or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def listed(source):
    """The names in `__all__`, where it is a list in the text; it may be filled as it goes on."""
    found = re.search(r"^__all__ = (\[[^*]*?\])$", source.text, re.MULTILINE)
    return ast.literal_eval(found[1]) if found else []


def public_functions(source, names):
    """Each public function and method, with the docstring that describes its call."""
    for node in source.tree.body:
        name = getattr(node, "name", "_")
        if name not in names if names else name.startswith("_"):
            continue
        if isinstance(node, ast.FunctionDef):
            yield node, ast.get_docstring(node)
        if isinstance(node, ast.ClassDef):
            docstrings = {"__init__": ast.get_docstring(node)}
            for method in (n for n in node.body if isinstance(n, ast.FunctionDef)):
                docstrings.setdefault(method.name, ast.get_docstring(method))  # not a setter's
                if method.name == "__init__" or not method.name.startswith("_"):
                    yield method, docstrings[method.name]


@rule("layers")
def public_functions_say_what_they_raise(source):
    if not re.search(r"(^|\.)_", source.module):
        yield from unsaid(source, listed(source))


def unsaid(source, names):
    """What functions raise whose docstrings do not say so."""
    for function, docstring in public_functions(source, names):
        told = sections(docstring).get("Raises", "")
        for line, name in raised(function, source.made):
            if not re.search(rf"\b{name}\b", told):
                yield line, f"{function.name} raises {name}, and its docstring does not say so"


@rule("layers", "train")
def docstrings_of_public_functions_speak_of_raising(source):
    """Also of functions that are not listed in `__all__`, where they have a docstring."""
    if re.search(r"(^|\.)_", source.module):
        return
    everything = {getattr(node, "name", "_") for node in source.tree.body}
    for function, docstring in public_functions(source, {n for n in everything if n[0] != "_"}):
        if docstring and not re.search(r"\b[Rr]aises?\b", docstring):
            for line, name in raised(function, source.made):
                yield line, f"{function.name} raises {name}, and its docstring does not say so"


# Folders, without their subfolders, in which docstrings keep to the rules of CONTRIBUTING.md. Add
# a folder when its docstrings are rewritten.
PLAIN_FOLDERS = (
    "layers", "layers/check", "layers/mindspore", "layers/minpy", "layers/minpy/numpy",
    "layers/ops", "layers/ops/ways", "layers/ops/ways/_kernel", "layers/ops/ways/_primitive",
)  # fmt: skip
NO_NOUNS = {
    "All", "As", "Each", "How", "In", "It", "Of", "On", "That", "The", "Those", "What", "When",
    "Where", "Whether", "Which",
}  # fmt: skip
NO_VERBS = {*NO_NOUNS, "A", "An", "One"}
FIRST_SENTENCE = 20  # words; names of one letter, as in formulas, do not count


@rule("layers", "train")
def docstrings_are_in_plain_words(source):
    """A function's begins with a verb, another one's with a noun; first sentences are short."""
    if source.path.rpartition("/")[0] not in PLAIN_FOLDERS:
        return
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    for node in [source.tree, *source.statements]:
        if not isinstance(node, ast.Module | ast.ClassDef | functions):
            continue
        docstring = ast.get_docstring(node) or ""
        name, line = getattr(node, "name", "the module"), getattr(node, "lineno", 1)
        first_word = re.match(r"\w*", docstring)[0]
        if first_word in (NO_VERBS if isinstance(node, functions) else NO_NOUNS):
            expected = "a verb" if isinstance(node, functions) else "a noun"
            yield line, f"{name}: begins with {first_word}, not with {expected}"
        sentence = re.split(r"[.!?]\s|\n\n", docstring)[0]
        words = len(re.findall(r"[A-Za-z][A-Za-z'-]+", sentence))
        if words > FIRST_SENTENCE:
            yield line, f"{name}: {words} words in the first sentence, more than {FIRST_SENTENCE}"


@pytest.mark.engine("torch")
@pytest.mark.parametrize("check, folders", RULES)
def test_rule(check, folders):
    offences = [
        f"{source.path}:{line}: {what}"
        for folder in folders
        for source in sources(folder)
        for line, what in check(source)
    ]
    assert not offences, "\n" + "\n".join(offences)


BAD = [
    (only_layers_mxnet_imports_torch, "layers/dense.py", "import torch.nn"),
    (only_layers_mxnet_imports_torch, "train/loop.py", "from torch import nn"),
    (only_layers_mxnet_imports_torch, "train/loop.py", "__import__('torch')"),
    (only_the_engine_knows_that_there_are_two, "layers/dense.py", "from . import mxnet"),
    (only_the_engine_knows_that_there_are_two, "layers/ops/dense.py", "from ..mxnet import nd"),
    (only_the_engine_knows_that_there_are_two, "layers/dense.py", "import mxnet as mx"),
    (only_the_engine_knows_that_there_are_two, "layers/dense.py", "if engine == 'torch': 1"),
    (only_the_engine_knows_that_there_are_two, "train/a.py", "x = e.name in ('a', 'mxnet')"),
    (only_the_engine_knows_that_there_are_two, "train/a.py", "match e:\n  case 'mxnet': 1"),
    (nothing_runs_what_it_reads, "layers/a.py", "eval('1')"),
    (nothing_runs_what_it_reads, "layers/a.py", "import builtins as b; b.exec('1')"),
    (nothing_runs_what_it_reads, "layers/a.py", "from pickle import loads as r; r(b'')"),
    (nothing_runs_what_it_reads, "layers/mxnet/_a.py", "import torch; torch.load('f')"),
    (nothing_runs_what_it_reads, "train/a.py", "np.load('f', allow_pickle=True)"),
    (the_state_of_a_thread_is_one_object, "layers/mxnet/_a.py", "import threading as t; t.local"),
    (
        the_state_of_a_thread_is_one_object,
        "layers/mxnet/_a.py",
        "from threading import local as l; l",
    ),
    (a_module_is_named_for_what_it_does, "layers/utils.py", ""),
    (a_module_is_named_for_what_it_does, "layers/mxnet/_impl/a.py", ""),
    (a_module_is_named_for_what_it_does, "tests/helpers.py", ""),
    (public_modules_of_layers_mxnet_are_mxnets, "layers/mxnet/gluon/modern.py", ""),
    (modules_are_short, "layers/a.py", "1\n" * (MODULE_LINES + 1)),
    (modules_are_short, "layers/mxnet/gluon/_a.py", "1\n" * (MODULE_LINES + 1)),
    (functions_are_short, "layers/a.py", "def f():\n" + " 1\n" * FUNCTION_LINES),
    (a_silenced_warning_says_why, "layers/a.py", "import os  # noqa"),
    (a_silenced_warning_says_why, "layers/a.py", "import os  # noqa: F401"),
    (a_skip_says_why, "tests/a.py", "import pytest\n@pytest.mark.skip\ndef f(): 1"),
    (a_skip_says_why, "tests/a.py", "import pytest\npytest.skip('')"),
    (a_skip_says_why, "tests/a.py", "from pytest import mark\nmark.xfail(True)"),
    (public_functions_say_what_they_raise, "layers/a.py", "def f():\n if 1: raise ValueError"),
    (
        public_functions_say_what_they_raise,
        "layers/a.py",
        "class A:\n def f(self):\n  'F.\\n\\nRaises\\n---\\nTypeError\\n A b.'\n"
        "  raise b.ValueError()",
    ),
    (
        public_functions_say_what_they_raise,
        "layers/a.py",
        "class A:\n def __init__(self):\n  'Raises\\n---\\nTypeError'\n  raise TypeError",
    ),
    (
        docstrings_of_public_functions_speak_of_raising,
        "train/a.py",
        "__all__ = []\ndef f():\n 'F.'\n raise ValueError",
    ),
    (docstrings_are_in_plain_words, "layers/a.py", "def f():\n 'What it is.'"),
    (docstrings_are_in_plain_words, "layers/ops/a.py", "class A:\n def f(self):\n  'The sum.'"),
    (docstrings_are_in_plain_words, "layers/check/a.py", "def f():\n def g():\n  'Whether so.'"),
    (docstrings_are_in_plain_words, "layers/a.py", "class A:\n 'What it is.'"),
    (docstrings_are_in_plain_words, "layers/a.py", "class A:\n '" + "of " * 20 + "words.'"),
    (docstrings_are_in_plain_words, "layers/a.py", "'" + "of " * 20 + "words.'"),
]

GOOD = [
    (only_layers_mxnet_imports_torch, "layers/mxnet/_table/product.py", "import torch"),
    (only_layers_mxnet_imports_torch, "train/loop.py", "import torchlike"),
    (only_the_engine_knows_that_there_are_two, "layers/engine.py", "engine == 'torch'"),
    (only_the_engine_knows_that_there_are_two, "layers/dense.py", "from .engine import mx"),
    (nothing_runs_what_it_reads, "layers/a.py", "net.eval(); np.load('f', allow_pickle=False)"),
    (
        the_state_of_a_thread_is_one_object,
        "layers/mxnet/_state.py",
        "import threading as t; t.local",
    ),
    (a_module_is_named_for_what_it_does, "layers/mxnet/gluon/utils.py", ""),
    (public_modules_of_layers_mxnet_are_mxnets, "layers/mxnet/gluon/nn/basic_layers.py", ""),
    (public_modules_of_layers_mxnet_are_mxnets, "layers/mxnet/__init__.py", ""),
    (public_modules_of_layers_mxnet_are_mxnets, "layers/mxnet/convert.py", ""),
    (public_modules_of_layers_mxnet_are_mxnets, "layers/mxnet/_table/nn.py", ""),
    (modules_are_short, "layers/mxnet/gluon/block.py", "1\n" * (MODULE_LINES + 1)),
    (functions_are_short, "layers/a.py", "def f():\n '''" + "\n" * 99 + "'''\n return 1"),
    (a_silenced_warning_says_why, "layers/a.py", "import os  # noqa: F401  for doctest"),
    (a_skip_says_why, "tests/a.py", "import pytest\npytest.mark.skipif(1, reason='no GPU')"),
    (a_skip_says_why, "tests/a.py", "import pytest\npytest.skip('no GPU')"),
    (
        public_functions_say_what_they_raise,
        "layers/a.py",
        "__all__ = ['A']\ndef g(): raise KeyError\n"
        "class A:\n 'A.\\n\\nRaises\\n---\\nValueError, TypeError\\n A b.'\n"
        " def __init__(self): raise TypeError('b')\n"
        " def f(self):\n  def g(): raise KeyError\n  raise NotImplementedError",
    ),
    (docstrings_are_in_plain_words, "layers/mxnet/a.py", "def f():\n 'What it is.'"),
    (docstrings_are_in_plain_words, "layers/a.py", "class A:\n 'A norm.'"),
    (docstrings_are_in_plain_words, "layers/a.py", "def f():\n 'Asks.'"),
    (
        docstrings_are_in_plain_words,
        "layers/a.py",
        "def f():\n 'Return " + "word " * 19 + "x + y. " + "word " * 20 + "'",
    ),
]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("check, path, text", BAD)
def test_rule_bites(check, path, text):
    assert list(check(Source(path, text)))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("check, path, text", GOOD)
def test_rule_lets_pass(check, path, text):
    assert not list(check(Source(path, text)))


def test_each_exception_is_needed():
    for name, reason in OF_OUR_OWN.items():
        assert reason and name not in MXNET_MODULES
        assert (ROOT / "layers/mxnet" / f"{name}.py").exists()
    for (path, name), reason in ALLOWED.items():
        assert reason
        assert name.rpartition(".")[2] in (ROOT / path).read_text()


PUBLIC = [s for s in sources("layers") if not re.search(r"\._", s.module)]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("source", PUBLIC, ids=lambda source: source.module)
def test_public_names(source):
    """A public module that defines anything lists what of it is public, with docstrings."""
    module = importlib.import_module(source.module)
    defined = [n for n in source.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    assert hasattr(module, "__all__") or not defined, "no __all__"
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    own = {n: it for n, it in public.items() if getattr(it, "__module__", "").startswith("layers")}
    undocumented = [name for name, it in own.items() if callable(it) and not it.__doc__]
    assert not undocumented


@pytest.mark.engine("torch")
def test_functions_of_private_modules_say_what_they_raise():
    """Those that a public module shows."""
    shown = {}
    for source in PUBLIC:
        module = importlib.import_module(source.module)
        for it in [getattr(module, name) for name in getattr(module, "__all__", ())]:
            if isinstance(it, type | FunctionType):
                shown.setdefault(it.__module__, set()).add(it.__name__)
    private = [s for s in sources("layers") if s.module in shown and s not in PUBLIC]
    assert len(private) > 10
    offences = [
        f"{source.path}:{line}: {what}"
        for source in private
        for line, what in unsaid(source, shown[source.module])
    ]
    assert not offences, "\n" + "\n".join(offences)


FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def executed(node, with_functions):
    """The nodes of a module that run when it is imported, or also those inside its functions.

    What is for type checkers alone never runs.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            child = ast.Module(child.orelse, [])
        if with_functions or not isinstance(child, FUNCTIONS):
            yield child
            yield from executed(child, with_functions)


# What imports a module above itself by its name: (module, the other): the reason.
UPWARDS = {
    ("layers.mxnet.operator", "layers.ops"): "a file may name this library's operators, which are "
    "registered when they are imported",
}


def import_graph(sources, with_functions):
    """By module, which of the others it imports.

    A module of `layers.mxnet` that is named in a string counts as imported: what looks another
    up by its name depends on it.
    """
    modules, graph = {source.module for source in sources}, {}
    for source in sources:
        found = set()
        for node in executed(source.tree, with_functions):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                origin = source.origin(node)
                names = [f"{origin}.{name.name}" for name in node.names]
                found |= {name if name in modules else origin for name in names}
            elif isinstance(node, ast.Constant) and str(node.value).startswith("layers.mxnet."):
                found.add(node.value)
            elif isinstance(node, ast.Call) and node.args:
                name = getattr(node.args[0], "value", "")
                imports = source.name(node.func) == "importlib.import_module"
                found |= {name} if imports and (source.module, name) not in UPWARDS else set()
        graph[source.module] = found & modules - {source.module}
    return graph


def circles(graph):
    """The groups of modules in which each imports each other, directly or not."""

    def reached(start):
        seen, rest = set(), [start]
        while rest:
            new = graph[rest.pop()] - seen
            seen |= new
            rest += new
        return seen

    reach = {module: reached(module) for module in graph}
    groups = {frozenset(m for m in reach[n] if n in reach[m]) for n in graph}
    return [sorted(group) for group in groups if group]


@pytest.mark.engine("torch")
def test_no_circle_of_imports():
    assert not circles(import_graph(sources("layers"), with_functions=False))


@pytest.mark.engine("torch")
def test_no_large_circle_of_imports_in_functions():
    found = circles(import_graph(sources("layers"), with_functions=True))
    assert not [circle for circle in found if len(circle) > 3]


AB = ["layers.a", "layers.b"]
CIRCLES = {  # the text of a and of b, circles among imports, circles with those in functions
    "modules": ("from . import b", "import layers.a", [AB], [AB]),
    "names": ("from .b import name", "from layers.a import name", [AB], [AB]),
    "classes": ("class A:\n  from . import b", "from . import a", [AB], [AB]),
    "functions": ("def f(): import layers.b", "from . import a", [], [AB]),
    "types": ("if TYPE_CHECKING:\n  from . import b", "from . import a", [], []),
    "by name": (
        "from importlib import import_module as f\nf('layers.b')",
        "from . import a",
        [AB],
        [AB],
    ),
    "one way": ("from . import b", "import os", [], []),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("a, b, top, all", CIRCLES.values(), ids=CIRCLES)
def test_circles_are_found(a, b, top, all):
    files = [Source("layers/a.py", a), Source("layers/b.py", b)]
    assert circles(import_graph(files, with_functions=False)) == top
    assert circles(import_graph(files, with_functions=True)) == all


def test_modules_named_in_strings_count_as_imported():
    files = [
        Source("layers/mxnet/a.py", "KEPT = 'layers.mxnet.b'"),
        Source("layers/mxnet/b.py", "from .a import KEPT"),
    ]
    assert circles(import_graph(files, with_functions=True)) == [
        ["layers.mxnet.a", "layers.mxnet.b"]
    ]


def test_importing_layers_imports_no_engine():
    result = subprocess.run(
        [sys.executable, "-c", "import layers, sys; print(*{'torch', 'mxnet'} & {*sys.modules})"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == []


@pytest.mark.engine("torch")
def test_files_that_make_gpu_names_are_there():
    files = re.search(r"ON_GPU = \$\(addprefix tests/,([^)]*)\)", (ROOT / "Makefile").read_text())[
        1
    ]
    missing = [f for f in files.replace("\\", "").split() if not (ROOT / "tests" / f).exists()]
    assert files and not missing
