"""The pages of the site that no file has: a hook of MkDocs.

The front page is README, and the pages of the reference are made from the public names of each
module, whose docstrings mkdocstrings shows. Nothing is imported: the source is read, and for the
functions that are made at import, its stubs.
"""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

import griffe
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs runs this file as no part of a package
from docstrings import rewritten

LOG = logging.getLogger("mkdocs.hooks.pages")  # its warnings are errors
ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {  # pages that are not in docs/: their places on the site
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
    "layers/mxnet/README.md": "inside-layers-mxnet.md",
}
# The pages of the reference: the title, and the modules whose public names it shows. Of a module
# that is filled from others, these are found by themselves.
LAYERS = {
    "Blocks and losses": ["layers"],
    "Nets": ["layers.nets"],
    "Operators": ["layers.ops"],
    "The checker": ["layers.check"],
    "The engine": ["layers.engine"],
    "train": ["train", "train.callbacks"],
    "layers.minpy": ["layers.minpy.core", "layers.minpy.primitive"],
    "layers.mindspore": ["layers.mindspore", "layers.mindspore.ops"],
}
MXNET = {
    "mx": ["layers.mxnet"],
    "mx.nd": ["layers.mxnet.ndarray"],
    "mx.nd operators": ["layers.mxnet.ndarray.op"],
    "mx.nd.contrib": ["layers.mxnet.ndarray.contrib"],
    "mx.nd.image": ["layers.mxnet.ndarray.image"],
    "mx.nd.linalg": ["layers.mxnet.ndarray.linalg"],
    "mx.nd.random": ["layers.mxnet.ndarray.random", "layers.mxnet.random"],
    "mx.sym": ["layers.mxnet.symbol"],
    "mx.autograd": ["layers.mxnet.autograd"],
    "mx.gluon": ["layers.mxnet.gluon"],
    "mx.gluon.nn": ["layers.mxnet.gluon.nn"],
    "mx.gluon.rnn": ["layers.mxnet.gluon.rnn"],
    "mx.gluon.loss": ["layers.mxnet.gluon.loss"],
    "mx.gluon.data": [
        "layers.mxnet.gluon.data",
        "layers.mxnet.gluon.data.vision",
        "layers.mxnet.gluon.data.vision.transforms",
    ],
    "mx.gluon.model_zoo": ["layers.mxnet.gluon.model_zoo.vision"],
    "mx.gluon.utils": ["layers.mxnet.gluon.utils"],
    "mx.gluon.contrib": [
        "layers.mxnet.gluon.contrib.nn",
        "layers.mxnet.gluon.contrib.rnn",
        "layers.mxnet.gluon.contrib.data",
        "layers.mxnet.gluon.contrib.estimator",
    ],
    "mx.optimizer": ["layers.mxnet.optimizer"],
    "mx.lr_scheduler": ["layers.mxnet.lr_scheduler"],
    "mx.initializer": ["layers.mxnet.initializer"],
    "mx.metric": ["layers.mxnet.metric"],
    "mx.io": ["layers.mxnet.io"],
    "mx.recordio": ["layers.mxnet.recordio"],
    "mx.image": ["layers.mxnet.image"],
    "mx.kvstore": ["layers.mxnet.kvstore"],
    "mx.module": ["layers.mxnet.module"],
    "mx.executor": ["layers.mxnet.executor"],
    "mx.model": ["layers.mxnet.model"],
    "mx.callback": ["layers.mxnet.callback"],
    "mx.monitor": ["layers.mxnet.monitor"],
    "mx.operator": ["layers.mxnet.operator"],
    "mx.onnx": ["layers.mxnet.onnx"],
    "mx.rnn": ["layers.mxnet.rnn"],
    "mx.contrib.amp": ["layers.mxnet.contrib.amp"],
    "mx.contrib.text": [
        "layers.mxnet.contrib.text.vocab",
        "layers.mxnet.contrib.text.embedding",
        "layers.mxnet.contrib.text.utils",
    ],
    "mx.context": ["layers.mxnet.context"],
    "mx.profiler": ["layers.mxnet.profiler"],
    "mx.test_utils": ["layers.mxnet.test_utils"],
    "mx.util": ["layers.mxnet.util"],
    "mx.visualization": ["layers.mxnet.visualization"],
}
# A block with a file's name, and the name above it, which is for readers of the file as it is.
FILE = re.compile(r"(?:\n`[\w.]+`:\n)?\n```(\w+) (\S+)\n")
WITH_INHERITED = ("NDArray", "Symbol")  # whose methods are in classes of their own


def on_config(config):
    """Put the pages of the reference into the navigation, where it has the name of their table."""
    tables = {"LAYERS": LAYERS, "MXNET": MXNET}
    for entry in config.nav:
        for title, under in entry.items():
            if isinstance(under, str) and under in tables:
                entry[title] = [{name: path(name)} for name in tables[under]]
    return config


def on_files(files, config):
    """Add the front page and the reference."""
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, place, content=moved(text, source)))
    source = loaded()
    for title, modules in (LAYERS | MXNET).items():
        files.append(File.generated(config, path(title), content=page(title, modules, source)))
    return files


def on_page_markdown(markdown, page, **_):
    """Blocks that are files have titles; links to what is not in docs/ lead to its place here."""
    markdown = FILE.sub(r'\n```\1 title="\2"\n', markdown)
    if page.file.generated_by:
        return markdown
    return moved(markdown, f"docs/{page.file.src_uri}")


def moved(text: str, source: str) -> str:
    """The page with its relative links as they are on the site; to code there are none."""
    folder = (ROOT / source).parent

    def link(found: re.Match) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        place = (folder / target).resolve().relative_to(ROOT).as_posix()
        if place.startswith("docs/"):
            return f"{words}({place.removeprefix('docs/')}{anchor})"
        if place in OUTSIDE:
            return f"{words}({OUTSIDE[place]}{anchor})"
        return words.strip("[]")

    return re.sub(r"(\[[^]]*\])\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)", link, text)


def path(title: str) -> str:
    return f"reference/{title.lower().replace(' ', '-')}.md"


def loaded() -> griffe.Module:
    """The source of the packages, read and not run."""
    loader = griffe.GriffeLoader(search_paths=[ROOT], allow_inspection=False)
    for package in ("layers", "train"):
        loader.load(package)
    loader.resolve_aliases(implicit=True, external=False)
    return loader.modules_collection


def page(title: str, modules: list[str], source) -> str:
    """A page with a line for each public name, which mkdocstrings replaces."""
    lines, seen = [f"# {title}", ""], set()
    for module in modules:
        if len(modules) > 1:
            lines += [f"## {module.replace('layers.mxnet', 'mx')}", ""]
        if source[module].docstring:
            lines += [rewritten(source[module].docstring.value), ""]
        places = public(source[module])
        if not places:
            LOG.warning(f"{module} has no public class or function with a docstring")
        for name, place in places.items():
            if place in seen:
                continue
            seen.add(place)
            lines += [f"::: {place}", "    options:"]
            lines += [f"      heading_level: {2 + (len(modules) > 1)}"]
            lines += [f"      inherited_members: {str(name in WITH_INHERITED).lower()}", ""]
    return "\n".join(lines)


def public(module: griffe.Module) -> dict[str, str]:
    """The public classes and functions of a module with docstrings: their places by name."""
    members = module.members.items()
    stubs = [name for name, member in members if not member.is_alias and not member.runtime]
    exports = module.exports or []
    if stubs:  # made at import
        names = stubs
    elif exports and all(isinstance(name, str) for name in exports):
        names = list(exports)
    else:
        names = [name for name in module.members if not name.startswith("_")]
    places = {name: place(module, name) for name in sorted(names, key=str.lower)}
    return {name: found for name, found in places.items() if found}


def place(module: griffe.Module, name: str) -> str | None:
    """Where a class or function of ours with a docstring is; None for anything else."""
    member = module.members.get(name)
    try:
        if member is not None and member.is_module:  # ops.dense is the operator in the file dense
            member = member.members.get(name)
        if member is None or not (member.is_class or member.is_function) or not member.docstring:
            return None
    except griffe.AliasResolutionError:  # another package's
        return None
    ours = member.canonical_path.split(".")[0] in ("layers", "train")
    return member.path if ours else None
