"""The program im2rec. The lists here are those that MXNet's makes of the same folder."""

import os
import shutil
from pathlib import Path

import forks
import numpy as np
import pytest

pytest.importorskip("PIL", reason="images are read by Pillow")
pytest.importorskip("torch", reason="the program is layers.mxnet's")

from layers.mxnet import recordio
from layers.mxnet.tools.im2rec import main

IMAGES = Path(__file__).resolve().parents[1] / "golden" / "image"
pytestmark = pytest.mark.engine("torch")
FILES = {
    "cat/a.jpg": "colours.jpg",
    "cat/b.png": "colours.png",
    "dog/c.JPG": "colours.jpg",
    "dog/sub/d.jpeg": "gray.jpg",
    "z.png": "alpha.png",
    "y.jpg": "colours.jpg",
    "bird/e.bmp": "colours.bmp",
    "bird/t.jpg": "turned.jpg",
}
ORDER = ["0 y.jpg", "0 z.png", "1 bird/t.jpg", "2 cat/a.jpg", "2 cat/b.png", "3 dog/c.JPG",
         "4 dog/sub/d.jpeg"]  # fmt: skip
SHUFFLED = [0, 4, 2, 6, 5, 3, 1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for path, name in FILES.items():
        (tmp_path / "images" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(IMAGES / name, tmp_path / "images" / path)
    (tmp_path / "images" / "x.txt").write_text("no image")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(key):
    label, path = ORDER[key].split()
    return f"{key}\t{label}.000000\t{path}\n"


def lists(folder, prefix="a"):
    return {path.name: path.read_text() for path in sorted(folder.glob(f"{prefix}*.lst"))}


@pytest.mark.parametrize(
    "options, expected",
    [
        ([], {"a.lst": [0, 1]}),
        (["--recursive", "--no-shuffle"], {"a.lst": range(7)}),
        (["--recursive"], {"a.lst": SHUFFLED}),
        (
            ["--recursive", "--chunks", "2"],
            {"a_0.lst": SHUFFLED[:4], "a_1.lst": SHUFFLED[4:]},
        ),
        (
            ["--recursive", "--train-ratio", "0.5", "--test-ratio", "0.25"],
            {"a_test.lst": SHUFFLED[:1], "a_train.lst": SHUFFLED[1:4], "a_val.lst": SHUFFLED[4:]},
        ),
    ],
)
def test_lists(folder, options, expected):
    assert main(["--list", *options, "a", "images"]) == 0
    if not options:  # an order of two
        expected = {"a.lst": [0, 1] if "0" in (folder / "a.lst").read_text()[:1] else [1, 0]}
    assert lists(folder) == {
        name: "".join(line(key) for key in keys) for name, keys in expected.items()
    }


def test_labels_of_folders(folder, capsys):
    assert (
        main(
            ["--list", "--recursive", "--no-shuffle", "--exts", ".png", ".bmp", "--", "a", "images"]
        )
        == 0
    )
    assert capsys.readouterr().out == ". 0\nbird 1\ncat 2\n"
    assert (folder / "a.lst").read_text() == (
        "0\t0.000000\tz.png\n1\t1.000000\tbird/e.bmp\n2\t2.000000\tcat/b.png\n"
    )


def packed(folder, *options):
    """Headers and images that the program packs of the folder, with such options."""
    assert main(["--list", "--recursive", "--no-shuffle", "a", "images"]) == 0
    assert main([*options, "a", "images"]) == 0
    reader = recordio.MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "r")
    assert reader.keys == list(range(7))
    return [recordio.unpack(reader.read_idx(key)) for key in reader.keys]


def shapes(records):
    return [recordio.unpack_img(recordio.pack(*record))[1].shape for record in records]


PLAIN = [(37, 53, 3), (37, 53, 3), (53, 37, 3), *[(37, 53, 3)] * 4]


def test_packed_as_they_are(folder):
    records = packed(folder, "--pass-through")
    for (header, data), row in zip(records, ORDER):
        label, path = row.split()
        assert header[:2] == (0, float(label))
        assert data == (folder / "images" / path).read_bytes()
    assert [header.id for header, _ in records] == list(range(7))


def test_a_list_names_images_of_its_folder_alone(folder, capsys):
    (folder / "secret.jpg").write_bytes(b"SECRET")
    outside = ["../secret.jpg", str(folder / "secret.jpg"), "cat/../../secret.jpg", "a\0.jpg"]
    rows = [f"{i}\t0\t{name}\n" for i, name in enumerate(["cat/a.jpg", *outside])]
    (folder / "w.lst").write_text("".join(rows))
    assert main(["--pass-through", "w", "images"]) == 1
    assert recordio.MXIndexedRecordIO("w.idx", "w.rec", "r").keys == [0]
    assert b"SECRET" not in (folder / "w.rec").read_bytes()
    said = capsys.readouterr().err
    for name in outside:
        assert f"left out: the list has the path {name!r}"[:100] in said
    assert said.count("expected one below 'images'") == len(outside)


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize(
    "options, expected, begin",
    [
        ([], PLAIN, b"\xff\xd8"),
        (["--resize", "20"], [(20, 28, 3)] * 2 + [(28, 20, 3)] + [(20, 28, 3)] * 4, b"\xff\xd8"),
        (["--center-crop", "--quality", "50"], [(37, 37, 3)] * 7, b"\xff\xd8"),
        (["--center-crop", "--resize", "9"], [(9, 9, 3)] * 7, b"\xff\xd8"),
        (["--color", "0", "--encoding", ".png"], [shape[:2] for shape in PLAIN], b"\x89PNG"),
        (
            ["--color", "-1", "--encoding", ".png", "--quality", "3"],
            [(37, 53, 3), (37, 53, 4), *[(37, 53, 3)] * 4, (37, 53)],
            b"\x89PNG",
        ),
    ],
)
def test_packed(folder, threads, options, expected, begin):
    records = packed(folder, "--num-thread", threads, *options)
    assert shapes(records) == expected
    assert all(data.startswith(begin) for _, data in records)


def test_pixels_stay(folder):
    [_, data] = packed(folder, "--encoding", ".png")[4]
    pixels = recordio.unpack_img(recordio.pack((0, 0, 0, 0), data))[1]
    original = (IMAGES / "colours.png").read_bytes()
    assert (pixels == recordio.unpack_img(recordio.pack((0, 0, 0, 0), original))[1]).all()


@pytest.mark.parametrize("all_numbers", [False, True])
def test_labels(folder, all_numbers):
    (folder / "w.lst").write_text("0\t1\t2\t3\tcat/a.jpg\n5\t4\t5\t6\tcat/b.png\n")
    assert main([*(["--pack-label"] if all_numbers else []), "w", "images"]) == 0
    reader = recordio.MXIndexedRecordIO("w.idx", "w.rec", "r")
    found = [recordio.unpack(reader.read_idx(key))[0].label for key in (0, 5)]
    expected = [[1, 2, 3], [4, 5, 6]] if all_numbers else [1, 4]
    assert [np.asarray(label).tolist() for label in found] == expected


def test_what_cannot_be_read(folder, capsys):
    (folder / "images" / "junk.jpg").write_bytes(b"junk")
    (folder / "e.lst").write_text("0\t1\tnone.jpg\n1\t1\tjunk.jpg\n2\t1\tcat/a.jpg\n")
    assert main(["e", "images"]) == 1
    told = capsys.readouterr().err
    assert "none.jpg" in told and "junk.jpg' cannot be decoded" in told
    assert recordio.MXIndexedRecordIO("e.idx", "e.rec", "r").keys == [2]
    (folder / "e.lst").write_text("0\t1\tcat/a.jpg\n1\tcat/a.jpg\n")
    assert main(["e", "images"]) == 1
    assert "e.lst': line 2 is" in capsys.readouterr().err
    assert main(["none", "images"]) == 1
    assert "There is no list none" in capsys.readouterr().err


def test_as_a_program(folder):
    root = str(Path(__file__).resolve().parents[2])
    arguments = ["-m", "layers.mxnet.tools.im2rec", "--list", "a", "images"]
    done = forks.run(arguments, env={"PYTHONPATH": root})
    assert done.returncode == 0, done.stderr
    assert "a.lst" in lists(folder)


def test_a_shorter_side_has_a_limit(folder, capsys):
    from PIL import Image

    Image.new("RGB", (1, 1 << 20)).save(folder / "images" / "line.png")
    assert main(["--list", "--no-shuffle", "a", "images"]) == 0
    assert main(["--resize", "256", "a", "images"]) == 1
    assert "line.png'" in (told := capsys.readouterr().err)
    assert "256 x 268435456" in told


def test_names_that_are_not_utf8(folder, capsys):
    os.mkdir(b"images/\xff")
    shutil.copy("images/y.jpg", b"images/\xff/\xfe.jpg")
    assert main(["--list", "--recursive", "--no-shuffle", "a", "images"]) == 0
    assert b"\t\xff/\xfe.jpg\n" in (folder / "a.lst").read_bytes()
    assert "\\udcff" in capsys.readouterr().out
    assert main(["a", "images"]) == 0
    assert len(recordio.MXIndexedRecordIO("a.idx", "a.rec", "r").keys) == 8


@pytest.mark.parametrize("name", ["a\tb.jpg", "a\nb.jpg", "a\rb.jpg"])
def test_names_that_lists_cannot_have(folder, capsys, name):
    shutil.copy("images/y.jpg", f"images/{name}")
    assert main(["--list", "a", "images"]) == 1
    assert f"the image {name!r} cannot be in a list" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, message",
    [
        (["a", "none"], "'none' is no folder"),
        (["a", "images/dog/sub", "--exts", ".png"], "files that end in .png, or --recursive for"),
        (["a", "images/cat", "--exts", ".gif", "--recursive"], "files that end in .gif\n"),
    ],
)
def test_no_images(folder, capsys, options, message):
    assert main(["--list", *options]) == 1
    assert message in capsys.readouterr().err
    assert not (folder / "a.lst").exists()


def test_by_its_path(folder):
    """As programs run it that ask `test_utils` where it is."""
    from layers.mxnet.test_utils import get_im2rec_path

    path = get_im2rec_path()
    assert forks.run([path, "--list", "--recursive", "a", "images"]).returncode == 0
    assert (folder / "a.lst").is_file()
    assert forks.run([path, "none", "images"]).returncode == 1


def test_links_in_a_circle(folder):
    """Links to folders are followed, once around."""
    (folder / "images/cat/up").symlink_to(folder / "images")
    (folder / "images/dog/birds").symlink_to(folder / "images/bird")
    (folder / "images/bird/dogs").symlink_to(folder / "images/dog")
    assert main(["--list", "--recursive", "--no-shuffle", "a", "images"]) == 0
    paths = [row.split("\t")[2] for row in (folder / "a.lst").read_text().splitlines()]
    assert paths == [
        "y.jpg", "z.png", "bird/t.jpg", "bird/dogs/c.JPG", "bird/dogs/sub/d.jpeg", "cat/a.jpg",
        "cat/b.png", "dog/c.JPG", "dog/birds/t.jpg", "dog/sub/d.jpeg",
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--num-thread", "--chunks"])
@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_counts(folder, capsys, option, value):
    with pytest.raises(SystemExit):
        main([f"{option}={value}", "--list", "a", "images"])
    assert f"argument {option}: " in capsys.readouterr().err
