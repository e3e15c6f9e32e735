"""Images: arrays, and batches of changed images."""

import numpy as np

from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.utils.data_utils import Sequence
from braid.tensorflow.python.util.tf_export import keras_export


def _pillow():
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "Image files need Pillow, which is not installed; tf.image.decode_image reads them, too"
        ) from None
    return Image


@keras_export("keras.preprocessing.image.load_img")
def load_img(path, grayscale=False, color_mode="rgb", target_size=None, interpolation="nearest"):
    """An image of Pillow. target_size: (height, width)."""
    image = _pillow().open(path)
    mode = {"grayscale": "L", "rgba": "RGBA", "rgb": "RGB"}["grayscale" if grayscale else color_mode]
    if image.mode != mode:
        image = image.convert(mode)
    if target_size is not None and image.size != (target_size[1], target_size[0]):
        methods = {"nearest": 0, "bilinear": 2, "bicubic": 3, "lanczos": 1, "box": 4, "hamming": 5}
        image = image.resize((target_size[1], target_size[0]), methods[interpolation])
    return image


@keras_export("keras.preprocessing.image.img_to_array")
def img_to_array(img, data_format=None, dtype=None):
    """The array of an image, [height, width, channels] or as data_format says."""
    data_format = data_format or backend.image_data_format()
    x = np.asarray(img, dtype=dtype or backend.floatx())
    if x.ndim == 2:
        x = x[..., None]
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x.transpose(2, 0, 1) if data_format == "channels_first" else x


@keras_export("keras.preprocessing.image.array_to_img")
def array_to_img(x, data_format=None, scale=True, dtype=None):
    """The image of an array. scale: to 0 .. 255."""
    x = np.asarray(x, dtype=dtype or backend.floatx())
    if x.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}"
        )
    if (data_format or backend.image_data_format()) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        x = x / (np.max(x) or 1) * 255
    image = _pillow()
    if x.shape[2] == 1:
        return image.fromarray(x[:, :, 0].astype("uint8"), "L")
    return image.fromarray(x.astype("uint8"), "RGBA" if x.shape[2] == 4 else "RGB")


@keras_export("keras.preprocessing.image.save_img")
def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs):
    """Writes an array as an image file."""
    array_to_img(x, data_format, scale).save(path, format=file_format, **kwargs)


@keras_export("keras.preprocessing.image.Iterator")
class Iterator(Sequence):
    """Batches of numbered things, for ever. Subclasses define _get_batches_of_transformed_samples."""

    def __init__(self, n, batch_size, shuffle, seed):
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array = None

    def _set_index_array(self):
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self):
        return -(-self.n // self.batch_size)

    def __getitem__(self, index):
        if index >= len(self):
            raise ValueError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        rows = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(rows)

    def on_epoch_end(self):
        self._set_index_array()

    def reset(self):
        self.batch_index = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.batch_index == 0:
            self._set_index_array()
        batch = self[self.batch_index]
        self.batch_index = (self.batch_index + 1) % len(self)
        return batch

    next = __next__

    def _get_batches_of_transformed_samples(self, index_array):
        raise NotImplementedError("Iterator._get_batches_of_transformed_samples")


@keras_export("keras.preprocessing.image.NumpyArrayIterator")
class NumpyArrayIterator(Iterator):
    """Batches of changed images of an array, with labels."""

    def __init__(
        self,
        x,
        y,
        image_data_generator,
        batch_size=32,
        shuffle=False,
        sample_weight=None,
        seed=None,
        subset=None,
        **kwargs,
    ):
        if kwargs.get("save_to_dir"):
            raise NotImplementedError("ImageDataGenerator.flow(save_to_dir=): use save_img")
        x = np.asarray(x, dtype=backend.floatx())
        y = None if y is None else np.asarray(y)
        if y is not None and len(x) != len(y):
            raise ValueError(
                f"`x` (images tensor) and `y` (labels) should have the same length. Found: x.shape = "
                f"{x.shape}, y.shape = {np.shape(y)}"
            )
        if subset is not None:
            at = int(len(x) * image_data_generator._validation_split)
            rows = slice(0, at) if subset == "validation" else slice(at, None)
            x, y = x[rows], None if y is None else y[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        if x.ndim != 4:
            raise ValueError(
                f"Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                f"{x.shape}"
            )
        self.x, self.y, self.sample_weight = x, y, sample_weight
        self.image_data_generator = image_data_generator
        super().__init__(len(x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array):
        generator = self.image_data_generator
        batch = np.stack([generator.standardize(generator.random_transform(self.x[i])) for i in index_array])
        if self.y is None:
            return batch
        if self.sample_weight is not None:
            return batch, self.y[index_array], np.asarray(self.sample_weight)[index_array]
        return batch, self.y[index_array]


@keras_export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Batches of randomly changed images: shifts, flips, brightness of channels; scaling and means.

    Rotations, shears, zooms and directories of files are refused: tf.image and tf.data do these.
    """

    def __init__(
        self,
        featurewise_center=False,
        samplewise_center=False,
        featurewise_std_normalization=False,
        samplewise_std_normalization=False,
        zca_whitening=False,
        zca_epsilon=1e-6,
        rotation_range=0,
        width_shift_range=0.0,
        height_shift_range=0.0,
        brightness_range=None,
        shear_range=0.0,
        zoom_range=0.0,
        channel_shift_range=0.0,
        fill_mode="nearest",
        cval=0.0,
        horizontal_flip=False,
        vertical_flip=False,
        rescale=None,
        preprocessing_function=None,
        data_format=None,
        validation_split=0.0,
        dtype=None,
    ):
        for name, value in (
            ("zca_whitening", zca_whitening),
            ("rotation_range", rotation_range),
            ("brightness_range", brightness_range),
            ("shear_range", shear_range),
            ("zoom_range", zoom_range),
        ):
            if value:
                raise NotImplementedError(f"ImageDataGenerator({name}=): use tf.image in a tf.data.Dataset")
        if fill_mode not in ("nearest", "constant"):
            raise NotImplementedError(
                f"ImageDataGenerator(fill_mode={fill_mode!r}): only 'nearest' and 'constant'"
            )
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip, self.rescale = horizontal_flip, vertical_flip, rescale
        self.preprocessing_function = preprocessing_function
        self.data_format = data_format or backend.image_data_format()
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}"
            )
        self._validation_split = validation_split
        self.mean = self.std = None

    def flow(
        self, x, y=None, batch_size=32, shuffle=True, sample_weight=None, seed=None, subset=None, **kwargs
    ):
        """An iterator over batches (images, labels)."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size=batch_size,
            shuffle=shuffle,
            sample_weight=sample_weight,
            seed=seed,
            subset=subset,
            **kwargs,
        )

    def flow_from_directory(self, *args, **kwargs):
        raise NotImplementedError(
            "ImageDataGenerator.flow_from_directory: use tf.data and tf.image.decode_image"
        )

    flow_from_dataframe = flow_from_directory

    def standardize(self, x):
        """The image, scaled and normalized."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        for wanted, value, change in (
            (self.featurewise_center, self.mean, lambda a, m: a - m),
            (self.featurewise_std_normalization, self.std, lambda a, s: a / (s + 1e-6)),
        ):
            if wanted:
                if value is None:
                    raise ValueError(
                        "This ImageDataGenerator specifies a normalization of features: call "
                        "`.fit(numpy_data)` first"
                    )
                x = change(x, value)
        return x

    def random_transform(self, x, seed=None):
        """The image, changed at random."""
        if seed is not None:
            np.random.seed(seed)
        row, column = self.row_axis - 1, self.col_axis - 1
        for axis, limit in ((row, self.height_shift_range), (column, self.width_shift_range)):
            if limit:
                by = np.random.uniform(-limit, limit) * (x.shape[axis] if np.max(limit) < 1 else 1)
                x = self._shifted(x, axis, int(round(float(by))))
        if self.channel_shift_range:
            by = np.random.uniform(-self.channel_shift_range, self.channel_shift_range)
            x = np.clip(x + by, x.min(), x.max())
        if self.horizontal_flip and np.random.random() < 0.5:
            x = np.flip(x, column)
        if self.vertical_flip and np.random.random() < 0.5:
            x = np.flip(x, row)
        return x

    def _shifted(self, x, axis, by):
        rows = np.arange(x.shape[axis]) + by
        inside = np.clip(rows, 0, x.shape[axis] - 1)
        moved = np.take(x, inside, axis)
        if self.fill_mode == "constant":
            shape = [1] * x.ndim
            shape[axis] = -1
            moved = np.where((rows == inside).reshape(shape), moved, self.cval)
        return moved

    def fit(self, x, augment=False, rounds=1, seed=None):
        """Takes mean and deviation of images for the normalization of features."""
        x = np.asarray(x, dtype=backend.floatx())
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        axes = (0, self.row_axis, self.col_axis)
        shape = [1, 1, 1]
        shape[self.channel_axis - 1] = x.shape[self.channel_axis]
        if self.featurewise_center:
            self.mean = np.mean(x, axis=axes).reshape(shape)
            x = x - self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=axes).reshape(shape)
