"""Images: CIFAR-10, folders, RecordIO, and files that are refused."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from layers.engine import mx
from train import Refused
from train.__main__ import main
from train.data import Reading, load
from train.data.images import CIFAR_FILES
from train.data.pictures import images_in, read_images
from train.report.read import read_runs

CLASSES = ("cat", "dog")


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
        for i, kind in enumerate(CLASSES):
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
        f"{tmp_path}/cat/more and 1 more: left out; expected .png, .jpg, .jpeg, .bmp, "
        ".gif, .tif, .tiff, .webp, in a folder of its class",
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
        (b"", "0.png is no image; expected one of PNG, JPEG, BMP, GIF, TIFF, WEBP"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 4\n", "0.png is no image"),
        (png(pixels(0), format="PPM"), "0.png is no image"),
        (GOOD[:60], "0.png cannot be read: "),
        (GOOD[:50] + bytes(9) + GOOD[59:], "0.png cannot be read: "),
        (huge(5, 4), "0.png cannot be read: "),
        (huge(9000, 9000), "0.png says that it has 9000 x 9000 pixels; expected up to 67,108,864"),
        (huge(90_000, 90_000), "0.png: Image size (8100000000 pixels) exceeds limit"),
        (
            png(np.zeros((4, 5), np.float32), format="TIFF"),
            "0.png has pixels of kind F; expected 8",
        ),
    ],
    ids=["empty", "eps", "ppm", "cut", "damaged", "no pixels", "large", "huge", "floats"],
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


UPRIGHT = np.repeat(np.repeat(pixels(7, (2, 3)), 8, axis=0), 8, axis=1)  # (16, 24)
TURNS = {1: 0, 3: 2, 6: 1, 8: 3}  # quarters of a turn to the left that an orientation takes back


def photograph(orientation, form="JPEG"):
    """The bytes of a file whose pixels lie on their side, and which says how."""
    exif = Image.Exif()
    exif[0x112] = orientation
    options = {"quality": 100} if form == "JPEG" else {}
    return png(np.rot90(UPRIGHT, TURNS[orientation]), format=form, exif=exif, **options)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("orientation", TURNS)
def test_photographs_are_turned_as_their_files_say(tmp_path, orientation, form):
    content = photograph(orientation, form)
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for k in range(3):
            (tmp_path / kind / f"{k}.jpg").write_bytes(content)
    data = load(str(tmp_path))
    assert data.shape == UPRIGHT.shape
    assert abs(data.x[0].reshape(data.shape).astype(int) - UPRIGHT).max() < 8
    how = Reading(shape=UPRIGHT.shape, labelled=False)  # as train.predict reads
    found = read_images({"a.jpg": lambda: content}, how)
    np.testing.assert_array_equal(found.x[0], data.x[0].reshape(data.shape))


def test_records_are_turned_as_well(records):
    data = load(records([0.0, 1.0] * 3, lambda i: photograph((1, 3, 6, 8)[i % 4])))
    assert data.shape == UPRIGHT.shape
    assert abs(data.x.reshape(-1, *data.shape).astype(int) - UPRIGHT).max() < 8


FORMS = {"a.bmp": "BMP", "a.gif": "GIF", "a.tif": "TIFF", "a.tiff": "TIFF", "a.webp": "WEBP"}


@pytest.mark.parametrize("name", [*FORMS, "A.PNG", "a.jpeg"])
def test_forms_of_images(tmp_path, name):
    for i, kind in enumerate("ab"):
        (tmp_path / kind).mkdir()
        for k in range(3):
            array = np.full((4, 5, 3), 40 + 100 * i, "uint8")
            form = FORMS.get(name.lower(), "PNG")
            (tmp_path / kind / f"{k}{name}").write_bytes(png(array, format=form))
    data = load(str(tmp_path))
    assert data.shape in ((4, 5), (4, 5, 3))
    assert {*data.x[data.y == 1].ravel()} <= {139, 140, 141}


def test_the_first_picture_of_a_gif_is_taken(folder):
    frames = [Image.fromarray(np.full((4, 5, 3), k, "uint8")) for k in (0, 255)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    data = load(folder(cat__0_png=file.getvalue()))
    assert 0 in [row.max() for row in (*data.x, *data.held_out_x)]


def test_gray_of_16_bits_stays_so(tmp_path):
    deep = np.arange(20, dtype="uint16").reshape(4, 5) * 200  # of a camera with 12 bits
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for k in range(3):
            form = ("PNG", "TIFF", "PNG")[k]
            (tmp_path / kind / f"{k}.png").write_bytes(png(deep, format=form))
    data = load(str(tmp_path))
    assert data.pixels == 65535 and data.shape == (4, 5) and data.x.dtype == np.float32
    np.testing.assert_array_equal(data.x, [deep.ravel()] * len(data.x))
    (tmp_path / "a/0.png").write_bytes(png(np.full((4, 5), 255, "uint8")))  # white, of 8 bits
    data = load(str(tmp_path))
    assert data.pixels == 65535 and max(data.x.max(), data.held_out_x.max()) == 65535
    (tmp_path / "a/1.png").write_bytes(png(pixels(0)))  # in colours: all have 8 bits
    data = load(str(tmp_path))
    assert data.pixels == 255 and data.x.dtype == np.uint8 and data.shape == (4, 5, 3)
    rows = (deep // 257).repeat(3).tolist()
    assert rows in [*data.x.tolist(), *data.held_out_x.tolist()]
    assert load(str(tmp_path), how=Reading(size=(2, 2))).shape == (2, 2, 3)


def test_held_out_images_are_read_on_the_scale_of_others(tmp_path):
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        (tmp_path / f"{k}/0.png").write_bytes(png(np.full((8, 8), 255, "uint8")))
    data = load("digits", str(tmp_path))  # whose white is 16
    assert data.held_out_x.max() == 16


HIDDEN = (".ipynb_checkpoints/0.png", "__MACOSX/cat/0.png", ".git/x", ".DS_Store", "Thumbs.db")
HIDDEN += ("cat/._0.png", "cat/Thumbs.db", "dog/.hidden.png")


def test_hidden_files_are_no_data(folder, tmp_path):
    name = folder()
    for file in HIDDEN:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(GOOD)
    data = load(name)
    assert data.task.classes == ("cat", "dog") and len(data.x) + len(data.held_out_x) == 12
    [note] = data.notes
    assert note.startswith(f"{tmp_path}/.DS_Store and 7 more: left out; expected .png")
    assert [*images_in(tmp_path)] == [f"{tmp_path}/{c}/{k}.png" for c in CLASSES for k in range(6)]


def test_a_folder_may_itself_be_hidden(tmp_path):
    hidden = tmp_path / ".data"
    for kind in "ab":
        (hidden / kind).mkdir(parents=True)
        for k in range(3):
            (hidden / kind / f"{k}.png").write_bytes(GOOD)
    assert len(load(str(hidden)).x) == 4 and len(images_in(hidden)) == 6


def test_images_of_an_unknown_form_are_named(tmp_path):
    for kind, name in (("a", "0.heic"), ("a", ".DS_Store"), ("b", "1.AVIF"), ("b", "README")):
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / name).write_bytes(b"")
    assert refusal(str(tmp_path)) == (
        f"{tmp_path} has folders, and in them no images of a known form, but .avif, .heic, README; "
        "expected .png, .jpg, .jpeg, .bmp, .gif, .tif, .tiff, .webp"
    )


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


BAD = {"cat__1_png": GOOD[:60], "cat__2_png": b"text", "dog__5_png": huge(9000, 9000)}


def test_all_broken_images_are_named_at_once(folder, tmp_path):
    with pytest.raises(Refused) as refused:
        load(folder(**BAD))
    first, second, third = (f"{tmp_path}/{name}.png" for name in ("cat/1", "cat/2", "dog/5"))
    assert str(refused.value) == (
        f"--data {tmp_path}: 3 of 12 images are broken: {first}, {second}, {third}: "
        f"{first} cannot be read: image file is truncated; --skip-broken leaves them out"
    )


def test_broken_images_are_left_out(folder, tmp_path):
    data = load(folder(**BAD), how=Reading(skip_broken=True))
    names = [f"{tmp_path}/{name}.png" for name in ("cat/1", "cat/2", "dog/5")]
    assert [*data.skipped] == names and "is no image" in data.skipped[names[1]]
    assert data.notes == (
        "3 of 12 images are broken and left out, as config.json lists: "
        f"{tmp_path}/cat/1.png and 2 more",
    )
    expected = {pixels(10 * i + k).tobytes(): i for i in range(2) for k in range(6)}
    rows = [(x.tobytes(), y) for x, y in zip(data.x, data.y)]
    rows += [(x.tobytes(), y) for x, y in zip(data.held_out_x, data.held_out_y)]
    assert len(rows) == 9 and all(expected[x] == y for x, y in rows)


def test_broken_images_that_are_all_there_is(folder):
    bad = {f"{c}__{k}_png": b"" for c in CLASSES for k in range(6)}
    with pytest.raises(Refused) as refused:
        load(folder(**bad), how=Reading(skip_broken=True))
    assert "12 of 12 images are broken: " in str(refused.value)
    assert "--skip-broken" not in str(refused.value)
    assert refusal("digits", skip_broken=True) == (
        "it has no files of images; expected no --skip-broken"
    )


def test_broken_records_are_left_out(records):
    name = records([float(i % 2) for i in range(12)], lambda i: b"" if i == 3 else png(pixels(i)))
    assert refusal(name).endswith(
        "record 3 is no image; expected one of PNG, JPEG, BMP, GIF, TIFF, WEBP; "
        "--skip-broken leaves it out"
    )
    data = load(name, how=Reading(skip_broken=True))
    assert [*data.skipped] == ["record 3"]
    labels = {pixels(i).tobytes(): i % 2 for i in range(12)}
    assert all(labels[x.tobytes()] == y for x, y in zip(data.x, data.y))
    assert len(data.x) + len(data.held_out_x) == 11


def test_a_run_lists_the_images_that_it_leaves_out(folder, tmp_path, capsys):
    options = ["--skip-broken", "--epochs", "1", "--out", str(tmp_path / ".run")]
    assert main(["--data", folder(**BAD), *options]) == 0
    assert "3 of 12 images are broken and left out" in capsys.readouterr().out
    config = json.loads((tmp_path / ".run/config.json").read_text())
    assert [*config["data"]["skipped"]] == [
        f"{tmp_path}/{n}.png" for n in ("cat/1", "cat/2", "dog/5")
    ]
    [run] = read_runs([tmp_path / ".run"])
    assert run.measured is not None  # which reads the data as the training did


@pytest.mark.parametrize("kept", ["test", "val", "valid", "validation", "Testing"])
def test_a_folder_that_is_divided(tmp_path, kept):
    for part, start in (("train", 0), (kept, 50)):
        for i, kind in enumerate(CLASSES):
            (tmp_path / part / kind).mkdir(parents=True)
            for k in range(3):
                content = png(pixels(start + 10 * i + k))
                (tmp_path / part / kind / f"{k}.png").write_bytes(content)
    data = load(str(tmp_path))
    assert data.task.classes == CLASSES and data.y.tolist() == [0] * 3 + [1] * 3
    assert data.held_out_y.tolist() == data.y.tolist()
    assert data.held_out_x[0].tobytes() == pixels(50).tobytes()
    assert data.notes == (f"{tmp_path}: learned from is train, held out is {kept}",)
    (tmp_path / "notes.txt").touch()
    [note] = load(str(tmp_path)).notes
    assert note.endswith(f"held out is {kept}; not used is notes.txt")
    with pytest.raises(Refused, match="it has held-out samples of its own"):
        load(str(tmp_path), str(tmp_path / kept))
    assert load(f"{tmp_path}/train", f"{tmp_path}/{kept}").held_out_y.tolist() == [0] * 3 + [1] * 3


def test_classes_may_be_called_train_and_test(tmp_path):
    for kind in ("train", "test"):
        (tmp_path / kind).mkdir()
        for k in range(3):
            (tmp_path / kind / f"{k}.png").write_bytes(png(pixels(k)))
    assert load(str(tmp_path)).task.classes == ("test", "train")


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
