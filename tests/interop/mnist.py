# MNIST from ../shared/mnist as tensors: images of floats from 0 to 1, labels one-hot or as digits.
import gzip
import struct
from collections import namedtuple
from pathlib import Path

from graphs import FLOAT, INT32, INT64, tensor, tensor_of_bytes

PIXELS, CLASSES = 28 * 28, 10
BRIGHTNESS = [struct.pack("<f", value / 255) for value in range(256)]
ONE_HOT = [struct.pack("<10f", *(float(k == label) for k in range(CLASSES))) for label in range(CLASSES)]

Batch = namedtuple("Batch", "images labels digits rows")


class Mnist:
    """The first `count` examples of "train" or "t10k"."""

    def __init__(self, folder, part, count):
        self.count = count
        images = chunks(folder, part, "images-idx3", 16, PIXELS, count)
        labels = chunks(folder, part, "labels-idx1", 8, 1, count)
        self.images = [b"".join([BRIGHTNESS[pixel] for pixel in image]) for image in images]
        self.digits = [label[0] for label in labels]

    def batch(self, size, number):
        """Batch `number` of the endless row of batches: images [size, 784], labels [size, 10], digits and rows [size]."""
        first = number * size
        rows = [i % self.count for i in range(first, first + size)]
        digits = [self.digits[i] for i in rows]
        return Batch(tensor_of_bytes(b"".join([self.images[i] for i in rows]), [size, PIXELS], FLOAT),
                     tensor_of_bytes(b"".join([ONE_HOT[digit] for digit in digits]), [size, CLASSES], FLOAT),
                     tensor(digits, INT32), tensor(rows, INT64))


def chunks(folder, part, what, header, size, count):
    with gzip.open(Path(folder) / f"{part}-{what}-ubyte.gz") as f:
        f.seek(header)
        content = f.read(count * size)
    return [content[i:i + size] for i in range(0, len(content), size)]
