# Summaries from a Braid server, byte for byte what protobuf's library writes of the same, with TensorFlow's
# buckets.
# labels: concurrent
# timeout: 120
import bisect
import random
import struct
import sys
import zlib

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import DOUBLE, FLOAT, INT32, UINT8, const, node, tensor, tensor_of_bytes
from protos import summary_pb2


def setUpModule():
    global cluster
    cluster = Cluster(worker=1)


def tearDownModule():
    cluster.stop()


def default_limits():
    """Upper limits of TensorFlow's buckets: a tenth apart, on both sides of zero."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return [-x for x in reversed(positive)] + [0.0] + positive


def histogram_of(values):
    limits = default_limits()
    counts = [0.0] * len(limits)
    h = summary_pb2.HistogramProto(min=sys.float_info.max, max=-sys.float_info.max)
    for v in values:
        counts[bisect.bisect_right(limits, v)] += 1
        h.min, h.max = min(h.min, v), max(h.max, v)
        h.num += 1
        h.sum += v
        h.sum_squares += v * v
    for i, count in enumerate(counts):
        if count == 0 and h.bucket and h.bucket[-1] == 0:
            h.bucket_limit[-1] = limits[i]  # runs of empty buckets are one
        else:
            h.bucket_limit.append(limits[i])
            h.bucket.append(count)
    return h


def values_of(values, dtype):
    return tensor(values, dtype) if values else tensor_of_bytes(b"", [0], dtype)


def as_floats(values):
    return [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]


def pixels_of(png):
    """Decodes an 8-bit PNG: width, height, samples a pixel, rows."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            width, height, depth, color, *_ = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    assert depth == 8
    samples = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    return width, height, samples, unfilter(zlib.decompress(data), width * samples, height, samples)


def unfilter(data, stride, height, samples):
    rows, above = [], [0] * stride
    for y in range(height):
        kind, *row = data[y * (stride + 1) : (y + 1) * (stride + 1)]
        for x in range(stride):
            a, b, c = (
                (row[x - samples] if x >= samples else 0),
                above[x],
                (above[x - samples] if x >= samples else 0),
            )
            p = a + b - c
            paeth = min((a, b, c), key=lambda v: abs(p - v))
            row[x] = (row[x] + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
        rows.append(row)
        above = row
    return rows


class SummaryTest(InteropTest):
    def check(self, nodes, expected):
        self.assertEqual(Session(cluster.master(), *nodes).run("s:0"), expected.SerializeToString())

    def test_scalars(self):
        expected = summary_pb2.Summary()
        expected.value.add(tag="loss", simple_value=0.1)
        expected.value.add(tag="", simple_value=0.0)
        expected.value.add(tag="näme", simple_value=-3.5)
        self.check(
            [
                const("tags", ["loss", "", "näme"]),
                const("v", [0.1, 0.0, -3.5]),
                node("s", "ScalarSummary", "tags", "v", T=FLOAT),
            ],
            expected,
        )

    def test_histograms(self):
        draw = random.Random(7)
        wide = [draw.choice((-1, 1)) * 10.0 ** draw.uniform(-14, 25) for _ in range(2000)]
        for name, values, dtype in (
            ("normal", as_floats(draw.gauss(0, 1) for _ in range(3000)), FLOAT),
            ("wide", wide, DOUBLE),
            ("zeros", [0.0] * 5, FLOAT),
            ("limits", default_limits()[1:-1:50], DOUBLE),
            ("integers", [-1, 0, 1, 2**31 - 1], INT32),
            ("nothing", [], FLOAT),
        ):
            with self.subTest(name):
                expected = summary_pb2.Summary()
                expected.value.add(tag=name).histo.CopyFrom(histogram_of(map(float, values)))
                self.check(
                    [
                        const("tag", name),
                        node("v", "Const", dtype=dtype, value=values_of(values, dtype)),
                        node("s", "HistogramSummary", "tag", "v", T=dtype),
                    ],
                    expected,
                )

    def test_merged(self):
        expected = summary_pb2.Summary()
        expected.value.add(tag="a", simple_value=1.0)
        expected.value.add(tag="h").histo.CopyFrom(histogram_of([1.0, 2.0]))
        self.check(
            [
                const("a", "a"),
                const("h", "h"),
                const("one", 1.0),
                const("two", [1.0, 2.0]),
                node("scalar", "ScalarSummary", "a", "one", T=FLOAT),
                node("histogram", "HistogramSummary", "h", "two", T=FLOAT),
                node("s", "MergeSummary", "scalar", "histogram", N=2),
            ],
            expected,
        )

    def test_images(self):
        draw = random.Random(3)
        for samples in 1, 3, 4:
            with self.subTest(samples=samples):
                image = [
                    [[[draw.randrange(256) for _ in range(samples)] for _ in range(7)] for _ in range(5)]
                ]
                session = Session(
                    cluster.master(),
                    const("tag", "im"),
                    const("v", image, UINT8),
                    node("s", "ImageSummary", "tag", "v", T=UINT8, max_images=1),
                )
                summary = summary_pb2.Summary.FromString(session.run("s:0"))
                self.assertEqual([v.tag for v in summary.value], ["im/image"])
                got = summary.value[0].image
                self.assertEqual((got.width, got.height, got.colorspace), (7, 5, samples))
                rows = [[s for pixel in row for s in pixel] for row in image[0]]
                self.assertEqual(pixels_of(got.encoded_image_string), (7, 5, samples, rows))


if __name__ == "__main__":
    main()
