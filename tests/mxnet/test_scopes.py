"""What is in force in a thread: the context, the attributes, the manager of names, the block."""

import threading
import weakref

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*has been deprecated:DeprecationWarning")


def in_a_thread(function):
    """What a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(
    params=[
        ("Context", "default_ctx", lambda mx, i: mx.cpu(i), lambda mx: mx.nd.zeros(1).context),
        (
            "AttrScope",
            "current",
            lambda mx, i: mx.AttrScope(group=str(i)),
            lambda mx: mx.sym.var("x").attr("group"),
        ),
        (
            "name.NameManager",
            "current",
            lambda mx, i: mx.name.Prefix(f"p{i}_"),
            lambda mx: mx.sym.exp(mx.sym.var("x"), name="y").name,
        ),
    ],
    ids=["context", "attributes", "names"],
)
def scope(request, mx):
    """The class of scopes, its attribute, one of a number, and what things get of the one."""
    path, attribute, make, seen = request.param
    cls = mx
    for part in path.split("."):
        cls = getattr(cls, part)
    before = getattr(cls, attribute)
    yield cls, attribute, lambda i: make(mx, i), lambda: seen(mx)
    setattr(cls, attribute, before)


def test_the_scope_in_force_is_an_attribute_of_its_class(scope):
    cls, attribute, make, seen = scope
    plain, one = seen(), make(1)
    with one:
        assert "1" in str(seen()) and str(seen()) != str(plain)
        inside = getattr(cls, attribute)
        assert isinstance(inside, cls)
    assert getattr(cls, attribute) is not inside and seen() == plain


def test_another_scope_may_be_put_in_force(scope):
    cls, attribute, make, seen = scope
    plain, two = seen(), make(2)
    setattr(cls, attribute, two)
    assert getattr(cls, attribute) is two and "2" in str(seen())
    with make(1):
        assert "1" in str(seen())
    assert "2" in str(seen())
    assert in_a_thread(seen) == plain


def test_in_a_thread_of_its_own(scope):
    cls, attribute, make, seen = scope
    plain = seen()

    def other():
        setattr(cls, attribute, make(3))
        return seen()

    assert "3" in str(in_a_thread(other)) and seen() == plain


def test_a_scope_that_is_set_inside_another_ends_with_it(mx):
    before = mx.Context.default_ctx
    with mx.cpu(1):
        mx.Context.default_ctx = mx.cpu(2)
        assert mx.nd.zeros(1).context == mx.cpu(2)
    assert mx.nd.zeros(1).context == before


def test_names_in_the_scope_of_a_block(mx):
    scope = mx.gluon.block._BlockScope

    class Net(mx.gluon.Block):
        def __init__(self, **options):
            super().__init__(**options)
            with self.name_scope():
                self.inside = scope._current.value
                self.names = [scope.create(name, None, "hint")[0] for name in (None, "own_", None)]

    net = Net(prefix="net_")
    assert net.names == ["net_hint0_", "net_own_", "net_hint1_"]
    assert isinstance(net.inside, scope) and scope._current.value is not net.inside
    with mx.name.NameManager():
        assert scope.create(None, None, "hint")[0] == "hint0_"
    prefix, params = scope.create("own_", None, "hint")
    assert (prefix, params.prefix) == ("own_", "own_")


def test_a_block_is_made_in_each_thread_by_itself(mx):
    scope = mx.gluon.block._BlockScope

    class Named:
        prefix, _empty_prefix = "named_", False

    def in_other():
        with mx.name.NameManager(), scope(Named()):
            return mx.name.NameManager.current.get(None, "fc")

    with mx.gluon.nn.Sequential(prefix="outer_").name_scope():
        assert in_a_thread(in_other) == "named_fc0"
        assert in_a_thread(lambda: mx.gluon.nn.Dense(1, prefix="fc_").prefix) == "fc_"
        assert mx.gluon.nn.Dense(1, prefix="fc_").prefix == "outer_fc_"


@pytest.mark.engine("torch")  # in MXNet the two wait for Python's collector
def test_the_scope_of_a_block_does_not_keep_it(mx):
    block = mx.gluon.nn.Dense(1)
    seen = weakref.ref(block)
    scope = block.name_scope()
    del block
    assert scope is not None and seen() is None
