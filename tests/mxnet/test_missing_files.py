"""A file that is not there: MXNet's error, and here Python's as well."""

import errno
import pickle

import pytest

from layers.engine import gluon, mx, nd, sym

SHAPE = {"data_shape": (3, 4, 4), "batch_size": 1}
MISSING = {
    "nd.load": lambda at: nd.load(f"{at}.params"),
    "nd.save": lambda at: nd.save(f"{at}/a.params", nd.ones(2)),
    "sym.load": lambda at: sym.load(f"{at}.json"),
    "sym.save": lambda at: sym.var("x").save(f"{at}/a.json"),
    "load_checkpoint": lambda at: mx.model.load_checkpoint(at, 1),
    "save_checkpoint": lambda at: mx.model.save_checkpoint(f"{at}/a", 1, sym.var("x"), {}, {}),
    "Module.load": lambda at: mx.mod.Module.load(at, 1),
    "load_parameters": lambda at: gluon.nn.Dense(3).load_parameters(f"{at}.params"),
    "ParameterDict.load": lambda at: gluon.ParameterDict().load(f"{at}.params"),
    "SymbolBlock.imports": lambda at: gluon.SymbolBlock.imports(f"{at}.json", ["x"]),
    "init.Load": lambda at: mx.init.Load(f"{at}.params"),
    "MXRecordIO to read": lambda at: mx.recordio.MXRecordIO(f"{at}.rec", "r"),
    "MXRecordIO to write": lambda at: mx.recordio.MXRecordIO(f"{at}/a.rec", "w"),
    "RecordFileDataset": lambda at: gluon.data.RecordFileDataset(f"{at}.rec"),
    "ImageRecordIter": lambda at: mx.io.ImageRecordIter(path_imgrec=f"{at}.rec", **SHAPE),
    "ImageDetRecordIter": lambda at: mx.io.ImageDetRecordIter(path_imgrec=f"{at}.rec", **SHAPE),
    "ImageIter": lambda at: mx.image.ImageIter(1, (3, 4, 4), path_imgrec=f"{at}.rec"),
    "imread": lambda at: mx.image.imread(f"{at}.jpg"),
    "CSVIter": lambda at: mx.io.CSVIter(data_csv=f"{at}.csv", data_shape=(1,), batch_size=1).next(),
    "MNISTIter": lambda at: mx.io.MNISTIter(image=at, label=at, batch_size=1),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_file_is_an_error_of_mxnet(name, tmp_path):
    with pytest.raises(mx.base.MXNetError):
        MISSING[name](f"{tmp_path}/none")


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name", MISSING)
def test_a_missing_file_is_an_error_of_python_too(name, tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file .*none") as told:
        MISSING[name](f"{tmp_path}/none")
    assert told.value.errno == errno.ENOENT and "none" in told.value.filename
    again = pickle.loads(pickle.dumps(told.value))
    assert type(again) is mx.base.MissingFileError and str(again) == str(told.value)
