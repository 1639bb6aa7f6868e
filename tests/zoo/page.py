"""The page docs/gluoncv.md, from what was found."""

import re
from pathlib import Path

STEPS = ("make", "forward", "hybridize", "export", "train")
HEAD = "| model | kind | MXNet 1.9.1 | layers.mxnet | outputs apart | what does not go |"


def passed(result):
    """How many of the steps went, such as 5 of 5."""
    steps = [s for s in STEPS if result.get(s) not in ("not trained", "not run")]
    return sum(not result.get(s, "no").startswith("no:") and s in result for s in steps), len(steps)


def is_equal(result):
    """Whether the outputs are MXNet's; None where MXNet wrote none."""
    told = result.get("as_mxnet", "")
    return None if told in ("", "yes") else not told.startswith("no:")


def reasons(result):
    """The first line of what each step that did not go says."""
    told = [(s, result[s]) for s in (*STEPS, "as_mxnet") if result.get(s, "").startswith("no:")]
    return "; ".join(f"{s}: {short(text)}" for s, text in told).replace("|", "/")


def short(text):
    """The first line of an error, without the folders of this machine."""
    if "ConnectionError" in text:
        return "downloads parameters, also with pretrained=False and pretrained_base=False"
    lines = text[4:].splitlines()
    told = lines[-1] if "Traceback" in lines[0] else lines[0]
    return re.sub(r"(/[\w.-]+)+/", "", told)[:140]


def row(name, found):
    """A line of the table."""
    ours, theirs = found["torch"], found.get("mxnet")
    counts = ["{} of {}".format(*passed(each)) if each else "" for each in (theirs, ours)]
    apart = {None: "", True: ours.get("as_mxnet"), False: "differ"}[is_equal(ours)]
    why = [reasons(ours)] if reasons(ours) else []
    if theirs and reasons(theirs):
        why.append(f"MXNet: {reasons(theirs)}")
    kind = ours.get("kind", "") + (" (small)" if found.get("small") else "")
    return f"| {name} | {kind} | {counts[0]} | {counts[1]} | {apart} | {'; '.join(why)} |"


def text(found, names):
    """The whole page: what goes before the table, the counts, and a line for each name."""
    ours = [each["torch"] for each in found.values()]
    whole = sum(len({*passed(each)}) == 1 for each in ours)
    equal = [is_equal(each) for each in ours]
    compared = sum(each is not None for each in equal)
    both = sum(len({*passed(each)}) == 1 and is_equal(each) is True for each in ours)
    counts = (
        f"Of the {len(names)} names {len(found)} were run; {whole} of them go through all steps "
        f"on layers.mxnet. Outputs of {compared} were compared with MXNet's: {equal.count(True)} "
        f"are equal. {both} do both.\n"
    )
    lines = [row(name, found[name]) for name in names if name in found]
    rest = [name for name in names if name not in found]
    table = "\n".join([HEAD, "|---" * HEAD.count(" | ") + "|---|", *lines])
    after = f"\n\nNot run yet: {', '.join(rest)}.\n" if rest else "\n"
    head = Path(__file__).with_name("head.md").read_text("utf-8")
    return f"{head}\n{counts}\n{table}{after}"
