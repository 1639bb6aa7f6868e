"""Registration information: how it is written, what is refused, which row is taken."""

import json

import pytest

from layers.ops.ways.registration import (
    CustomRegOp,
    DataType,
    RegistrationError,
    custom_info_register,
    dicts,
    parse,
    registrations,
)


def add_info(*pairs, target="CPU"):
    chain = CustomRegOp("Add").input(0, "a").input(1, "b").output(0, "y")
    for pair in pairs:
        chain.dtype_format(pair, pair, pair)
    return chain.target(target).get_op_info()


def test_the_chain_gives_mindspores_dict():
    info = (
        CustomRegOp("MyAdd")
        .input(0, "a")
        .input(1, "b", "dynamic", extra="e")
        .output(0, "y")
        .attr("bias", "required", "float", "1.0", value=2.5)
        .attr("axes", "optional", "listInt")
        .fusion_type("OPAQUE")
        .dtype_format(*[DataType.F16_Default] * 3)
        .dtype_format(*[DataType.F32_Default] * 3)
        .target("GPU")
        .get_op_info()
    )
    assert info == {
        "op_name": "MyAdd",
        "inputs": [
            {"index": 0, "name": "a", "paramType": "required"},
            {"index": 1, "name": "b", "paramType": "dynamic", "extra": "e"},
        ],
        "outputs": [{"index": 0, "name": "y", "paramType": "required"}],
        "attr": [
            {
                "name": "bias",
                "paramType": "required",
                "type": "float",
                "defaultValue": "1.0",
                "value": 2.5,
            },
            {"name": "axes", "paramType": "optional", "type": "listInt"},
        ],
        "fusion_type": "OPAQUE",
        "dtype_format": [(("float16", "DefaultFormat"),) * 3, (("float32", "DefaultFormat"),) * 3],
        "target": "GPU",
    }
    assert list(info) == [
        "op_name", "inputs", "outputs", "attr", "fusion_type", "dtype_format", "target",
    ]  # fmt: skip


def test_an_empty_chain():
    assert CustomRegOp().get_op_info() == {
        "op_name": "Custom",
        "inputs": [],
        "outputs": [],
        "attr": [],
        "fusion_type": "",
        "dtype_format": [],
        "target": "UnKnown",
    }


def test_a_dict_taken_early_does_not_grow():
    chain = CustomRegOp().input(0, "a")
    early = chain.get_op_info()
    chain.input(1, "b")
    assert len(early["inputs"]) == 1


@pytest.mark.parametrize(
    "wrong, error, told",
    [
        (lambda c: CustomRegOp(3), ValueError, "op_name is 3"),
        (lambda c: CustomRegOp(" "), ValueError, "op_name is ' '"),
        (lambda c: c.input("0", "a"), TypeError, "input index is '0'"),
        (lambda c: c.input(True, "a"), TypeError, "input index is True"),
        (lambda c: c.output(-1, "a"), ValueError, "output index is -1"),
        (lambda c: c.input(0, "a").input(0, "b"), ValueError, "input index is 0.*no other one has"),
        (lambda c: c.input(0, 1), TypeError, "input name is 1"),
        (lambda c: c.input(0, "a", "needed"), ValueError, "param_type is 'needed'.*dynamic"),
        (lambda c: c.input(0, "a", 1), TypeError, "param_type is 1"),
        (lambda c: c.attr("a", "dynamic"), ValueError, "attr param_type is 'dynamic'"),
        (lambda c: c.attr("a", value_type="double"), ValueError, "value_type is 'double'.*listInt"),
        (lambda c: c.attr("a", default_value=1.0), TypeError, "default_value is 1.0"),
        (lambda c: c.fusion_type(None), TypeError, "fusion_type is None"),
        (lambda c: c.target("TPU"), ValueError, "target is 'TPU'.*CPU, GPU, Ascend"),
        (lambda c: c.target(1), TypeError, "target is 1"),
        (lambda c: c.input(0).dtype_format(), ValueError, "row of 0.*\n.*expected 1: 1 inputs, 0"),
        (lambda c: c.input(0).dtype_format(("float32",)), ValueError, "expected a dtype and a for"),
        (lambda c: c.input(0).dtype_format("F32"), ValueError, "'F32' in a row"),
        (lambda c: c.input(0).dtype_format(("float32", 1)), TypeError, "expected text"),
        (lambda c: c.input(0).dtype_format(("flaot", "")), ValueError, "dtype 'flaot'.*float32"),
    ],
)
def test_what_the_chain_refuses(wrong, error, told):
    with pytest.raises(error, match=f"(?s){told}") as caught:
        wrong(CustomRegOp("Named"))
    assert "\n  expected" in str(caught.value)


def test_data_types():
    names = [n for n in vars(DataType) if not n.startswith("__")]
    assert len(names) == 204
    assert DataType.None_None == ("", "") and DataType.None_Default == ("", "DefaultFormat")
    assert DataType.F32_Default == ("float32", "DefaultFormat")
    assert DataType.I8_5HD == ("int8", "NC1HWC0")
    assert DataType.BF16_FracZNLSTM == ("bfloat16", "FRACTAL_ZN_LSTM")
    assert DataType.BOOL_Default_Tuple == ("bool", "DefaultFormat", "tuple")
    assert DataType.C128_Default == ("complex128", "DefaultFormat")
    assert DataType.I32_None == ("int32", "")
    assert not hasattr(DataType, "C64_NCHW") and not hasattr(DataType, "I16_NCDHW")


def test_the_forms_of_reg_info():
    info = add_info(DataType.F32_Default)
    text = json.dumps(info)
    chain = CustomRegOp("Add")
    assert dicts("it", None) == []
    assert dicts("it", [info, (text, [chain])]) == [info, json.loads(text), chain.get_op_info()]
    assert parse("it", json.loads(text), "akg") == parse("it", info, "akg")
    with pytest.raises(RegistrationError, match=r"(?s)reg_info is '\{'.*expected JSON"):
        dicts("it", "{")
    with pytest.raises(TypeError, match=r"(?s)reg_info is 3 \(int\).*expected a dict"):
        dicts("it", [info, 3])


def test_the_decorator_checks_and_keeps_the_function():
    @custom_info_register(add_info(DataType.F32_Default), add_info(target="GPU"))
    def add(a, b):
        return a + b

    assert add(1, 2) == 3 and [i["target"] for i in add.reg_info] == ["CPU", "GPU"]
    with pytest.raises(TypeError, match="custom_info_register: reg_info is 3"):
        custom_info_register(3)
    with pytest.raises(TypeError, match="custom_info_register: reg_info is <function"):

        @custom_info_register
        def without_parentheses(a):
            return a


@pytest.mark.parametrize(
    "info, func_type, target",
    [
        ({"target": "GPU"}, "akg", "GPU"),
        ({"target": "UnKnown", "processor": "AiCore"}, "akg", "Ascend"),
        ({"processor": "CUDA"}, "akg", "GPU"),
        ({"target": "UnKnown"}, "pyfunc", "CPU"),
    ],
)
def test_the_target(info, func_type, target):
    assert parse("it", info, func_type).target == target


@pytest.mark.parametrize(
    "info, told",
    [
        ({}, "target in reg_info is None"),
        ({"target": "TPU"}, "target in reg_info is 'TPU'"),
        ({"target": "CPU", "inputs": [{"paramType": "dynamic", "name": "xs"}]}, "'xs' of the inpu"),
        ({"target": "CPU", "dtype_format": [[("float32", "")]]}, "a row of 1 dtypes"),
        (add_info(DataType.F32_5HD), "format 'NC1HWC0' for CPU"),
        (
            {"target": "CPU", "attr": [{"name": "n", "type": "int", "defaultValue": "x"}]},
            "default of attribute 'n' is 'x'\n  expected text that is a value of type int",
        ),
    ],
)
def test_what_reading_refuses(info, told):
    with pytest.raises(RegistrationError, match=told):
        parse("it", info, "akg")


def test_formats_are_ascends_own_matter():
    assert parse("it", add_info(DataType.F32_5HD, target="Ascend"), "akg").target == "Ascend"


def test_values_of_attributes():
    chain = CustomRegOp().target("CPU").attr("none", "optional", "int")
    for kind, text in (
        ("int", "3"), ("float", "1.5"), ("bool", "True"), ("str", "x"),
        ("listInt", "1, 2"), ("listFloat", ""), ("listBool", "true,false"), ("listStr", "a,b"),
    ):  # fmt: skip
        chain.attr(kind, "required", kind, text)
    found = parse("it", chain.attr("own", value=[7]).get_op_info(), "akg")
    assert found.attributes == {
        "int": 3, "float": 1.5, "bool": True, "str": "x",
        "listInt": [1, 2], "listFloat": [], "listBool": [True, False], "listStr": ["a", "b"],
        "own": [7],
    }  # fmt: skip
    assert found.names[0] == "none"


def test_inputs_are_in_the_order_of_their_indices():
    info = CustomRegOp().input(1, "b").input(0, "a").output(name="y").target("CPU").get_op_info()
    found = parse("it", info, "akg")
    assert (found.inputs, found.outputs) == (("a", "b"), ("y",))


F16, F32, F64, I32 = (getattr(DataType, f"{n}_Default") for n in ("F16", "F32", "F64", "I32"))


@pytest.mark.parametrize(
    "rows, given, taken",
    [
        ([], ("int8", "int8"), ("int8", "int8")),
        ([F32, F16], ("float16", "float16"), ("float16", "float16")),
        ([F64, F32], ("float16", "float16"), ("float32", "float32")),
        ([F64, F32], ("float16", "float32"), ("float32", "float32")),
        ([F32], ("bfloat16", "bfloat16"), ("float32", "float32")),
        ([I32], ("int8", "int32"), ("int32", "int32")),
        ([DataType.None_Default], ("int8", "float32"), ("int8", "float32")),
    ],
)
def test_the_row_that_is_taken(rows, given, taken):
    assert parse("it", add_info(*rows), "akg").row("it", given) == taken


@pytest.mark.parametrize(
    "given", [("float64", "float64"), ("int64", "int8"), ("float32", "float64"), ("uint8", "int32")]
)
def test_never_cast_down_or_to_another_kind(given):
    rows = parse("it", add_info(F16, F32, I32), "akg")
    told = "float16, float16; float32, float32; int32, int32"
    with pytest.raises(TypeError, match=f"(?s)inputs of {given[0]}, {given[1]}.*{told}"):
        rows.row("it", given)


def test_each_target_once():
    cpu, gpu = add_info(F32), add_info(F16, target="GPU")
    assert list(registrations("it", [cpu, gpu, json.dumps(cpu)], "akg")) == ["CPU", "GPU"]
    with pytest.raises(RegistrationError, match="(?s)two reg_info for CPU: rows were.*and.*for ea"):
        registrations("it", [cpu, add_info(F16)], "akg")


def test_attributes_are_the_same_for_all_targets():
    def info(target, name):
        return CustomRegOp().attr(name, value=1).target(target).get_op_info()

    with pytest.raises(RegistrationError, match=r"attributes \(size\) for GPU\n.*\(scale\), as fo"):
        registrations("it", [info("CPU", "scale"), info("GPU", "size")], "akg")
