"""gluoncv.data: data sets from files that a test writes, batches, samplers and loaders.

Pictures are PNG files whatever their names: how JPEG is decoded is tested elsewhere.
"""

import importlib
import json

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy


def picture(draw, height=48, width=64):
    return draw.randint(0, 256, (height, width, 3)).astype("uint8")


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, "png")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def pictures(data):
    return [data[i] for i in range(len(data))]


# Detection


def write_voc(draw, root, names=("dog", "cat")):
    """Three pictures in the format of Pascal VOC, one with a difficult box."""
    for i in range(3):
        save(root / "JPEGImages" / f"00{i}.jpg", picture(draw))
        objects = ""
        for j, name in enumerate(names):
            x, y = draw.randint(1, 30, 2)
            objects += (
                f"<object><name>{name}</name><difficult>{int(i == j)}</difficult><bndbox>"
                f"<xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x + 20}</xmax><ymax>{y + 15}</ymax>"
                "</bndbox></object>"
            )
        size = "<size><width>64</width><height>48</height></size>"
        write(root / "Annotations" / f"00{i}.xml", f"<annotation>{size}{objects}</annotation>")
    write(root / "ImageSets" / "Main" / "trainval.txt", "000\n001\n002\n")


@pytest.mark.parametrize("preload", [True, False])
def test_pascal_voc(gluoncv, draw, held, tmp_path, preload):
    write_voc(draw, tmp_path / "VOC2007")
    kind = gluoncv.data.VOCDetection
    data = kind(tmp_path, splits=((2007, "trainval"),), preload_label=preload)
    held(pictures(data), data.num_class)
    assert data.classes[11] == "dog"
    loader = gluoncv.data.DetectionDataLoader(data, batch_size=2, last_batch="keep")
    assert [[x.shape for x in batch] for batch in loader] == [
        [(2, 48, 64, 3), (2, 2, 6)],
        [(1, 48, 64, 3), (1, 2, 6)],
    ]


def test_pascal_voc_of_other_classes(gluoncv, draw, held, tmp_path):
    write_voc(draw, tmp_path / "own", ("wheel", "door"))

    class Own(gluoncv.data.VOCDetection):
        CLASSES = ("door", "wheel")

    base = gluoncv.data.CustomVOCDetectionBase
    before = base.CLASSES
    data = base(("wheel",), tmp_path, splits=(("own", "trainval"),))
    base.CLASSES = before
    custom = gluoncv.data.CustomVOCDetection
    generated = custom(True, root=tmp_path / "own", splits=(("", "trainval"),))
    own = Own(tmp_path, splits=(("own", "trainval"),))
    held(pictures(data), pictures(own))
    assert generated.CLASSES == ["door", "wheel"]


def test_vis_drone(gluoncv, draw, held, tmp_path):
    root = tmp_path / "VisDrone2019-DET-train"
    save(root / "images" / "0.jpg", picture(draw))
    write(root / "annotations" / "0.txt", "3,4,20,10,1,4,0,0\n10,12,8,9,1,1,0,0\n")
    held(pictures(gluoncv.data.VisDroneDetection(tmp_path)))


def label(draw):
    """A header of four numbers, and two boxes in parts of the picture."""
    low = draw.uniform(0, 0.4, (2, 2))
    rows = np.concatenate([draw.randint(0, 5, (2, 1)), low, low + 0.4], 1)
    return [4, 5, 48, 64, *rows.ravel().round(4)]


@pytest.mark.parametrize("normalized", [True, False])
def test_record_files_and_lists(mx, gluoncv, draw, held, tmp_path, normalized):
    names = [str(tmp_path / f"data.{kind}") for kind in ("idx", "rec", "lst")]
    record = mx.recordio.MXIndexedRecordIO(names[0], names[1], "w")
    lines = ""
    for i in range(3):
        pixels, numbers = picture(draw), label(draw)
        save(tmp_path / f"{i}.png", pixels)
        lines += "\t".join(map(str, [i, *numbers, f"{i}.png"])) + "\n"
        header = mx.recordio.IRHeader(0, np.array(numbers, "float32"), i, 0)
        record.write_idx(i, mx.recordio.pack(header, (tmp_path / f"{i}.png").read_bytes()))
    record.close()
    write(tmp_path / "data.lst", lines)
    data = gluoncv.data.RecordFileDetection(names[1], normalized)
    listed = gluoncv.data.LstDetection(names[2], str(tmp_path), coord_normalized=normalized)
    held(pictures(data), pictures(listed))


def test_mixed_pictures(mx, gluoncv, draw, held):
    shapes = [(48, 64), (50, 40), (30, 30)]
    data = mx.gluon.data.SimpleDataset(
        [(mx.nd.array(picture(draw, *s), dtype="uint8"), draw.rand(2, 5)) for s in shapes]
    )
    mixed = gluoncv.data.MixupDetection(data, np.random.beta, 1.5, 1.5)
    found = pictures(mixed)
    mixed.set_mixup(None)
    held(found, pictures(mixed))


# Segmentation


def write_segmentation(draw, root, name):
    """Two pictures and their masks, in the format of a data set."""
    for i in ("a", "b"):
        pixels, mask = picture(draw), draw.randint(0, 19, (48, 64)).astype("uint8")
        if name == "pascal_voc":
            save(root / "VOC2012" / "JPEGImages" / f"{i}.jpg", pixels)
            mask[:3] = 255
            save(root / "VOC2012" / "SegmentationClass" / f"{i}.png", mask)
        elif name == "pascal_aug":
            import scipy.io

            folder = root / "VOCaug" / "dataset"
            save(folder / "img" / f"{i}.jpg", pixels)
            (folder / "cls").mkdir(exist_ok=True)
            scipy.io.savemat(folder / "cls" / f"{i}.mat", {"GTcls": {"Segmentation": mask}})
        elif name == "ade20k":
            folder = root / "ADEChallengeData2016"
            save(folder / "images" / "validation" / f"{i}.jpg", pixels)
            save(folder / "annotations" / "validation" / f"{i}.png", mask)
        elif name == "citys":
            save(root / "leftImg8bit" / "val" / "town" / f"{i}_leftImg8bit.png", pixels)
            save(root / "gtFine" / "val" / "town" / f"{i}_gtFine_labelIds.png", mask)
        else:
            save(root / "images" / f"{i}.jpg", pixels)
            half = np.arange(64) < 32
            for part in range(2):
                save(root / "annotations" / f"{i}_0{part}.png", mask * (half == part))
    for folder in ("VOC2012/ImageSets/Segmentation", "VOCaug/dataset", "."):
        for split in ("trainval", "val", "test", "test_list", "train_list"):
            ending = ".jpg" if split.endswith("list") else ""
            write(root / folder / f"{split}.txt", f"a{ending}\nb{ending}\n")


SETS = ["pascal_voc", "pascal_aug", "ade20k", "citys", "mhpv1"]


def in_order(data):
    """The pictures by their files, which some data sets take as the folder gives them."""
    order = sorted(range(len(data)), key=lambda i: data.images[i])
    return [data[i] for i in order]


MODES = [(name, mode) for name in SETS for mode in ("train", "val", "testval")]
MODES.remove(("pascal_aug", "testval"))


@pytest.mark.parametrize("name, mode", MODES)
def test_segmentation(mx, gluoncv, draw, held, tmp_path, name, mode):
    write_segmentation(draw, tmp_path, name)
    scale = mx.gluon.data.vision.transforms.ToTensor()
    given = {"root": str(tmp_path), "split": "val", "mode": mode, "transform": scale}
    if name == "mhpv1":
        given["split"] = "test"  # whose list is not cut
    data = gluoncv.data.get_segmentation_dataset(name, **given, base_size=40, crop_size=32)
    found = in_order(data)
    held(found, data.num_class, data.pred_offset)
    assert [type(x) for x in gluoncv.data.ms_batchify_fn(found)] == [list, list]


def test_segmentation_for_a_test(gluoncv, draw, held, tmp_path):
    write_segmentation(draw, tmp_path, "pascal_voc")
    data = gluoncv.data.VOCSegmentation(root=str(tmp_path), split="test")
    assert data[1][1] == "b.jpg"
    held(data[0][0])


@pytest.mark.parametrize("mode", ["train", "val", "testval"])
def test_coco_segmentation(gluoncv, draw, held, tmp_path, mode):
    pytest.importorskip("pycocotools")
    image = {"id": 1, "file_name": "1.png", "height": 48, "width": 64}
    outline = [[2.0, 3.0, 60.0, 3.0, 60.0, 40.0, 2.0, 45.0]]
    object_ = {"id": 1, "image_id": 1, "category_id": 5, "segmentation": outline}
    object_ |= {"area": 2000, "bbox": [2, 3, 58, 42], "iscrowd": 0}
    text = {"images": [image], "annotations": [object_], "categories": [{"id": 5, "name": "a"}]}
    write(tmp_path / "annotations" / "instances_val2017.json", json.dumps(text))
    save(tmp_path / "val2017" / "1.png", picture(draw))
    kind = gluoncv.data.COCOSegmentation
    data = kind(str(tmp_path), "val", mode, base_size=40, crop_size=32)
    held(pictures(data), data.num_class)


# Videos, depth and tracking


def test_videos(gluoncv, draw, held, tmp_path):
    for i in range(1, 41):
        save(tmp_path / "frames" / "one" / f"img_{i:05d}.jpg", picture(draw, 30, 40))
    write(tmp_path / "list.txt", "one 40 3\n")
    video = importlib.import_module("gluoncv.data.transforms.video")
    transform = video.VideoGroupValTransform((24, 24), [0.5] * 3, [0.2] * 3)
    given = {"root": str(tmp_path / "frames"), "setting": str(tmp_path / "list.txt")}
    given |= {"new_width": 40, "new_height": 30, "target_width": 24, "target_height": 24}
    given |= {"transform": transform, "name_pattern": "img_%05d.jpg"}
    kinds = ["UCF101", "Kinetics400", "Kinetics700", "SomethingSomethingV2", "HMDB51"]
    found = []
    for kind in [getattr(gluoncv.data, kind) for kind in [*kinds, "VideoClsCustom"]]:
        found += pictures(kind(**given, num_segments=2))
        found += pictures(kind(**given, train=False, new_length=4, new_step=2))
        found += pictures(kind(**given, train=False, test_mode=True, num_segments=3))
    slow = {"new_length": 32, "slowfast": True}
    found += pictures(gluoncv.data.VideoClsCustom(**given, **slow))
    held(found)
    counts = [len(getattr(gluoncv.data, f"{kind}Attr")().classes) for kind in kinds]
    assert counts == [101, 400, 700, 174, 51]


def test_kitti(gluoncv, draw, held, tmp_path, engine, monkeypatch):
    if engine == "mxnet":  # where GluonCV asks Pillow for a name that it has removed
        monkeypatch.setattr(Image, "ANTIALIAS", Image.LANCZOS, raising=False)
    for frame in range(3):
        for side in (2, 3):
            raw = tmp_path / "drive" / f"image_0{side}" / "data" / f"{frame:010d}.jpg"
            save(raw, picture(draw))
            save(
                tmp_path / "sequences" / "07" / f"image_{side}" / f"{frame:06d}.jpg", picture(draw)
            )
    size = {"height": 32, "width": 64, "frame_idxs": [0, -1, 1, "s"], "num_scales": 2}
    found = []
    for kind, line in (("KITTIRAWDataset", "drive 1 l"), ("KITTIOdomDataset", "7 1 l")):
        data = getattr(gluoncv.data, kind)(tmp_path, [line, line], **size, is_train=True)
        found += [{str(k): v for k, v in data[i].items()} for i in range(2)]
    batch = importlib.import_module("gluoncv.data.kitti.kitti_utils").dict_batchify_fn(found[:2])
    held(found, batch)


def test_otb(gluoncv, draw, held, tmp_path):
    names = [f"one/img/{i:04d}.jpg" for i in range(2)]
    for name in names:
        save(tmp_path / name, picture(draw))
    one = {"video_dir": "one", "init_rect": [3, 4, 20, 10], "img_names": names, "attr": ["IV"]}
    one["gt_rect"] = [[3, 4, 20, 10], [4, 5, 20, 10]]
    write(tmp_path / "OTB.json", json.dumps({"one": one}))
    write(tmp_path / "found" / "mine" / "one.txt", "3,5,20,11\n5,6,19,9\n")
    data = gluoncv.data.OTBTracking("OTB", str(tmp_path), load_img=True)
    data[0].load_tracker(str(tmp_path / "found"), "mine")
    data.set_tracker(str(tmp_path / "found"), ["mine"])
    part = importlib.import_module("gluoncv.utils.metrics.tracking")
    benchmark = part.OPEBenchmark(data)
    measures = [benchmark.eval_success(["mine"]), benchmark.eval_precision(["mine"])]
    measures += [benchmark.eval_norm_precision(["mine"])]
    held(pictures(data[0]), measures)


def write_tracks(draw, root):
    tracks = {}
    for frame in range(4):
        save(root / "crop511" / "one" / f"{frame:06d}.00.x.jpg", picture(draw, 511, 511))
        tracks[f"{frame:06d}"] = [200, 210, 300 + frame, 290]
    write(root / "train.json", json.dumps({"one": {"00": tracks}}))


def test_tracks(gluoncv, draw, held, tmp_path):
    write_tracks(draw, tmp_path)
    part = importlib.import_module("gluoncv.data.tracking_data.track")
    data = part.TrkDataset(
        data_path=str(tmp_path),
        dataset_names=("vid",),
        detaset_root=("crop511",),
        detaset_anno=("train.json",),
        dataset_frame_range=(3,),
        dataset_num_use=(1,),
        train_epoch=1,
        videos_per_epoch=1,
    )
    held([list(item) for item in pictures(data)])


def test_pictures_in_folders(gluoncv, draw, held, tmp_path):
    for name in ("n1", "n2"):
        save(tmp_path / "train" / name / "0.png", picture(draw))
        save(tmp_path / "bounding_box_train" / f"{name}.png", picture(draw))
    data = gluoncv.data.ImageNet(str(tmp_path))
    root = tmp_path / "Market-1501-v15.09.15"
    for i in range(4):
        save(root / "bounding_box_train" / f"{i}.jpg", picture(draw))
    write(root / "train.txt", "".join(f"{i}.jpg {i}\n" for i in range(4)))
    part = importlib.import_module("gluoncv.data.market1501.label_read")
    trained, checked = part.LabelList(0.5, str(tmp_path))
    reader = importlib.import_module("gluoncv.data.market1501.data_read").ImageTxtDataset
    held(pictures(data), pictures(reader(trained)), pictures(reader(checked)))
    assert data.synsets == ["n1", "n2"]
    attributes = gluoncv.data.ImageNet1kAttr()
    assert attributes.num_class == len(attributes.classes) == 1000


# Batches, samplers and loaders


def test_batches(mx, gluoncv, draw, held):
    batchify = gluoncv.data.batchify
    rows = [draw.rand(n, 5) for n in (3, 1, 2, 4)]
    arrays = [mx.nd.array(r) for r in rows]
    images = [mx.nd.array(draw.rand(3, n, n + 2)) for n in (4, 6, 5, 3)]
    both = batchify.Tuple(batchify.Stack(), batchify.Pad(axis=0, pad_val=-1))
    held(
        *(batchify.Stack()([r[:1] for r in rows]), batchify.Stack()([a[:1] for a in arrays])),
        *(batchify.Pad(pad_val=-1, ret_length=True)(rows), batchify.Pad()(arrays)),
        batchify.Pad(axis=(1, 2), num_shards=2, ret_length=True)(images),
        batchify.Pad()([[1, 2, 3], [4, 5]]),
        *(batchify.Append()(rows), batchify.Append(expand=False)(arrays)),
        both([(r[:1], r) for r in rows]),
    )


def test_samplers(gluoncv, held):
    part = importlib.import_module("gluoncv.data.sampler")
    split = gluoncv.data.SplitSampler(11, 2, 1)
    shuffled = gluoncv.data.ShuffleSplitSampler(12, 3, 2, seed=4)
    keys = [(7 * i) % 13 for i in range(20)]
    buckets = part.SplitSortedBucketSampler(keys, 4, 2, 2, 1, shuffle=True)
    lengths = [len(s) for s in (split, shuffled, buckets)]
    held([*split], [*shuffled], [*shuffled], [[int(i) for i in b] for b in buckets], lengths)


def doubled(x):
    return x * 2


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_of_random_transforms(mx, gluoncv, draw, held, workers):
    data = mx.gluon.data.ArrayDataset(mx.nd.array(draw.rand(6, 3)))
    given = {"batch_size": 2, "interval": 2, "num_workers": workers}
    loader = gluoncv.data.RandomTransformDataLoader([doubled, abs], data, **given)
    held(list(loader))


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_of_detection(mx, gluoncv, draw, held, workers):
    rows = [(mx.nd.array(draw.rand(4, 4, 3)), draw.rand(3, 5).astype("float32")) for _ in range(5)]
    data = mx.gluon.data.SimpleDataset(rows)
    given = {"batch_size": 2, "last_batch": "keep", "num_workers": workers}
    part = importlib.import_module("gluoncv.data.dataloader")
    batches = list(gluoncv.data.DetectionDataLoader(data, **given))
    held(batches, part.tsn_mp_batchify_fn(rows))


def test_padding_of_unequal_labels(mx, gluoncv, draw, held):
    part = importlib.import_module("gluoncv.data.dataloader")
    labels = [draw.rand(n, 5) for n in (3, 1)]
    held(part.default_pad_batchify_fn(labels), part.default_mp_pad_batchify_fn(labels))
