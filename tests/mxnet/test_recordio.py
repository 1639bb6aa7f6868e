"""RecordIO files. The bytes here are those that MXNet writes: it is held to them as well."""

import multiprocessing
import pickle
import struct
import zlib

import numpy as np
import pytest

MAGIC = struct.pack("<I", 0xCED7230A)
RECORDS = [
    b"abc",
    b"",
    b"xxxxx",
    MAGIC,
    MAGIC + MAGIC,
    b"ab" + MAGIC,
    b"abcd" + MAGIC + b"ef" + MAGIC + b"gh",
    b"abcd" + MAGIC + b"efgh" + MAGIC,
    MAGIC + b"a",
]
WRITTEN = bytes.fromhex(
    "0a23d7ce0300000061626300 0a23d7ce00000000 0a23d7ce050000007878787878000000"
    "0a23d7ce00000020 0a23d7ce00000060"
    "0a23d7ce00000020 0a23d7ce00000040 0a23d7ce00000060"
    "0a23d7ce0600000061620a23d7ce0000"
    "0a23d7ce0400002061626364 0a23d7ce080000606566 0a23d7ce6768"
    "0a23d7ce0400002061626364 0a23d7ce0400004065666768 0a23d7ce00000060"
    "0a23d7ce00000020 0a23d7ce0100006061000000"
)
torch_only = pytest.mark.engine("torch")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.rec")


@pytest.fixture
def indexed(mx, tmp_path):
    """The index and the file of three records."""
    files = str(tmp_path / "b.idx"), str(tmp_path / "b.rec")
    writer = mx.recordio.MXIndexedRecordIO(*files, "w")
    for key in (0, 7, 3):
        writer.write_idx(key, b"record %d" % key)
    writer.close()
    return files


def opened(mx, path, content):
    """A reader of a file of these bytes."""
    with open(path, "wb") as file:
        file.write(content)
    return mx.recordio.MXRecordIO(path, "r")


def records(reader):
    return list(iter(reader.read, None))


def test_the_bytes_are_mxnets(mx, path):
    writer = mx.recordio.MXRecordIO(path, "w")
    for record in RECORDS:
        writer.write(record)
    writer.close()
    with open(path, "rb") as file:
        assert file.read() == WRITTEN


def test_what_mxnet_wrote_is_read(mx, path):
    reader = opened(mx, path, WRITTEN)
    assert records(reader) == RECORDS
    assert reader.read() is None
    reader.reset()
    assert reader.read() == b"abc"
    reader.close()
    reader.close()


def test_a_writer_that_is_reset_begins_anew(mx, path):
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(b"lost")
    writer.reset()
    writer.write(b"kept")
    writer.close()
    assert records(mx.recordio.MXRecordIO(path, "r")) == [b"kept"]


def test_a_pickled_reader_begins_anew(mx, path):
    reader = opened(mx, path, WRITTEN)
    reader.read()
    assert records(pickle.loads(pickle.dumps(reader))) == RECORDS
    reader.close()
    assert not pickle.loads(pickle.dumps(reader)).is_open


def test_index(mx, indexed):
    with open(indexed[0]) as file:
        assert file.read() == "0\t0\n7\t16\n3\t32\n"
    reader = mx.recordio.MXIndexedRecordIO(*indexed, "r")
    assert reader.keys == [0, 7, 3] and reader.idx == {0: 0, 7: 16, 3: 32}
    assert reader.read_idx(7) == b"record 7"
    assert reader.read() == b"record 3"
    reader.seek(0)
    assert reader.read() == b"record 0"
    again = pickle.loads(pickle.dumps(reader))
    assert again.keys == [0, 7, 3] and again.read_idx(3) == b"record 3"
    with pytest.raises(KeyError):
        again.read_idx(4)


def test_keys_of_another_type(mx, indexed):
    reader = mx.recordio.MXIndexedRecordIO(*indexed, "r", key_type=str)
    assert reader.keys == ["0", "7", "3"] and reader.read_idx("7") == b"record 7"


def test_positions_of_a_writer(mx, tmp_path):
    files = str(tmp_path / "c.idx"), str(tmp_path / "c.rec")
    writer = mx.recordio.MXIndexedRecordIO(*files, "w")
    positions = []
    for key in range(3):
        positions.append(writer.tell())
        writer.write_idx(key, b"x" * key)
    writer.close()
    assert positions == [0, 8, 20] and writer.keys == [0, 1, 2]


def test_a_forked_process_begins_anew(mx, engine, indexed):
    """Reading on, where the position is another process's too, is an error; a key finds its own."""
    if engine == "torch":
        pytest.importorskip("torch")
    reader = mx.recordio.MXIndexedRecordIO(*indexed, "r")
    context = multiprocessing.get_context("fork")
    found = context.Queue()

    def child():
        try:
            reader.read()
        except RuntimeError as error:
            found.put(type(error).__name__)
        found.put(reader.read_idx(3))

    process = context.Process(target=child)
    process.start()
    assert [found.get(timeout=60) for _ in range(2)][1] == b"record 3"
    process.join()
    assert reader.read_idx(7) == b"record 7"


HEADERS = [
    ((0, 4, 2574, 0), "00000000000080400e0a0000000000000000000000000000", (0, 4.0, 2574, 0)),
    ((5, 4.5, 1, 2), "000000000000904001000000000000000200000000000000", (0, 4.5, 1, 2)),
    (
        (0, [1, 2, 3], 1, 0),
        "0300000000000000010000000000000000000000000000000000803f0000004000004040",
        (3, [1, 2, 3], 1, 0),
    ),
    (
        (0, np.array([[1, 2], [3, 4]]), 1, 0),
        "0400000000000000010000000000000000000000000000000000803f000000400000404000008040",
        (4, [1, 2, 3, 4], 1, 0),
    ),
    ((0, [], 1, 0), "000000000000000001000000000000000000000000000000", (0, 0, 1, 0)),
    ((0, np.float32(2), 1, 0), "000000000000004001000000000000000000000000000000", (0, 2, 1, 0)),
]


@pytest.mark.parametrize("header, expected, read", HEADERS)
@pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning")  # MXNet's
def test_pack(mx, header, expected, read):
    packed = mx.recordio.pack(mx.recordio.IRHeader(*header), b"image")
    assert packed == bytes.fromhex(expected) + b"image"
    found, data = mx.recordio.unpack(packed)
    assert data == b"image" and found._fields == ("flag", "label", "id", "id2")
    assert [np.asarray(part).tolist() for part in found] == list(read)


IMAGE = np.stack([np.add.outer(np.arange(24) * a, np.arange(40) * b) % 256 for a, b in
                  ((9, 2), (3, 4), (0, 6))], -1).astype(np.uint8)  # fmt: skip


@pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning")
@pytest.mark.parametrize("image", [IMAGE, IMAGE[..., 0], IMAGE[..., [0, 1, 2, 0]]], ids=np.shape)
@pytest.mark.parametrize("iscolor", [-1, 0, 1])
def test_images_of_png(mx, image, iscolor):
    header = mx.recordio.IRHeader(0, 1, 2, 0)
    packed = mx.recordio.pack_img(header, image, quality=3, img_fmt=".png")
    found, pixels = mx.recordio.unpack_img(packed, iscolor)
    assert found == (0, 1, 2, 0)
    channels = image.reshape(*image.shape[:2], -1)
    if iscolor == 0:
        gray = channels[..., 0]
        if channels.shape[2] > 1:
            gray = channels[..., :3] @ [0.114, 0.587, 0.299]
        assert pixels.shape == gray.shape
        assert abs(pixels - gray).max() < 2
    else:
        expected = image if iscolor == -1 else np.broadcast_to(channels[..., :3], IMAGE.shape)
        assert (pixels == expected).all()


@pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning")
@pytest.mark.parametrize("quality, digest", [(95, 2), (50, 4)])
def test_images_of_jpeg(mx, quality, digest):
    smooth = np.add.outer(np.arange(24), np.arange(40)) * 3
    image = np.stack([smooth, 255 - smooth, smooth // 2], -1).astype(np.uint8)
    packed = mx.recordio.pack_img(mx.recordio.IRHeader(0, 1, 2, 0), image, quality)
    pixels = mx.recordio.unpack_img(packed)[1]
    assert packed[24:26] == b"\xff\xd8" and pixels.shape == image.shape
    assert abs(pixels.astype(int) - image).mean() < digest


# Damage


DAMAGED = {
    "magic": (b"junk" + WRITTEN, r"at offset 0 there is 6a 75 6e 6b\n  expected 0a 23 d7 ce"),
    "cut head": (WRITTEN[:14], "at offset 12 the file ends after 2 bytes"),
    "cut data": (WRITTEN[:32], "at offset 20 a part declares 5 bytes\n  expected at most the 4"),
    "long": (MAGIC + struct.pack("<I", 0x1FFFFFFF) + bytes(8), "declares 536870911 bytes"),
    "no first": (MAGIC + struct.pack("<I", 2 << 29), "at offset 0 there is part 2 of a record"),
    "kind": (MAGIC + struct.pack("<I", 7 << 29), "part 7 of a record"),
    "no last": (MAGIC + struct.pack("<I", 1 << 29), "at offset 8 the file ends after 0 bytes"),
    "whole in it": (MAGIC + struct.pack("<I", 1 << 29) + WRITTEN, "offset 8 another record begins"),
}


@torch_only  # MXNet ends the process for some, and takes lengths as they are
@pytest.mark.parametrize("content, message", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file(mx, path, content, message):
    reader = opened(mx, path, content)
    with pytest.raises(mx.MXNetError, match=message) as raised:
        records(reader)
    assert repr(path) in str(raised.value)


@torch_only
@pytest.mark.parametrize(
    "text", ["0", "0\t", "0\t-8", "0\t²", "a\t0", "0\t0\n1 8", b"\xff\t0", "9" * 99999]
)
def test_a_damaged_index(mx, indexed, text):
    with open(indexed[0], "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(mx.MXNetError, match=r"b\.idx': line \d is") as raised:
        mx.recordio.MXIndexedRecordIO(*indexed, "r")
    assert len(str(raised.value)) < 1000


@torch_only
def test_an_index_of_more_lines_than_records(mx, indexed):
    """Each line takes 150 bytes of memory, and 8 in the file."""
    with open(indexed[0], "w") as file:
        file.writelines(f"{i}\t0\n" for i in range(9))
    with pytest.raises(mx.MXNetError, match=r"b\.idx': it has more than 6 lines\n.* 48 bytes"):
        mx.recordio.MXIndexedRecordIO(*indexed, "r")
    with pytest.raises(mx.MXNetError, match=r"b\.idx': it has more than 6 lines"):
        mx.io.ImageRecordIter(
            path_imgrec=indexed[1], path_imgidx=indexed[0], data_shape=(3, 8, 8), batch_size=1
        )


@torch_only
def test_an_index_of_another_file(mx, indexed):
    with open(indexed[0], "w") as file:
        file.write("0\t4\n1\t999\n2\t48\n")
    reader = mx.recordio.MXIndexedRecordIO(*indexed, "r")
    with pytest.raises(mx.MXNetError, match=r"b\.rec': at offset 4 there is"):
        reader.read_idx(0)
    with pytest.raises(mx.MXNetError, match=r"offset 999 is asked for\n  expected .* 48 bytes"):
        reader.read_idx(1)
    with pytest.raises(mx.MXNetError, match=r"record 2 is at offset 48, the file's end"):
        reader.read_idx(2)
    with pytest.raises(KeyError, match=r"no record 5\n  expected one of the 3 keys of .*b\.idx"):
        reader.read_idx(5)


@torch_only
@pytest.mark.parametrize(
    "record, message",
    [
        (b"short", "has 5 bytes\n  expected a header of 24"),
        (struct.pack("<IfQQ", 3, 0, 0, 0) + b"abc", "the 3 labels"),
        (struct.pack("<IfQQ", 0xFFFFFFFF, 0, 0, 0) + b"abc", "the 4294967295 labels"),
    ],
)
def test_a_damaged_record(mx, record, message):
    with pytest.raises(mx.MXNetError, match=message):
        mx.recordio.unpack(record)


def png(width, height, data=b""):
    """A PNG that declares a size."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", data)]
    parts = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in [*chunks, (b"IEND", b"")]
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@torch_only
@pytest.mark.parametrize(
    "data, message",
    [
        (b"junk", "image of id 2 cannot be decoded: 4 bytes that begin with 6a 75 6e 6b are no"),
        (b"", "begin with nothing"),
        (png(30000, 30000, zlib.compress(b"")), "declares 30000 x 30000 pixels|bomb"),
        (png(3000, 3000, zlib.compress(b"")), "declares 3000 x 3000 pixels in 65 bytes"),
        (png(30, 30, zlib.compress(b"")), "cannot be decoded"),
    ],
)
def test_what_is_no_image(mx, data, message):
    packed = mx.recordio.pack(mx.recordio.IRHeader(0, 1, 2, 0), data)
    with pytest.raises(mx.MXNetError, match=message) as raised:
        mx.recordio.unpack_img(packed)
    assert "image of id 2" in str(raised.value)


@torch_only
def test_wrong_use(mx, path):
    with pytest.raises(ValueError, match="Invalid flag 'a'"):
        mx.recordio.MXRecordIO(path, "a")
    writer = mx.recordio.MXRecordIO(path, "w")
    with pytest.raises(mx.MXNetError, match="open for writing"):
        writer.read()
    with pytest.raises(TypeError, match="of type str"):
        writer.write("text")
    with pytest.raises(mx.MXNetError, match="would empty the file"):
        pickle.dumps(writer)
    writer.close()
    with pytest.raises(mx.MXNetError, match="is closed"):
        writer.write(b"")
    with pytest.raises(mx.MXNetError, match="open for reading"):
        mx.recordio.MXRecordIO(path, "r").write(b"")
    with pytest.raises(FileNotFoundError):
        mx.recordio.MXRecordIO(path + ".none", "r")
    for header in ((0, 1, -1, 0), (0, 1, 2**64, 0)):
        with pytest.raises(mx.MXNetError, match="out of range|format requires"):
            mx.recordio.pack(mx.recordio.IRHeader(*header), b"")
    with pytest.raises(mx.MXNetError, match=r"'\.xyz'"):
        mx.recordio.pack_img(mx.recordio.IRHeader(0, 1, 1, 0), IMAGE, img_fmt=".xyz")
    with pytest.raises(mx.MXNetError, match="of float64"):
        mx.recordio.pack_img(mx.recordio.IRHeader(0, 1, 1, 0), IMAGE / 2)


@torch_only
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_forked_processes_read_the_same_file(mx, tmp_path):
    from layers.mxnet.io._record_source import Source

    path = str(tmp_path / "many.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    expected = [str(i).encode() * 5000 for i in range(100)]
    for record in expected:
        writer.write(record)
    writer.close()
    source = Source(path, None, 1, 0, "test")
    context = multiprocessing.get_context("fork")
    found = context.Queue()

    def read(order):
        try:
            found.put(sum(source.read(i % 100) != expected[i % 100] for i in order))
        except mx.MXNetError as error:
            found.put(str(error))

    orders = range(2000), range(2000, 0, -1)
    processes = [context.Process(target=read, args=(order,)) for order in orders]
    for process in processes:
        process.start()
    assert [found.get(timeout=60) for _ in processes] == [0, 0]
    for process in processes:
        process.join()


@torch_only
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_missing_arguments(mx):
    """What was not opened has nothing to close: no second error comes from the destructor."""
    for kind in (mx.recordio.MXRecordIO, mx.recordio.MXIndexedRecordIO):
        kind.__new__(kind).__del__()
        with pytest.raises(TypeError, match="missing"):
            kind()


@torch_only
@pytest.mark.parametrize("flag", ["r", "w"])
def test_a_closed_indexed_file(mx, indexed, flag):
    file = mx.recordio.MXIndexedRecordIO(*indexed, flag)
    file.close()
    for use in (file.tell, lambda: file.write_idx(1, b"x"), lambda: file.read_idx(7)):
        with pytest.raises(mx.MXNetError, match="the file is closed"):
            use()


@torch_only
def test_a_reset_keeps_the_index(mx, indexed):
    reader = mx.recordio.MXIndexedRecordIO(*indexed, "r")
    reader.read_idx(3)
    index = reader.idx
    reader.reset()
    assert reader.idx is index and reader.read() == b"record 0"
    reader.close()
    reader.reset()
    assert reader.read_idx(7) == b"record 7"
    writer = mx.recordio.MXIndexedRecordIO(*indexed, "w")
    writer.write_idx(1, b"x")
    writer.reset()
    assert writer.keys == [] and writer.tell() == 0


@pytest.mark.engine("torch")
@pytest.mark.parametrize("most", [0, 3, 5, 9, 100])
def test_the_beginnings_of_records(tmp_path, most):
    from layers.mxnet._files.records import Reader

    (tmp_path / "a.rec").write_bytes(WRITTEN)
    reader = Reader(tmp_path / "a.rec")
    assert [reader.read_at(at, most) for at in reader.offsets()] == [r[:most] for r in RECORDS]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("label", [3.0, [1.0, 2.0, 3.0], np.arange(9)])
def test_the_headers_of_records(mx, tmp_path, label):
    record = mx.recordio.pack((0, label, 7, 8), b"image" * 99)
    writer = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    writer.write(record)
    writer.close()
    file = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "r")
    header, expected = mx.recordio._header_at(file._reader, 0), mx.recordio.unpack(record)[0]
    assert header._replace(label=0) == expected._replace(label=0)
    np.testing.assert_array_equal(header.label, expected.label)
