"""Images: arrays, and batches of changed images."""

import io
import os
import warnings

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


_RESIZE = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
_FORMATS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")


@keras_export("keras.preprocessing.image.load_img")
def load_img(path, grayscale=False, color_mode="rgb", target_size=None, interpolation="nearest"):
    """An image of Pillow. target_size: (height, width)."""
    color_mode = "grayscale" if grayscale else color_mode
    modes = {"grayscale": ("L", "I;16", "I"), "rgba": ("RGBA",), "rgb": ("RGB",)}
    if color_mode not in modes:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    with open(path, "rb") as file:
        image = _pillow().open(io.BytesIO(file.read()))
    if image.mode not in modes[color_mode]:
        image = image.convert(modes[color_mode][0])
    if target_size is not None and image.size != (target_size[1], target_size[0]):
        if interpolation not in _RESIZE:
            raise ValueError(
                f"Invalid interpolation method {interpolation} specified. Supported methods are "
                + ", ".join(_RESIZE)
            )
        image = image.resize((target_size[1], target_size[0]), _RESIZE[interpolation])
    return image


def _layout(data_format):
    data_format = data_format or backend.image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    return data_format


@keras_export("keras.preprocessing.image.img_to_array")
def img_to_array(img, data_format=None, dtype=None):
    """The array of an image, [height, width, channels] or as data_format says."""
    data_format = _layout(data_format)
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
    if _layout(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        x = x / (np.max(x) or 1) * 255
    modes = {1: "L", 3: "RGB", 4: "RGBA"}
    if x.shape[2] not in modes:
        raise ValueError(f"Unsupported channel number: {x.shape[2]}")
    x, mode = (x[:, :, 0] if x.shape[2] == 1 else x), modes[x.shape[2]]
    if mode == "L" and np.max(x) > 255:
        return _pillow().fromarray(x.astype("int32"), "I")
    return _pillow().fromarray(x.astype("uint8"), mode)


@keras_export("keras.preprocessing.image.save_img")
def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs):
    """Writes an array as an image file."""
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and (file_format in ("jpg", "jpeg") or str(path).endswith((".jpg", ".jpeg"))):
        image = image.convert("RGB")
    image.save(path, format=file_format, **kwargs)


# Changes of images.


def _sampled(x, matrix, offset, fill_mode, cval, order):
    """Planes [channels, rows, columns] at matrix @ (row, column) + offset, by bilinear interpolation or nearest."""
    sizes = x.shape[1:]
    places = np.indices(sizes, dtype=np.float64).reshape(2, -1)
    places = matrix @ places + np.asarray(offset, np.float64)[:, None]
    inside = np.ones(places.shape[1], bool)
    for axis, n in enumerate(sizes):
        at = places[axis]
        if fill_mode == "constant":
            inside &= (at >= 0) & (at <= n - 1)
        elif fill_mode == "reflect":
            at = np.abs((at + 0.5) % (2 * n))
            at = np.where(at > n, 2 * n - at, at) - 0.5
        elif fill_mode == "wrap":
            at = at % max(n - 1, 1)
        elif fill_mode != "nearest":
            raise ValueError(f"Unknown fill_mode: {fill_mode}")
        places[axis] = np.clip(at, 0, n - 1)
    if order == 0:
        rows, columns = np.floor(places + 0.5).astype(int)
        result = x[:, rows, columns]
    elif order == 1:
        low = np.floor(places).astype(int)
        part = places - low
        (r0, c0), (r1, c1) = low, np.minimum(low + 1, np.array(sizes)[:, None] - 1)
        result = (x[:, r0, c0] * (1 - part[1]) + x[:, r0, c1] * part[1]) * (1 - part[0])
        result = result + (x[:, r1, c0] * (1 - part[1]) + x[:, r1, c1] * part[1]) * part[0]
    else:
        raise NotImplementedError(f"interpolation of images of order {order}: only 0 and 1")
    return np.where(inside, result, cval).reshape(x.shape).astype(x.dtype)


@keras_export("keras.preprocessing.image.apply_affine_transform")
def apply_affine_transform(
    x,
    theta=0,
    tx=0,
    ty=0,
    shear=0,
    zx=1,
    zy=1,
    row_axis=0,
    col_axis=1,
    channel_axis=2,
    fill_mode="nearest",
    cval=0.0,
    order=1,
):
    """The image [rows, columns, channels], in the order that the axes say, rotated, shifted, sheared, zoomed.

    theta, shear: degrees. tx, ty: rows and columns. zx, zy: factors of rows and columns. fill_mode: what is
    outside: "nearest", "reflect", "wrap", or "constant" for cval. order: of the interpolation, 0 or 1.
    """
    matrix = np.eye(3)
    if theta:
        angle = np.deg2rad(theta)
        sine, cosine = np.sin(angle), np.cos(angle)
        matrix = matrix @ [[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]
    if tx or ty:
        matrix = matrix @ [[1, 0, tx], [0, 1, ty], [0, 0, 1]]
    if shear:
        angle = np.deg2rad(shear)
        matrix = matrix @ [[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]]
    if zx != 1 or zy != 1:
        matrix = matrix @ np.diag([zx, zy, 1.0])
    if np.array_equal(matrix, np.eye(3)):
        return x
    # The middle stays where it is, as TensorFlow 1.15 takes it.
    row, column = x.shape[row_axis] / 2 + 0.5, x.shape[col_axis] / 2 + 0.5
    there = np.array([[1, 0, row], [0, 1, column], [0, 0, 1]])
    back = np.array([[1, 0, -row], [0, 1, -column], [0, 0, 1]])
    matrix = there @ matrix @ back
    planes = np.moveaxis(x, channel_axis, 0)
    planes = _sampled(planes, matrix[:2, :2], matrix[:2, 2], fill_mode, cval, order)
    return np.moveaxis(planes, 0, channel_axis)


def _changed(x, row_axis, col_axis, channel_axis, fill_mode, cval, order, **change):
    del row_axis, col_axis  # TensorFlow takes the first two axes in any case
    return apply_affine_transform(
        x, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval, order=order, **change
    )


@keras_export("keras.preprocessing.image.random_rotation")
def random_rotation(
    x, rg, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
):
    """The image, rotated by up to rg degrees."""
    rest = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    return _changed(x, *rest, theta=np.random.uniform(-rg, rg))


@keras_export("keras.preprocessing.image.random_shift")
def random_shift(
    x, wrg, hrg, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
):
    """The image, shifted by up to the fraction wrg of its width and hrg of its height."""
    rest = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return _changed(x, *rest, tx=tx, ty=ty)


@keras_export("keras.preprocessing.image.random_shear")
def random_shear(
    x, intensity, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, interpolation_order=1
):
    """The image, sheared by up to `intensity` degrees."""
    rest = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    return _changed(x, *rest, shear=np.random.uniform(-intensity, intensity))


@keras_export("keras.preprocessing.image.random_zoom")
def random_zoom(
    x,
    zoom_range,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    interpolation_order=1,
):
    """The image, zoomed by factors between the two of zoom_range."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    rest = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(*zoom_range, 2)
    return _changed(x, *rest, zx=zx, zy=zy)


@keras_export("keras.preprocessing.image.apply_channel_shift")
def apply_channel_shift(x, intensity, channel_axis=0):
    """The image with `intensity` added to all values, between the smallest and the largest there were."""
    del channel_axis
    return np.clip(x + intensity, np.min(x), np.max(x))


@keras_export("keras.preprocessing.image.random_channel_shift")
def random_channel_shift(x, intensity_range, channel_axis=0):
    """apply_channel_shift by up to intensity_range."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


@keras_export("keras.preprocessing.image.apply_brightness_shift")
def apply_brightness_shift(x, brightness):
    """The image, as bright as Pillow makes it: 1 leaves it as it is."""
    _pillow()
    from PIL import ImageEnhance

    return img_to_array(ImageEnhance.Brightness(array_to_img(x)).enhance(brightness))


@keras_export("keras.preprocessing.image.random_brightness")
def random_brightness(x, brightness_range):
    """apply_brightness_shift by a number between the two of brightness_range."""
    if len(brightness_range) != 2:
        raise ValueError(
            f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
        )
    return apply_brightness_shift(x, np.random.uniform(*brightness_range))


def flip_axis(x, axis):
    return np.flip(np.asarray(x), axis)


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
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        dtype=None,
    ):
        self._saved = {"save_to_dir": save_to_dir, "save_prefix": save_prefix, "save_format": save_format}
        self.dtype = dtype or backend.floatx()
        self.data_format = _layout(data_format or image_data_generator.data_format)
        if isinstance(x, (tuple, list)) and len(x) == 2:  # (images, other inputs)
            x, misc = x
            self.x_misc = [np.asarray(m) for m in (misc if isinstance(misc, list) else [misc])]
            if any(len(m) != len(x) for m in self.x_misc):
                raise ValueError(
                    "All of the arrays in `x` should have the same length. Found a pair with: len(x[0]) = "
                    f"{len(x)}, len(x[?]) = {[len(m) for m in self.x_misc]}"
                )
        else:
            self.x_misc = []
        x = np.asarray(x, dtype=self.dtype)
        y = None if y is None else np.asarray(y)
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        for what, given in (("labels", y), ("sample_weight", sample_weight)):
            if given is not None and len(x) != len(given):
                raise ValueError(
                    f"`x` (images tensor) and `{'y` (labels)' if what == 'labels' else what + '`'} should have "
                    f"the same length. Found: x.shape = {x.shape}, {what} shape = {given.shape}"
                )
        if subset is not None:
            if subset not in ("training", "validation"):
                raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
            at = int(len(x) * image_data_generator._validation_split)
            rows = slice(0, at) if subset == "validation" else slice(at, None)
            if y is not None and not np.array_equal(np.unique(y[:at]), np.unique(y[at:])):
                raise ValueError(
                    "Training and validation subsets have different number of classes after the split. If your "
                    "numpy arrays are sorted by the label, you might want to shuffle them."
                )
            x, y = x[rows], None if y is None else y[rows]
            self.x_misc = [m[rows] for m in self.x_misc]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        if x.ndim != 4:
            raise ValueError(
                f"Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                f"{x.shape}"
            )
        channels = x.shape[3 if self.data_format == "channels_last" else 1]
        if channels not in (1, 3, 4):
            warnings.warn(
                f"NumpyArrayIterator is set to use the data format convention {self.data_format!r}, i.e. "
                f"expected either 1, 3, or 4 channels, but was passed an array with shape {x.shape}.",
                stacklevel=3,
            )
        self.x, self.y, self.sample_weight = x, y, sample_weight
        self.image_data_generator = image_data_generator
        super().__init__(len(x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array):
        generator = self.image_data_generator
        images = [
            generator.standardize(generator.random_transform(self.x[i].astype(self.dtype)))
            for i in index_array
        ]
        batch = np.stack(images).astype(self.dtype)
        _save(batch, index_array, self.data_format, self._saved)
        inputs = [batch] + [m[index_array] for m in self.x_misc] if self.x_misc else batch
        if self.y is None:
            return (inputs,) if self.x_misc else inputs
        if self.sample_weight is not None:
            return inputs, self.y[index_array], self.sample_weight[index_array]
        return inputs, self.y[index_array]


def _save(batch, index_array, data_format, where):
    """Writes the images of a batch into a directory, if there is one."""
    if where["save_to_dir"]:
        for image, i in zip(batch, index_array):
            name = (
                f"{where['save_prefix'] or ''}_{i}_{np.random.randint(10**7)}.{where['save_format'] or 'png'}"
            )
            array_to_img(image, data_format).save(os.path.join(where["save_to_dir"], name))


class _FilesIterator(Iterator):
    """Batches of images of files. Subclasses set filepaths, and labels as class_mode says."""

    sample_weight = None

    def _settings(
        self,
        image_data_generator,
        target_size=(256, 256),
        color_mode="rgb",
        data_format=None,
        subset=None,
        interpolation="nearest",
        dtype=None,
        **saved,
    ):
        self.image_data_generator = image_data_generator
        self.target_size, self.color_mode = tuple(target_size), color_mode
        channels = {"rgba": 4, "rgb": 3, "grayscale": 1}.get(color_mode)
        if channels is None:
            raise ValueError("Invalid color mode:", color_mode, '; expected "rgb", "rgba", or "grayscale".')
        self.data_format = _layout(data_format)
        first = self.data_format == "channels_first"
        self.image_shape = (channels,) + self.target_size if first else self.target_size + (channels,)
        self.interpolation, self.dtype = interpolation, dtype or backend.floatx()
        self._saved = {k: saved.pop(k, None) for k in ("save_to_dir", "save_prefix", "save_format")}
        self.subset, self.split = subset, None
        if subset is not None:
            at = image_data_generator._validation_split
            parts = {"validation": (0, at), "training": (at, 1)}
            if subset not in parts:
                raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
            self.split = parts[subset]

    def _part(self, things):
        """The things of the subset."""
        if self.split is None:
            return things
        return things[int(self.split[0] * len(things)) : int(self.split[1] * len(things))]

    def _get_batches_of_transformed_samples(self, index_array):
        batch = np.zeros((len(index_array),) + self.image_shape, dtype=self.dtype)
        for i, j in enumerate(index_array):
            with load_img(
                self.filepaths[j],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            ) as image:
                x = img_to_array(image, data_format=self.data_format)
            if self.image_data_generator:
                x = self.image_data_generator.standardize(self.image_data_generator.random_transform(x))
            batch[i] = x
        _save(batch, index_array, self.data_format, self._saved)
        mode = self.class_mode
        if mode is None:
            return batch
        if mode == "input":
            labels = batch.copy()
        elif mode in ("binary", "sparse"):
            labels = np.asarray([self.classes[j] for j in index_array], self.dtype)
        elif mode == "categorical":
            labels = np.zeros((len(batch), len(self.class_indices)), dtype=self.dtype)
            for i, j in enumerate(index_array):
                labels[i, self.classes[j]] = 1.0
        elif mode == "multi_output":
            labels = [output[index_array] for output in self.labels]
        else:
            labels = self.labels[index_array]
        if self.sample_weight is None:
            return batch, labels
        return batch, labels, self.sample_weight[index_array]


def _check_class_mode(mode, allowed):
    if mode not in allowed:
        raise ValueError(f"Invalid class_mode: {mode}; expected one of: {set(allowed)}")


@keras_export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(_FilesIterator):
    """Batches of the images in the directories of a directory, one for each class."""

    def __init__(
        self,
        directory,
        image_data_generator,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        follow_links=False,
        subset=None,
        interpolation="nearest",
        dtype=None,
    ):
        self._settings(
            image_data_generator,
            target_size,
            color_mode,
            data_format,
            subset,
            interpolation,
            dtype,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
        )
        self.directory, self.class_mode = directory, class_mode
        _check_class_mode(class_mode, ("categorical", "binary", "sparse", "input", None))
        if not classes:
            classes = sorted(d for d in os.listdir(directory) if os.path.isdir(os.path.join(directory, d)))
        self.num_classes = len(classes)
        self.class_indices = {name: i for i, name in enumerate(classes)}
        self.filenames, numbers = [], []
        for name, number in self.class_indices.items():
            found = self._part(self._files(name, follow_links))
            self.filenames += found
            numbers += [number] * len(found)
        self.samples = len(self.filenames)
        self.classes = np.asarray(numbers, "int32")
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        self.filepaths = [os.path.join(directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _files(self, name, follow_links):
        """The images of a class, by their paths from the directory."""
        found = []
        top = os.path.join(self.directory, name)
        for root, _, files in sorted(os.walk(top, followlinks=follow_links), key=lambda entry: entry[0]):
            inside = os.path.relpath(root, self.directory)
            found += [os.path.join(inside, f) for f in sorted(files) if f.lower().endswith(_FORMATS)]
        return found

    @property
    def labels(self):
        return self.classes


class DataFrameIterator(_FilesIterator):
    """Batches of the images that a column of a DataFrame of pandas names, with labels of other columns."""

    def __init__(
        self,
        dataframe,
        directory=None,
        image_data_generator=None,
        x_col="filename",
        y_col="class",
        weight_col=None,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        interpolation="nearest",
        dtype=None,
        validate_filenames=True,
    ):
        self._settings(
            image_data_generator,
            target_size,
            color_mode,
            data_format,
            subset,
            interpolation,
            dtype,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
        )
        _check_class_mode(
            class_mode, ("binary", "categorical", "input", "multi_output", "raw", "sparse", None)
        )
        self.directory, self.class_mode = directory or "", class_mode
        if class_mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(
                f'If class_mode="{class_mode}", y_col must be a list. Received {type(y_col).__name__}.'
            )
        if not all(isinstance(name, str) for name in dataframe[x_col]):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        path = lambda name: os.path.join(self.directory, name)  # noqa: E731
        frame = dataframe
        if validate_filenames:
            valid = [os.path.isfile(path(n)) and n.lower().endswith(_FORMATS) for n in frame[x_col]]
            if not all(valid):
                warnings.warn(
                    f'Found {valid.count(False)} invalid image filename(s) in x_col="{x_col}". These '
                    "filename(s) will be ignored.",
                    stacklevel=3,
                )
            frame = frame[np.asarray(valid, bool)]
        has_classes = class_mode in ("binary", "categorical", "sparse")
        if has_classes:
            listed = lambda v: list(v) if isinstance(v, (list, tuple)) else [v]  # noqa: E731
            if class_mode != "categorical" and not all(isinstance(v, str) for v in frame[y_col]):
                raise TypeError(
                    f'If class_mode="{class_mode}", y_col="{y_col}" column values must be strings.'
                )
            classes = sorted(set(classes) if classes else {c for v in frame[y_col] for c in listed(v)})
            if class_mode == "binary" and len(classes) != 2:
                raise ValueError(
                    f'If class_mode="binary" there must be 2 classes. Found {len(classes)} classes.'
                )
            self.class_indices = {name: i for i, name in enumerate(classes)}
            kept = [any(c in self.class_indices for c in listed(v)) for v in frame[y_col]]
            frame = frame[np.asarray(kept, bool)]
        if self.split is not None:
            frame = frame.iloc[int(self.split[0] * len(frame)) : int(self.split[1] * len(frame))]
        if has_classes:
            of = self.class_indices
            self.classes = [
                [of[c] for c in v if c in of] if isinstance(v, (list, tuple)) else of[v] for v in frame[y_col]
            ]
        self.filenames = frame[x_col].tolist()
        self.filepaths = [path(name) for name in self.filenames]
        self.sample_weight = frame[weight_col].values if weight_col else None
        if class_mode == "multi_output":
            self._targets = [np.array(frame[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self._targets = frame[y_col].values
        self.samples = len(self.filenames)
        note = f"Found {self.samples} {'' if validate_filenames else 'non-'}validated image filenames"
        print(note + (f" belonging to {len(self.class_indices)} classes." if has_classes else "."))
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def labels(self):
        return self._targets if self.class_mode in ("multi_output", "raw") else self.classes


@keras_export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Batches of randomly changed images, of arrays or files.

    featurewise_*, samplewise_*: means and deviations to take away, of all images or of each.
    zca_whitening: whether correlations are taken away, too. *_range: how much images are rotated and sheared
    (degrees), shifted (a fraction below 1, else pixels), made brighter, zoomed, and how much is added to
    channels. fill_mode, cval: what is outside. rescale: a factor. validation_split: the part that
    subset="validation" is.
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
        interpolation_order=1,
    ):
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.brightness_range, self.interpolation_order = brightness_range, interpolation_order
        self.dtype = dtype or backend.floatx()
        if np.isscalar(zoom_range):
            self.zoom_range = [1 - zoom_range, 1 + zoom_range]
        elif len(zoom_range) == 2:
            self.zoom_range = [zoom_range[0], zoom_range[1]]
        else:
            raise ValueError(
                "`zoom_range` should be a float or a tuple or list of two floats. Received: " f"{zoom_range}"
            )
        if brightness_range is not None and (
            not isinstance(brightness_range, (tuple, list)) or len(brightness_range) != 2
        ):
            raise ValueError(
                f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
            )
        if zca_whitening and not featurewise_center:
            featurewise_center = True
            warnings.warn(
                "This ImageDataGenerator specifies `zca_whitening`, which overrides setting of "
                "`featurewise_center`.",
                stacklevel=2,
            )
        if featurewise_std_normalization and not zca_whitening and not featurewise_center:
            featurewise_center = True
        if samplewise_std_normalization and not samplewise_center:
            samplewise_center = True
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip, self.rescale = horizontal_flip, vertical_flip, rescale
        self.preprocessing_function = preprocessing_function
        if data_format is not None and data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                '`data_format` should be `"channels_last"` (channel after row and column) or '
                f'`"channels_first"` (channel before row and column). Received: {data_format}'
            )
        self.data_format = _layout(data_format)
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}"
            )
        self._validation_split = validation_split
        self.mean = self.std = self.principal_components = None

    def flow(
        self,
        x,
        y=None,
        batch_size=32,
        shuffle=True,
        sample_weight=None,
        seed=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
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
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            dtype=self.dtype,
        )

    def flow_from_directory(
        self,
        directory,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        follow_links=False,
        subset=None,
        interpolation="nearest",
    ):
        """An iterator over batches of the images in a directory; see DirectoryIterator."""
        return DirectoryIterator(
            directory,
            self,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode=class_mode,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            follow_links=follow_links,
            subset=subset,
            interpolation=interpolation,
            dtype=self.dtype,
        )

    def flow_from_dataframe(
        self,
        dataframe,
        directory=None,
        x_col="filename",
        y_col="class",
        weight_col=None,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        interpolation="nearest",
        validate_filenames=True,
        **kwargs,
    ):
        """An iterator over batches of the images that a DataFrame names; see DataFrameIterator."""
        for old in ("has_ext", "sort", "drop_duplicates"):
            kwargs.pop(old, None)
        return DataFrameIterator(
            dataframe,
            directory,
            self,
            x_col=x_col,
            y_col=y_col,
            weight_col=weight_col,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode="raw" if class_mode == "other" else class_mode,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            interpolation=interpolation,
            dtype=self.dtype,
            validate_filenames=validate_filenames,
            **kwargs,
        )

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
        for setting, value, change in (
            ("featurewise_center", self.mean, lambda a, m: a - m),
            ("featurewise_std_normalization", self.std, lambda a, s: a / (s + 1e-6)),
            ("zca_whitening", self.principal_components, _whitened),
        ):
            if not getattr(self, setting):
                continue
            if value is not None:
                x = change(x, value)
            else:
                warnings.warn(
                    f"This ImageDataGenerator specifies `{setting}`, but it hasn't been fit on any training "
                    "data. Fit it first by calling `.fit(numpy_data)`.",
                    stacklevel=2,
                )
        return x

    def get_random_transform(self, img_shape, seed=None):
        """A dict that says how an image is changed: theta, tx, ty, shear, zx, zy, flip_horizontal,
        flip_vertical, channel_shift_intensity, brightness.
        """
        if seed is not None:
            np.random.seed(seed)
        uniform = np.random.uniform
        change = {"theta": uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0}
        for name, limit, axis in (
            ("tx", self.height_shift_range, self.row_axis - 1),
            ("ty", self.width_shift_range, self.col_axis - 1),
        ):
            change[name] = 0
            if np.any(limit):
                if np.isscalar(limit) and limit == int(limit) or not np.isscalar(limit):
                    change[name] = np.random.choice(limit) * np.random.choice([-1, 1])
                else:
                    change[name] = uniform(-limit, limit)
                if np.max(limit) < 1:
                    change[name] *= img_shape[axis]
        change["shear"] = uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = (1, 1) if self.zoom_range == [1, 1] else uniform(*self.zoom_range, 2)
        change.update(zx=zx, zy=zy)
        change["flip_horizontal"] = (np.random.random() < 0.5) * self.horizontal_flip
        change["flip_vertical"] = (np.random.random() < 0.5) * self.vertical_flip
        by = self.channel_shift_range
        change["channel_shift_intensity"] = uniform(-by, by) if by else None
        change["brightness"] = uniform(*self.brightness_range) if self.brightness_range is not None else None
        return change

    def apply_transform(self, x, transform_parameters):
        """The image, changed as a dict of get_random_transform says."""
        change = transform_parameters
        row, column, channel = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        x = apply_affine_transform(
            x,
            change.get("theta", 0),
            change.get("tx", 0),
            change.get("ty", 0),
            change.get("shear", 0),
            change.get("zx", 1),
            change.get("zy", 1),
            row_axis=row,
            col_axis=column,
            channel_axis=channel,
            fill_mode=self.fill_mode,
            cval=self.cval,
            order=self.interpolation_order,
        )
        if change.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, change["channel_shift_intensity"], channel)
        if change.get("flip_horizontal"):
            x = flip_axis(x, column)
        if change.get("flip_vertical"):
            x = flip_axis(x, row)
        if change.get("brightness") is not None:
            x = apply_brightness_shift(x, change["brightness"])
        return x

    def random_transform(self, x, seed=None):
        """The image, changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x, augment=False, rounds=1, seed=None):
        """Takes what the normalization of features needs of images. augment: of changed ones, `rounds` of each."""
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if x.shape[self.channel_axis] not in (1, 3, 4):
            warnings.warn(
                f"Expected input to be images following the data format convention {self.data_format!r}, i.e. "
                f"either 1, 3 or 4 channels on axis {self.channel_axis}. However, it was passed an array with "
                f"shape {x.shape}.",
                stacklevel=2,
            )
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
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
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            rows = x.reshape(len(x), -1)
            u, s, _ = np.linalg.svd(rows.T @ rows / len(rows))
            self.principal_components = (u / np.sqrt(s + self.zca_epsilon)) @ u.T


def _whitened(x, components):
    return (x.reshape(-1, len(components)) @ components).reshape(x.shape)
