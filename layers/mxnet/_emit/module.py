"""The emitted file: classes after their parts, equal ones once, and what loads the weights."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from .heads import SUPPORT
from .names import TAKEN, Names, is_plain, literal
from .scope import Call, Member, Part, Weight, World, Writer
from .table import Layer
from .text import lines

LOAD = '''
def load(path: str) -> {net}:
    """Return the net with the weights of a safetensors file, in evaluation mode."""
    from safetensors.torch import load_file

    net = {net}()
    net.load_state_dict(load_file(path))
    return net.eval()
'''


@dataclass
class Class:
    """A class of the file, and the parts that are its instances."""

    name: str
    writers: list[Writer]
    settings: dict[tuple, str] = field(default_factory=dict)  # what differs, by its place


class Module:
    """The file of a net.

    Parameters
    ----------
    part : Part
        The net.
    world : World
    """

    def __init__(self, part: Part, world: World):
        self.part, self.world = part, world
        self.writers: dict[Part, Writer] = {}
        self.classes: dict[Part, Class] = {}
        self._collect(part)
        self.order: list[Class] = []
        if not world.lacking:
            for height in range(self._height(part) + 1):
                self._classify([p for p in self.writers if self._height(p) == height])

    def _collect(self, part: Part) -> None:
        for step in part.steps:
            if isinstance(step, Call) and step.part not in self.writers:
                self._collect(step.part)
        if part not in self.writers:
            self.writers[part] = Writer(part, self.world).write()

    def _height(self, part: Part) -> int:
        inner = [self._height(s.part) for s in part.steps if isinstance(s, Call)]
        return 1 + max(inner) if inner else 0

    # Classes

    def _classify(self, parts: list[Part]) -> None:
        """Make classes of parts; parts that differ in numbers alone are one class."""
        groups: dict[Any, list[Part]] = {}
        for part in parts:
            writer = self.writers[part]
            if not writer.is_sequential:
                forward = tuple(text for text, _ in writer.forward)
                form = self._form(writer.members), tuple(writer.arguments), forward, writer.result
                groups.setdefault((part.title, form), []).append(part)
        for (title, _), same in groups.items():
            name = self._class_name("Net" if same[0] is self.part else "Part", title)
            made = Class(name, [self.writers[p] for p in same])
            made.settings = self._settings([self._numbers(w.members) for w in made.writers])
            self.order.append(made)
            for part in same:
                self.classes[part] = made

    def _class_name(self, otherwise: str, title: str) -> str:
        """Return the title, with a number where classes that differ in more have it too."""
        first = name = title if is_plain(title) and title not in TAKEN else otherwise
        taken = {*SUPPORT, *self.world.functions, *[made.name for made in self.order]}
        numbers = count(2)
        while name in taken:
            name = f"{first}_{next(numbers)}"
        return name

    def _form(self, members: list[Member]) -> tuple:
        """Return the members without their numbers."""
        return tuple((m.name, m.frozen, self._form_of(m.made)) for m in members)

    def _form_of(self, made: Any) -> Any:
        if isinstance(made, Layer):
            return made.head, tuple(made.args), made.positional
        if isinstance(made, Part):
            writer = self.writers[made]
            if writer.is_sequential:
                return self._form(writer.members)
            return self.classes[made].name
        return made

    def _numbers(self, members: list[Member], path: tuple = ()) -> dict[tuple, Any]:
        """Return the numbers that make the members, by the member and the argument."""
        found: dict[tuple, Any] = {}
        for member in members:
            here, made = (*path, member.name), member.made
            if isinstance(made, Layer):
                found |= {(*here, name): value for name, value in made.args.items()}
            elif isinstance(made, Part) and self.writers[made].is_sequential:
                found |= self._numbers(self.writers[made].members, here)
            elif isinstance(made, Part):
                found |= {(*here, name): v for name, v in self._arguments(made).items()}
        return found

    def _settings(self, numbers: list[dict[tuple, Any]]) -> dict[tuple, str]:
        """Return the names of the arguments for the numbers that differ, by their places."""
        names, known, found = Names(), {}, {}
        for place in numbers[0]:
            values = tuple(repr(n[place]) for n in numbers)
            if len({*values}) > 1:
                if values not in known:
                    known[values] = names.take(place[-1], place[-1])
                found[place] = known[values]
        return found

    def _arguments(self, part: Part) -> dict[str, Any]:
        """Return the arguments that make an instance of a part's class."""
        made = self.classes[part]
        numbers = self._numbers(self.writers[part].members)
        return {name: numbers[place] for place, name in made.settings.items()}

    # Text

    def source(self) -> str:
        """Return the text of the file."""
        body: list[str] = []
        for made in self.order:
            body += ["", "", *self._class(made)]
        net = self.classes[self.part].name
        for name in self.world.support:
            body = ["", "", *SUPPORT.get(name, name).strip("\n").split("\n"), *body]
        body += ["", "", *LOAD.format(net=net).strip("\n").split("\n")]
        uses_functions = any(re.search(r"\bF\.", line) for line in body)
        head = ['"""', *self._doc(), '"""', "", "import torch"]
        head += ["import torch.nn.functional as F"] * uses_functions + [
            "from torch import Tensor, nn"
        ]
        text = "\n".join([*head, *body]) + "\n"
        if not re.search(r"(?<!safetensors\.)\btorch\.(?!nn\.functional)", text):
            text = text.replace("import torch\n", "", 1)
        return text

    def _doc(self) -> list[str]:
        return [
            "A network of MXNet in PyTorch.",
            "",
            "`load` reads its weights. BatchNorm updates its running variance as PyTorch does,",
            "from a sum over n - 1; MXNet has n. All else is the same, forward and backward.",
        ]

    def _class(self, made: Class) -> list[str]:
        writer = made.writers[0]
        settings = made.settings
        values = self._numbers(writer.members)
        arguments = {settings[place]: type(values[place]) for place in settings}
        shown = "".join(f", {name}: {self._type(made, name)}" for name in arguments)
        found = [f"class {made.name}(nn.Module):"]
        if writer.part.doc:
            found += [f'    """{writer.part.doc}"""', ""]
        found += lines(f"def __init__(self{shown}) -> None:", 4)
        found += ["        super().__init__()"]
        for member in writer.members:
            found += self._member(member, settings)
        alike = len(made.writers) == 1
        inputs = "".join(
            f", {a}" + self._annotation(writer, i) for i, a in enumerate(writer.arguments)
        )
        found += [
            "",
            *lines(f"def forward(self{inputs}) -> {self._returned(writer.part.outputs)}:", 4),
        ]
        statements = [*writer.forward]
        last = f"{writer.result} = "
        if statements and statements[-1][0].startswith(last):
            text, comment = statements.pop()
            statements.append((f"return {text.removeprefix(last)}", comment))
        else:
            statements.append((f"return {writer.result}", ""))
        for text, comment in statements:
            found += lines(text, 8, comment if alike else "")
        return found

    def _type(self, made: Class, name: str) -> str:
        place = next(p for p, n in made.settings.items() if n == name)
        kinds = {type(self._numbers(w.members)[place]).__name__ for w in made.writers}
        texts = ["tuple[int, ...]" if kind == "tuple" else kind for kind in sorted(kinds)]
        return " | ".join(texts)

    def _annotation(self, writer: Writer, place: int) -> str:
        entry = writer.part.inputs[place][0]
        return ": Tensor | None = None" if entry in writer.part.optional else ": Tensor"

    def _returned(self, outputs: Any) -> str:
        if isinstance(outputs, list):
            return "list"
        is_entry = not isinstance(outputs[0], tuple) and not isinstance(outputs[0], list)
        return "Tensor" if is_entry else "tuple[Tensor, ...]"

    def _member(self, member: Member, settings: dict[tuple, str]) -> list[str]:
        made = member.made
        if isinstance(made, Weight):
            return lines(made.source(member.name), 8)
        found = self._made(made, 8, f"self.{member.name} = ", "", (member.name,), settings)
        return found + self._frozen(member, f"self.{member.name}")

    def _frozen(self, member: Member, path: str) -> list[str]:
        """Return the lines by which ones that are no parameters of MXNet's get no gradient."""
        made = member.made
        if isinstance(made, Layer):
            return [f"        {path}.{weight}.requires_grad_(False)" for weight in member.frozen]
        if isinstance(made, Part) and self.writers[made].is_sequential:
            inner = self.writers[made].members
            return [line for m in inner for line in self._frozen(m, f"{path}[{m.name}]")]
        return []

    def _made(self, made: Any, indent: int, before: str, after: str, path, settings) -> list[str]:
        """Return the lines that make a module."""
        if isinstance(made, Part) and self.writers[made].is_sequential:
            found = [" " * indent + f"{before}nn.Sequential("]
            for member in self.writers[made].members:
                inner = (*path, member.name)
                found += self._made(member.made, indent + 4, "", ",", inner, settings)
            return [*found, " " * indent + f"){after}"]
        if isinstance(made, Part):
            args = self._arguments(made)
            inside = [
                f"{name}={settings.get((*path, name)) or literal(value)}"
                for name, value in args.items()
            ]
            text = f"{self.classes[made].name}({', '.join(inside)})"
        elif isinstance(made, Layer):
            text = made.source({name: settings.get((*path, name)) for name in made.args})
        else:
            text = made
        return lines(f"{before}{text}{after}", indent)

    # Weights

    def keys(self) -> dict[Any, list[tuple[str, str]]]:
        """Return the names of each parameter in the state dict, and how it is written."""
        paths = self._paths(self.part, "", {})
        return {
            node: [(f"{path}{name}", how) for part, name, how in places for path in paths[part]]
            for node, places in self.world.keys.items()
        }

    def counters(self) -> list[str]:
        """Return the names of the counters of batches in the state dict."""
        paths = self._paths(self.part, "", {})
        return [f"{path}{name}" for part, name in self.world.counters for path in paths[part]]

    def _paths(self, part: Part, path: str, found: dict[Part, list[str]]) -> dict[Part, list[str]]:
        found.setdefault(part, []).append(path)
        for member in self.writers[part].members:
            if isinstance(member.made, Part):
                self._paths(member.made, f"{path}{member.name}.", found)
        return found
