"""mx.profiler: what is in the trace and in the tables, and what is not while it is paused."""

import json

import forks
import numpy as np
import pytest

from layers import operator
from layers.engine import mx, nd

pytestmark = pytest.mark.engine("torch")  # MXNet's tells its own threads and C functions besides


@pytest.fixture
def profiler(tmp_path):
    module = mx.profiler
    module.set_config(profile_all=True, aggregate_stats=True, filename=f"{tmp_path}/trace.json")
    module.dumps(reset=True)
    yield module
    module.dump()
    module.dumps(reset=True)
    module.set_config(filename="profile.json")


def trace(tmp_path):
    return json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def counts(profiler, kind="operator"):
    rows = json.loads(profiler.dumps(format="json"))["Time"].get(kind, {})
    return {name: row["Count"] for name, row in rows.items()}


def test_operators(profiler, tmp_path):
    x = nd.ones((20, 20))
    profiler.set_state("run")
    for _ in range(3):
        nd.exp(nd.dot(x, x) + 1)
    profiler.pause()
    nd.log(x)
    profiler.resume()
    nd.sqrt(x)
    profiler.set_state("stop")
    nd.cos(x)
    found = counts(profiler)
    assert found["dot"] == found["exp"] == found["aten::exp"] == 3 and found["sqrt"] == 1
    assert "log" not in found and "cos" not in found
    profiler.dump()
    events = [event for event in trace(tmp_path) if event["name"] == "dot"]
    assert len(events) == 3 and all(event["dur"] > 0 for event in events)
    profiler.dump()
    assert not trace(tmp_path)


def test_gradients_are_recorded_as_ever(profiler):
    x = nd.ones((2, 3))
    x.attach_grad()
    profiler.set_state("run")
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    profiler.set_state("stop")
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * np.ones((2, 3)))


class Negative(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], -in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], -out_grad[0])


@mx.operator.register("dot")  # the table has a row of this name
class NegativeProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Negative()


class NegativeBlock(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type="dot")


@pytest.mark.parametrize("hybrid", [False, True])
def test_custom_operators(profiler, tmp_path, hybrid):
    net = NegativeBlock()
    net.initialize()
    if hybrid:
        net.hybridize()
    x = nd.ones((2, 3))
    x.attach_grad()
    net(x)
    profiler.set_state("run")
    for _ in range(2):
        with mx.autograd.record():
            y = net(x)
        y.backward()
    profiler.set_state("stop")
    net(x)
    assert counts(profiler, "Custom Operator") == {"dot": 2, "_backward_dot": 2}
    assert "dot" not in counts(profiler) and counts(profiler)["_mul_scalar"] == 4
    profiler.dump()
    events = [event for event in trace(tmp_path) if event.get("cat") == "Custom Operator"]
    assert sorted(event["name"] for event in events) == ["_backward_dot"] * 2 + ["dot"] * 2


def test_operators_of_this_library(profiler):
    @operator
    class negative:
        def forward(x):
            return -x

        def dx(dy):
            return -dy

    class Inverse(mx.autograd.Function):
        def forward(self, x):
            return 1 / x

    profiler.set_state("run")
    negative(nd.ones(2))
    Inverse()(nd.ones(2))
    profiler.set_state("stop")
    assert counts(profiler, "Custom Operator") == {negative.name: 1, "Inverse": 1}


def test_table(profiler):
    profiler.set_state("run")
    for size in (10, 20):
        nd.exp(nd.ones(size))
    text = profiler.dumps(sort_by="count", ascending=True)
    assert profiler.dumps() and "Profile Statistics" in text and "Total Count" in text
    row = next(line for line in text.splitlines() if line.startswith("exp")).split()
    count, total, least, most, mean = map(float, row[1:])
    assert count == 2 and least <= mean <= most <= total
    assert mean == pytest.approx(total / 2, abs=1e-3)
    assert "Memory: cpu/0" in text
    assert profiler.dumps(reset=True) and not counts(profiler)


def test_a_profiler_that_cannot_start(profiler, monkeypatch):
    def refuse(self):
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr("torch.autograd.profiler.profile.__enter__", refuse)
        with pytest.raises(RuntimeError, match="no"):
            profiler.set_state("run")
    profiler.set_state("run")
    nd.exp(nd.ones(3))
    assert counts(profiler)["exp"] == 1


def test_resetting_the_tables_leaves_the_trace(profiler, tmp_path):
    profiler.set_state("run")
    nd.exp(nd.ones(3))
    profiler.dumps(reset=True)
    profiler.dump()
    assert "exp" in {event["name"] for event in trace(tmp_path)}


def test_spans_counters_and_markers(profiler, tmp_path):
    domain = profiler.Domain("my domain")
    task, frame, event = domain.new_task("task"), domain.new_frame("frame"), profiler.Event("event")
    counter, marker = domain.new_counter("counter", 5), domain.new_marker("marker")
    task.stop()
    counter.increment()
    marker.mark()  # none of them: the profiler does not run yet
    profiler.set_state("run")
    for each in (task, frame, event):
        each.start()
    for each in (event, frame, task):
        each.stop()
    counter.increment(3)
    counter -= 2
    counter += 1
    counter.decrement()
    for scope in ("global", "process", "thread", "task", "marker"):
        marker.mark(scope)
    with pytest.raises(mx.MXNetError, match="scope is 'all'\n  expected one of global"):
        marker.mark("all")
    assert [str(each) for each in (domain, task, frame, event, counter)] == [
        "my domain",
        "task",
        "frame",
        "event",
        "counter",
    ]
    profiler.dump()
    found = {}
    for each in trace(tmp_path):
        found.setdefault(each["name"], []).append(each)
    assert [e["ph"] for e in found["task"]] == ["b", "e"]
    assert [e["ph"] for e in found["event"]] == ["B", "E"]
    assert found["frame"][0]["cat"] == "my domain,frame"
    assert [e["args"]["counter"] for e in found["counter"]] == [9, 7, 8, 7]
    assert [e["s"] for e in found["marker"]] == list("gpttt")
    times = {e["ts"] for e in found["task"]}
    assert min(times) <= found["event"][0]["ts"] <= max(times)
    assert counts(profiler, "my domain") == {"task": 1}
    assert "counter                                 4           7.0000" in profiler.dumps()
    values = json.loads(profiler.dumps(format="json"))["Counter"]["my domain"]["counter"]
    assert (values["Count"], values["Min"], values["Max"], values["Avg"]) == (4, 7, 9, 7.75)


def test_names_of_any_characters(profiler, tmp_path):
    name = 'a"b\\\n\x1b[2J\u2028{}%s\ud800'
    domain = profiler.Domain(name)
    profiler.set_state("run")
    task = domain.new_task(name)
    task.start()
    nd.ones((2,)).sum().wait_to_read()
    task.stop()
    profiler.Event(name).start()
    domain.new_counter(name, 3).increment()
    domain.new_marker(name).mark()
    profiler.set_state("stop")
    table = profiler.dumps()
    assert table.replace("\n", "").replace("\t", "").isprintable()
    assert r'a"b\\n\x1b[2J\u2028{}%s\ud800' in table
    assert name in json.loads(profiler.dumps(format="json"))["Time"][name]
    profiler.dump()
    assert {e["ph"] for e in trace(tmp_path) if e.get("name") == name} >= set("Ci")


def test_spans_and_operators_have_one_clock(profiler, tmp_path):
    profiler.set_state("run")
    task = profiler.Task(profiler.Domain("d"), "around")
    task.start()
    nd.exp(nd.ones(3))
    task.stop()
    profiler.dump()
    found = trace(tmp_path)
    begin, end = (event["ts"] for event in found if event["name"] == "around")
    inner = next(event for event in found if event["name"] == "exp")
    assert begin <= inner["ts"] and inner["ts"] + inner["dur"] <= end


@pytest.mark.parametrize(
    "wrong, told",
    [
        (lambda p: p.set_config(nope=1), "'nope' is no setting"),
        (lambda p: p.set_state("go"), "'go'\n  expected 'run' or 'stop'"),
        (lambda p: p.dumps(format="xml"), "format is 'xml'\n  expected one of table, json"),
        (lambda p: p.dumps(sort_by="name"), "sort_by is 'name'\n  expected one of total"),
        (lambda p: p.pause("other"), "profile_process is 'other'"),
        (lambda p: p.pause("server"), "profile_process is 'server'"),
    ],
)
def test_what_cannot_be(profiler, wrong, told):
    with pytest.raises(mx.MXNetError, match=told):
        wrong(profiler)


def test_settings_while_it_runs(profiler):
    profiler.set_state("run")
    with pytest.raises(mx.MXNetError, match="the profiler runs"):
        profiler.set_config(filename="other.json")


def test_former_names(profiler, tmp_path):
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.profiler_set_config("all", f"{tmp_path}/trace.json")
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.profiler_set_state("run")
    nd.exp(nd.ones(3))
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.profiler_set_state()
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.dump_profile()
    assert any(event["name"] == "exp" for event in trace(tmp_path))


@pytest.mark.parametrize(
    "end, status",
    [
        pytest.param("", 0, marks=pytest.mark.slow),
        ("1 / 0", 1),
        pytest.param("mx.profiler.pause(); 1 / 0", 1, marks=pytest.mark.slow),
        pytest.param("mx.profiler.set_state('stop')", 0, marks=pytest.mark.slow),
    ],
)
def test_a_program_that_ends_while_it_runs_writes_the_trace(tmp_path, end, status):
    done = program(tmp_path, f"import layers.mxnet as mx\n{BEGIN}\n{end}")
    assert done.returncode == status, done.stderr
    assert ("ZeroDivisionError" in done.stderr) == ("1 / 0" in end)
    found = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    assert [event for event in found if event["name"] == "exp"]


@pytest.mark.slow
def test_a_program_that_has_dumped_all_writes_no_more(tmp_path):
    end = "mx.profiler.dump(); os.rename('profile.json', 'mine.json')"
    done = program(tmp_path, f"import os, layers.mxnet as mx\n{BEGIN}\n{end}")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_beginning_imports_no_compiler(tmp_path):
    """It took seconds."""
    end = "mx.profiler.set_state('stop'); print({'sympy', 'torch._dynamo'} & {*sys.modules})"
    done = program(tmp_path, f"import sys, layers.mxnet as mx\n{BEGIN}\n{end}")
    assert done.stdout == "set()\n", done.stderr


BEGIN = "mx.profiler.set_state('run'); mx.nd.exp(mx.nd.ones((2,))).wait_to_read()"


def program(folder, code):
    """A program that has ended, and ran in a folder."""
    return forks.run(["-c", code], cwd=folder)
