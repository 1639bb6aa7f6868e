"""Parts of MXNet that are not here say so, asked for as an attribute or imported."""

from importlib import import_module

import pytest

pytestmark = pytest.mark.engine("torch")


@pytest.mark.parametrize("part", ["np", "image", "contrib", "gluon.data", "gluon.model_zoo"])
def test_a_part_that_is_not_here(mx, part):
    package, _, name = f"layers.mxnet.{part}".rpartition(".")
    told = f"^mxnet.{part} is not in layers.mxnet yet"
    with pytest.raises(AttributeError, match=told):
        getattr(import_module(package), name)
    with pytest.raises(ModuleNotFoundError, match=told):
        import_module(f"{package}.{name}")
    with pytest.raises(ModuleNotFoundError, match=told):
        import_module(f"{package}.{name}.inside")
    with pytest.raises(ModuleNotFoundError, match=told):
        __import__(package, fromlist=[name])  # from package import name


@pytest.mark.parametrize("package", ["layers.mxnet", "layers.mxnet.gluon"])
def test_a_name_of_nothing(mx, package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        import_module(package).nothing  # noqa: B018 - reading it is what raises
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{package}.nothing'"):
        import_module(f"{package}.nothing")
