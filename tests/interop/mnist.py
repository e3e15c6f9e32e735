# Images of digits as tensors: images are floats from 0 to 1, labels are one-hot vectors or digits. MNIST's
# files where BRAID_MNIST_DIR names them, else patterns that are as easy to tell apart.
import gzip
import os
import random
import struct
from collections import namedtuple
from pathlib import Path

from graphs import FLOAT, INT32, INT64, tensor, tensor_of_bytes

PIXELS, CLASSES = 28 * 28, 10
BRIGHTNESS = [struct.pack("<f", value / 255) for value in range(256)]
ONE_HOT = [struct.pack("<10f", *(float(k == label) for k in range(CLASSES))) for label in range(CLASSES)]

Batch = namedtuple("Batch", "images labels digits rows")


class Examples:
    """`count` images [784] of bytes and their digits, dealt in batches."""

    def __init__(self, images, digits):
        self.count = len(images)
        self.images = [b"".join([BRIGHTNESS[pixel] for pixel in image]) for image in images]
        self.digits = digits

    def batch(self, size, number):
        """Batch `number` of the endless row of batches: images [size, 784], labels [size, 10], digits and rows [size]."""
        first = number * size
        rows = [i % self.count for i in range(first, first + size)]
        digits = [self.digits[i] for i in rows]
        return Batch(
            tensor_of_bytes(b"".join([self.images[i] for i in rows]), [size, PIXELS], FLOAT),
            tensor_of_bytes(b"".join([ONE_HOT[digit] for digit in digits]), [size, CLASSES], FLOAT),
            tensor(digits, INT32),
            tensor(rows, INT64),
        )


def examples(part, count):
    """The first `count` examples of "train" or "t10k" of MNIST in BRAID_MNIST_DIR, or `count` patterns without it."""
    folder = os.environ.get("BRAID_MNIST_DIR")
    if not folder:
        return Examples(*patterns(part, count))
    images = records(folder, part, "images-idx3", 16, PIXELS, count)
    return Examples(images, [label[0] for label in records(folder, part, "labels-idx1", 8, 1, count)])


def records(folder, part, what, header, size, count):
    plain = Path(folder) / f"{part}-{what}-ubyte"
    packed = plain.with_name(plain.name + ".gz")
    with gzip.open(packed) if packed.exists() else open(plain, "rb") as f:
        f.seek(header)
        content = f.read(count * size)
    return [content[i : i + size] for i in range(0, len(content), size)]


def patterns(part, count):
    """Each digit is 100 bright pixels of its own; each image shows most of them, beside some noise."""
    rng = random.Random("patterns")
    shapes = [rng.sample(range(PIXELS), 100) for _ in range(CLASSES)]
    rng.seed(part)
    images, digits = [], [rng.randrange(CLASSES) for _ in range(count)]
    for digit in digits:
        image = bytearray(PIXELS)
        for pixel in rng.sample(shapes[digit], 80) + rng.sample(range(PIXELS), 40):
            image[pixel] = rng.randrange(128, 256)
        images.append(bytes(image))
    return images, digits
