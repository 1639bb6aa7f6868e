"""Images: CIFAR-10, folders, RecordIO, and files that are refused."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from layers.engine import mx
from train import Refused
from train.data import Reading, load
from train.data.images import CIFAR_FILES


def pixels(i, shape=(4, 5, 3)):
    return np.random.default_rng(i).integers(0, 256, shape, np.uint8)


def png(array, **options):
    file = io.BytesIO()
    Image.fromarray(array).save(file, options.pop("format", "PNG"), **options)
    return file.getvalue()


def refusal(name, **how):
    with pytest.raises(Refused) as refused:
        load(name, how=Reading(**how))
    line = str(refused.value)
    assert line.startswith(f"--data {name}: ") and "\n" not in line and len(line) < 500
    return line.removeprefix(f"--data {name}: ")


@pytest.fixture
def cifar(tmp_path):
    def save(folder="", **changed):
        (tmp_path / folder).mkdir(exist_ok=True)
        for i, name in enumerate(CIFAR_FILES):
            rows = np.concatenate([[[i], [9 - i]], pixels(i, (2, 3072))], axis=1)
            content = changed.get(name.removesuffix(".bin"), rows.astype(np.uint8).tobytes())
            (tmp_path / folder / name).write_bytes(content)
        return f"cifar10:{tmp_path}"

    return save


@pytest.mark.parametrize("folder", ["", "cifar-10-batches-bin"], ids=["here", "as published"])
def test_cifar(cifar, folder):
    data = load(cifar(folder))
    assert data.x.shape == (10, 3072) and data.x.dtype == np.uint8 and data.shape == (32, 32, 3)
    assert data.y.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert data.held_out_y.tolist() == [5, 4] and data.task.classes[5] == "dog"
    planes = pixels(3, (2, 3072))[1].reshape(3, 32, 32)  # red, green, blue
    np.testing.assert_array_equal(data.x[7].reshape(32, 32, 3), planes.transpose(1, 2, 0))
    assert data.mean.shape == (1, 1)


def test_cifar_that_is_damaged(cifar, tmp_path):
    assert "test_batch.bin has 3072 bytes; expected a multiple of 3073" in refusal(
        cifar(test_batch=bytes(3072))
    )
    assert "data_batch_2.bin has 0 bytes" in refusal(cifar(data_batch_2=b""))
    label = refusal(cifar(data_batch_1=bytes([10]) + bytes(3072)))
    assert label == "data_batch[0] is 10; expected class numbers from 0 to 9"
    (tmp_path / "data_batch_1.bin").unlink()
    assert "there is no " in refusal(f"cifar10:{tmp_path}")


@pytest.fixture
def folder(tmp_path):
    def save(**files):
        for i, kind in enumerate(("cat", "dog")):
            (tmp_path / kind).mkdir(exist_ok=True)
            for k in range(6):
                (tmp_path / kind / f"{k}.png").write_bytes(png(pixels(10 * i + k)))
        for name, content in files.items():
            (tmp_path / name.replace("__", "/").replace("_png", ".png")).write_bytes(content)
        return str(tmp_path)

    return save


def test_folder(folder):
    data = load(folder())
    assert data.task.classes == ("cat", "dog") and data.shape == (4, 5, 3)
    assert data.x.shape == (10, 60) and data.mean.shape == (1, 1) and not data.resized
    expected = {pixels(10 * i + k).tobytes(): i for i in range(2) for k in range(6)}
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):
        assert [expected.pop(row.tobytes()) for row in x] == y.tolist()
    assert not expected and data.notes == ()


def test_files_that_are_no_images_are_told(folder, tmp_path):
    name = folder(notes=b"", cat__more=b"")
    assert load(name).notes == (
        f"{tmp_path}/cat/more and 1 more: left out; expected .png, .jpg, .jpeg, in a folder of its "
        "class",
    )


def test_gray_images(tmp_path):
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for k in range(3):
            (tmp_path / kind / f"{k}.png").write_bytes(png(pixels(k, (4, 5))))
    assert load(str(tmp_path)).shape == (4, 5)
    (tmp_path / "a/0.png").write_bytes(png(pixels(0)))
    assert load(str(tmp_path)).shape == (4, 5, 3)


def test_images_of_different_sizes(folder):
    name = folder(dog__9_png=png(pixels(0, (6, 7, 3))))
    line = refusal(name)
    assert line.endswith(
        "dog/9.png has 7 x 6 pixels; expected 5 x 4, as the others; or --image-size, to which all "
        "are resized"
    )
    data = load(name, how=Reading(size=(2, 3)))
    assert data.shape == (2, 3, 3) and data.resized


def chunk(kind, content):
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def huge(width, height):
    """A file of some bytes, which says that it is a large image."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


GOOD = png(pixels(0))


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "0.png is no image; expected PNG or JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 4\n", "0.png is no image"),
        (png(pixels(0), format="GIF"), "0.png is no image"),
        (GOOD[:60], "0.png cannot be read: "),
        (GOOD[:50] + bytes(9) + GOOD[59:], "0.png cannot be read: "),
        (huge(5, 4), "0.png cannot be read: "),
        (huge(9000, 9000), "0.png says that it has 9000 x 9000 pixels; expected up to 67,108,864"),
        (huge(90_000, 90_000), "0.png: Image size (8100000000 pixels) exceeds limit"),
        (png(np.zeros((4, 5), np.uint16)), "0.png has pixels of kind I;16; expected 8 bits"),
    ],
    ids=["empty", "eps", "gif", "cut", "damaged", "no pixels", "large", "huge", "16 bits"],
)
def test_images_that_are_refused(folder, content, reason):
    assert reason in refusal(folder(cat__0_png=content))


def test_folders_that_are_refused(tmp_path, folder):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert f"{empty} has no folders of images; expected one for each class" in refusal(str(empty))
    (empty / "cat").mkdir()
    (empty / "cat/0.png").write_bytes(GOOD)
    (empty / "cat/1.png").write_bytes(GOOD)
    assert "the folder has only the class cat; expected two" in refusal(str(empty))
    assert "expected --task classification" in refusal(str(empty), regression=True)


def test_a_validation_folder(tmp_path, folder):
    other = tmp_path.parent / f"{tmp_path.name}-other"
    (other / "dog").mkdir(parents=True)
    (other / "dog/0.png").write_bytes(png(pixels(0, (4, 5))))  # gray: as the others it is coloured
    data = load(folder(), str(other))
    assert data.held_out_y.tolist() == [1] and data.held_out_x.shape == (1, 60)
    (other / "fox").mkdir()
    (other / "fox/0.png").write_bytes(GOOD)
    with pytest.raises(Refused, match="fox/0.png is fox; expected one of the classes cat, dog"):
        load(folder(), str(other))


@pytest.fixture
def records(tmp_path):
    def save(labels, content=lambda i: png(pixels(i))):
        file = mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
        for i, label in enumerate(labels):
            several = np.float32(label).tobytes() if isinstance(label, list) else b""
            head = struct.pack("<IfQQ", len(several) // 4, 0 if several else label, i, 0)
            file.write_idx(i, head + several + content(i))
        file.close()
        return str(tmp_path / "a.rec")

    return save


def test_records(records):
    name = records([5.0, 0.0] * 5)
    data = load(name)
    assert data.task.classes == ("0", "5") and data.shape == (4, 5, 3) and len(data.x) == 8
    expected = {pixels(i).tobytes(): (i + 1) % 2 for i in range(10)}
    assert [expected.pop(row.tobytes()) for row in data.x] == data.y.tolist()
    data = load(records([i / 4 for i in range(10)]), how=Reading(regression=True))
    assert data.task.classes == () and sorted([*data.y, *data.held_out_y])[1] == 0.25


def test_records_that_are_refused(records, tmp_path):
    assert "record 1 is 0.5; expected classes" in refusal(records([0.0, 0.5] * 3))
    assert "record 0 has 2 labels; expected one" in refusal(records([[1.0, 2.0]] * 6))
    assert "record 0 is no image" in refusal(records([0.0, 1.0] * 3, lambda i: b"text"))
    assert "it has no images" in refusal(records([]))
    path = tmp_path / "a.rec"
    records([0.0, 1.0] * 3)
    path.write_bytes(path.read_bytes()[:200])
    assert f"{path} cannot be read: " in refusal(str(path))
    (tmp_path / "a.idx").write_text("text")
    assert f"{path} cannot be read: " in refusal(str(path))
    (tmp_path / "a.idx").unlink()
    assert f"there is no {tmp_path / 'a.idx'}" in refusal(str(path))
