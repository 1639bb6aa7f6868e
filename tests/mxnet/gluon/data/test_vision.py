"""Data sets of images in their published formats, made small here."""

import gzip
import pickle
import struct

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")
pytestmark = pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning:mxnet")


def idx(values):
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


@pytest.fixture
def vision(mx):
    return mx.gluon.data.vision


@pytest.fixture
def mnist(tmp_path):
    """The folder, the images and the labels; t10k has one image less."""
    random = np.random.RandomState(0)
    images = random.randint(0, 256, (3, 28, 28)).astype("uint8")
    labels = np.array([7, 0, 9], "uint8")
    for part, count in ("train", 3), ("t10k", 2):
        for kind, values in ("images-idx3", images), ("labels-idx1", labels):
            path = tmp_path / f"{part}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(idx(values[:count])))
    return tmp_path, images, labels


@torch_only
@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST"])
def test_mnist(mx, vision, mnist, name):
    folder, images, labels = mnist
    for train, count in (True, 3), (False, 2):
        digits = getattr(vision, name)(folder, train)
        assert len(digits) == count
        image, label = digits[1]
        assert isinstance(image, mx.nd.NDArray) and image.dtype == np.uint8
        np.testing.assert_array_equal(image.asnumpy(), images[1][..., None])
        assert label == labels[1] and label.dtype == np.int32
        many, several = digits[0:2]
        assert many.shape == (2, 28, 28, 1) and several.tolist() == [7, 0]
    changed = vision.MNIST(folder, transform=lambda x, y: (y, x.shape))
    assert changed[2] == (9, (28, 28, 1))


@torch_only
def test_unpacked_files_do_too(vision, mnist):
    folder, images, _ = mnist
    for path in folder.iterdir():
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    np.testing.assert_array_equal(vision.MNIST(folder)[0][0].asnumpy()[..., 0], images[0])


@torch_only
@pytest.mark.parametrize(
    "name, folder",
    [
        ("MNIST", "mnist"),
        ("FashionMNIST", "fashion-mnist"),
        ("CIFAR10", "cifar10"),
        ("CIFAR100", "cifar100"),
    ],
)
def test_the_folder_of_data_sets_is_looked_up_when_it_is_needed(
    vision, tmp_path, monkeypatch, name, folder
):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/datasets/{folder}/"):
        getattr(vision, name)()


@torch_only
def test_no_files(vision, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing is downloaded") as told:
        vision.MNIST(tmp_path / "none")
    assert str(tmp_path / "none" / "train-images-idx3-ubyte.gz") in str(told.value)
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileNotFoundError, match=r"CIFAR10: .*data_batch_1\.bin.* is not there"):
        vision.CIFAR10(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"cifar-100-binary.test\.bin"):
        vision.CIFAR100(tmp_path, train=False)


@torch_only
def test_damaged_files(mx, vision, mnist):
    folder, _, labels = mnist
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels[:2])))
    with pytest.raises(ValueError, match="labels-idx1-ubyte.gz' has 2 labels\n  expected 3"):
        vision.MNIST(folder)
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels))[:-9])
    with pytest.raises(mx.MXNetError, match="^FashionMNIST: .*labels-idx1-ubyte.gz'"):
        vision.FashionMNIST(folder)
    (folder / "test_batch.bin").write_bytes(b"0" * 3074)
    with pytest.raises(mx.MXNetError, match="has 3074 bytes\n  expected a multiple of 3073"):
        vision.CIFAR10(folder, train=False)
    (folder / "test_batch.bin").write_bytes(b"")
    with pytest.raises(mx.MXNetError, match="has 0 bytes"):
        vision.CIFAR10(folder, train=False)


@torch_only
@pytest.mark.parametrize("folder", ["", "cifar-10-batches-bin"])
def test_cifar10(vision, tmp_path, folder):
    rows = np.random.RandomState(0).randint(0, 10, (12, 3073)).astype("uint8")
    (tmp_path / folder).mkdir(exist_ok=True)
    for i in range(5):
        (tmp_path / folder / f"data_batch_{i + 1}.bin").write_bytes(
            rows[2 * i : 2 * i + 2].tobytes()
        )
    (tmp_path / folder / "test_batch.bin").write_bytes(rows[10:].tobytes())
    for train, part in (True, rows[:10]), (False, rows[10:]):
        photos = vision.CIFAR10(tmp_path, train)
        assert len(photos) == len(part)
        image, label = photos[len(part) - 1]
        assert image.shape == (32, 32, 3) and image.dtype == np.uint8
        expected = part[-1, 1:].reshape(3, 32, 32).transpose(1, 2, 0)
        np.testing.assert_array_equal(image.asnumpy(), expected)
        assert label == part[-1, 0] and label.dtype == np.int32


@torch_only
@pytest.mark.parametrize("fine", [False, True])
def test_cifar100(vision, tmp_path, fine):
    rows = np.random.RandomState(0).randint(0, 10, (3, 3074)).astype("uint8")
    (tmp_path / "train.bin").write_bytes(rows.tobytes())
    photos = vision.CIFAR100(tmp_path, fine_label=fine)
    assert [int(label) for _, label in (photos[i] for i in range(3))] == rows[:, int(fine)].tolist()
    expected = rows[2, 2:].reshape(3, 32, 32).transpose(1, 2, 0)
    np.testing.assert_array_equal(photos[2][0].asnumpy(), expected)


def pixels(value):
    return np.full((4, 5, 3), value, "uint8")


@pytest.fixture
def folders(mx, tmp_path):
    """Images in folders of classes, written by the engine itself, and files that are none."""
    header = mx.recordio.IRHeader(0, 0, 0, 0)
    for k, name in enumerate(["dog", "cat"]):
        (tmp_path / name).mkdir()
        for i, file in enumerate(["b.png", "a.PNG"]):
            packed = mx.recordio.pack_img(
                header, pixels(20 * k + 10 * i), img_fmt=".png", quality=3
            )
            (tmp_path / name / file).write_bytes(mx.recordio.unpack(packed)[1])
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "list.txt").write_text("no folder")
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*(left out|Ignoring)")
def test_folders_of_images(mx, vision, folders):
    images = vision.ImageFolderDataset(str(folders))
    assert images.synsets == ["cat", "dog"] and len(images) == 4
    assert [(path[len(str(folders)) + 1 :], label) for path, label in images.items] == [
        ("cat/a.PNG", 0),
        ("cat/b.png", 0),
        ("dog/a.PNG", 1),
        ("dog/b.png", 1),
    ]
    image, label = images[0]
    np.testing.assert_array_equal(image.asnumpy(), pixels(30))
    assert label == 0
    gray = vision.ImageFolderDataset(str(folders), flag=0)
    assert gray[3][0].shape == (4, 5, 1)
    changed = vision.ImageFolderDataset(str(folders), transform=lambda x, y: (y, x.shape))
    assert changed[2] == (1, (4, 5, 3))


@torch_only
def test_what_is_no_image_is_named(vision, folders):
    with pytest.warns(UserWarning, match="left out") as told:
        vision.ImageFolderDataset(folders)
    assert [str(w.message).split("'")[1][len(str(folders)) + 1 :] for w in told] == [
        "dog/notes.txt",
        "list.txt",
    ]
    assert {w.filename for w in told} == {__file__}


def test_no_folder(vision, tmp_path):
    with pytest.raises(FileNotFoundError):
        vision.ImageFolderDataset(str(tmp_path / "none"))


@pytest.fixture
def records(mx, tmp_path):
    path = str(tmp_path / "a.rec")
    record = mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), path, "w")
    for i, label in enumerate([5.0, 6.0, [1.0, 2.0]]):
        header = mx.recordio.IRHeader(0, label, i, 0)
        record.write_idx(i, mx.recordio.pack_img(header, pixels(10 * i), img_fmt=".png", quality=3))
    record.close()
    return path


def test_records(mx, vision, records):
    raw = mx.gluon.data.RecordFileDataset(records)
    assert len(raw) == 3 and mx.recordio.unpack(raw[1])[0].label == 6
    images = vision.ImageRecordDataset(records)
    image, label = images[1]
    np.testing.assert_array_equal(image.asnumpy(), pixels(10))
    assert len(images) == 3 and label == 6 and images[2][1].tolist() == [1, 2]
    assert vision.ImageRecordDataset(records, flag=0)[0][0].shape == (4, 5, 1)
    assert vision.ImageRecordDataset(records, transform=lambda x, y: (y,))[0] == (5.0,)


@torch_only
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("threads", [False, True])
def test_records_by_workers(mx, vision, records, threads):
    images = vision.ImageRecordDataset(records).transform(lambda x, y: (x, np.sum(y)))
    images[0]  # the file is at another place before the processes are there
    order = [i % 3 for i in range(90)]
    loader = mx.gluon.data.DataLoader(images, 1, sampler=order, num_workers=4, thread_pool=threads)
    found = [(x.asnumpy()[0, 0, 0, 0], y.asscalar()) for x, y in loader]
    assert found == [(10 * i, [5, 6, 3][i]) for i in order]


@torch_only
def test_a_copy_of_records_reads_on(vision, records):
    again = pickle.loads(pickle.dumps(vision.ImageRecordDataset(records)))
    assert again[1][1] == 6 and len(again) == 3
