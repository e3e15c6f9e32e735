"""Pictures: sizes, crops, flips, colours, boxes and measures of quality.

A picture is [height, width, channels], a batch of them [batch, height, width, channels]. Floating-point
pictures have values from 0 to 1, others up to the type's greatest number.
"""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_image_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_image_ops, name)


# ---- What pictures must be ----


def _is_tensor(x):
    return tensor_util.is_tensor(x)


def _assert(condition, error, message):
    """What must hold: checked at once (raises `error`), or by the assertion that is returned in a list."""
    if _is_tensor(condition):
        return [control_flow_ops.Assert(condition, [message])]
    if not condition:
        raise error(message)
    return []


def _ImageDimensions(image, rank):
    """The sizes of all dimensions, as numbers where they are known."""
    known = image.get_shape()
    if known.is_fully_defined():
        return known.as_list()
    static = known.with_rank(rank).as_list()
    dynamic = array_ops.unstack(array_ops.shape(image), rank)
    return [d if s is None else s for s, d in zip(static, dynamic)]


def _CheckAtLeast3DImage(image, require_static=True):
    known = image.get_shape()
    try:
        known = image.get_shape() if known.ndims is None else known.with_rank_at_least(3)
    except ValueError:
        raise ValueError("'image' must be at least three-dimensional.") from None
    if require_static and not known.is_fully_defined():
        raise ValueError("'image' must be fully defined.")
    if known.ndims is not None and any(d.value == 0 for d in known.dims):
        raise ValueError("all dims of 'image.shape' must be > 0: %s" % known)
    if known.is_fully_defined():
        return []
    return [
        check_ops.assert_positive(array_ops.shape(image), ["all dims of 'image.shape' must be > 0."]),
        check_ops.assert_greater_equal(
            array_ops.rank(image), 3, message="'image' must be at least three-dimensional."
        ),
    ]


def _AssertAtLeast3DImage(image):
    return control_flow_ops.with_dependencies(_CheckAtLeast3DImage(image, require_static=False), image)


def _AssertGrayscaleImage(image):
    known = image.get_shape()
    if known.ndims is not None:
        if known.ndims < 2:
            raise ValueError("A grayscale image must be at least two-dimensional.")
        if known.dims[-1].value not in (None, 1):
            raise ValueError("Last dimension of a grayscale image should be size 1.")
        if known.dims[-1].value == 1:
            return image
    checks = [
        check_ops.assert_equal(
            array_ops.shape(image)[-1], 1, message="Last dimension of a grayscale image should be size 1."
        ),
        check_ops.assert_greater_equal(
            array_ops.rank(image), 2, message="A grayscale image must be at least two-dimensional."
        ),
    ]
    return control_flow_ops.with_dependencies(checks, image)


def _as_batch(image, scope_error="'image' must have either 3 or 4 dimensions."):
    """(a batch of pictures, whether it was one before)."""
    known = image.get_shape()
    if known.ndims is None:
        image = array_ops.expand_dims(image, 0)
        image.set_shape([None] * 4)
        return image, False
    if known.ndims == 3:
        return array_ops.expand_dims(image, 0), False
    if known.ndims != 4:
        raise ValueError(scope_error)
    return image, True


def fix_image_flip_shape(image, result):
    """The result, whose shape is the picture's where that is known."""
    known = image.get_shape()
    result.set_shape(
        [None, None, None] if known == tensor_shape.unknown_shape() or known.ndims is None else known
    )
    return result


# ---- Flips and turns ----


@tf_export("image.flip_left_right")
def flip_left_right(image):
    """The picture (or pictures) mirrored along the width."""
    return _flip(image, 1, "flip_left_right")


@tf_export("image.flip_up_down")
def flip_up_down(image):
    """The picture (or pictures) mirrored along the height."""
    return _flip(image, 0, "flip_up_down")


def _flip(image, flip_index, scope_name):
    with ops.name_scope(None, scope_name, [image]):
        image = ops.convert_to_tensor(image, name="image")
        image = _AssertAtLeast3DImage(image)
        rank = image.get_shape().ndims
        if rank in (3, None):
            return fix_image_flip_shape(image, array_ops.reverse(image, [flip_index]))
        if rank == 4:
            return array_ops.reverse(image, [flip_index + 1])
        raise ValueError("'image' must have either 3 or 4 dimensions.")


@tf_export("image.random_flip_left_right")
def random_flip_left_right(image, seed=None):
    """The picture mirrored along the width, with probability 1/2 (for each picture of a batch)."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


@tf_export("image.random_flip_up_down")
def random_flip_up_down(image, seed=None):
    """The picture mirrored along the height, with probability 1/2 (for each picture of a batch)."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _random_flip(image, flip_index, seed, scope_name):
    with ops.name_scope(None, scope_name, [image]) as scope:
        image = ops.convert_to_tensor(image, name="image")
        image = _AssertAtLeast3DImage(image)
        rank = image.get_shape().ndims
        if rank in (3, None):
            chance = random_ops.random_uniform([], 0, 1.0, seed=seed)
            made = control_flow_ops.cond(
                math_ops.less(chance, 0.5),
                lambda: array_ops.reverse(image, [flip_index]),
                lambda: image,
                name=scope,
            )
            return fix_image_flip_shape(image, made)
        if rank == 4:
            count = array_ops.shape(image)[0]
            chances = random_ops.random_uniform([count], 0, 1.0, seed=seed)
            flips = math_ops.round(array_ops.reshape(chances, [count, 1, 1, 1]))
            flips = math_ops.cast(flips, image.dtype)
            flipped = array_ops.reverse(image, [flip_index + 1])
            return flips * flipped + (1 - flips) * image
        raise ValueError("'image' must have either 3 or 4 dimensions.")


@tf_export(v1=["image.transpose", "image.transpose_image"])
def transpose(image, name=None):
    """The picture (or pictures) with height and width swapped."""
    with ops.name_scope(name, "transpose", [image]):
        image = ops.convert_to_tensor(image, name="image")
        image = _AssertAtLeast3DImage(image)
        rank = image.get_shape().ndims
        if rank in (3, None):
            return array_ops.transpose(image, [1, 0, 2], name=name)
        if rank == 4:
            return array_ops.transpose(image, [0, 2, 1, 3], name=name)
        raise ValueError("'image' must have either 3 or 4 dimensions.")


transpose_image = transpose


@tf_export("image.rot90")
def rot90(image, k=1, name=None):
    """The picture (or pictures) turned counter-clockwise k times by 90 degrees."""
    with ops.name_scope(name, "rot90", [image, k]) as scope:
        image = ops.convert_to_tensor(image, name="image")
        image = _AssertAtLeast3DImage(image)
        k = ops.convert_to_tensor(k, dtype=dtypes.int32, name="k")
        k.get_shape().assert_has_rank(0)
        k = math_ops.floormod(k, 4)
        rank = image.get_shape().ndims
        if rank not in (3, 4, None):
            raise ValueError("'image' must have either 3 or 4 dimensions.")
        y = 0 if rank in (3, None) else 1
        order = [1, 0, 2] if y == 0 else [0, 2, 1, 3]

        def turn_90():
            return array_ops.transpose(array_ops.reverse_v2(image, [y + 1]), order)

        def turn_180():
            return array_ops.reverse_v2(image, [y, y + 1])

        def turn_270():
            return array_ops.reverse_v2(array_ops.transpose(image, order), [y + 1])

        cases = [
            (math_ops.equal(k, 1), turn_90),
            (math_ops.equal(k, 2), turn_180),
            (math_ops.equal(k, 3), turn_270),
        ]
        made = control_flow_ops.case(cases, default=lambda: image, exclusive=True, name=scope)
        made.set_shape(
            [None, None, image.get_shape()[2]]
            if y == 0
            else [image.get_shape()[0], None, None, image.get_shape()[3]]
        )
        return made


# ---- Crops and borders ----


@tf_export("image.central_crop")
def central_crop(image, central_fraction):
    """The middle of the picture (or pictures): `central_fraction` of height and width."""
    with ops.name_scope(None, "central_crop", [image]):
        image = ops.convert_to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        _AssertAtLeast3DImage(image)
        rank = image.get_shape().ndims
        if rank not in (3, 4):
            raise ValueError(
                "`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = %s." % rank
            )
        first = rank - 3
        starts, sizes = [], []
        for d in (first, first + 1):
            known = image.get_shape().dims[d].value
            if known is None:
                length = array_ops.shape(image)[d]
                whole = math_ops.cast(length, dtypes.float64)
                start = math_ops.cast((whole - whole * central_fraction) / 2, dtypes.int32)
            else:
                length = known
                start = int((length - length * central_fraction) / 2)
            starts.append(start)
            sizes.append(length - start * 2)
        begin = array_ops.stack([0] * first + starts + [0])
        made = array_ops.slice(image, begin, array_ops.stack([-1] * first + sizes + [-1]))
        known = [None if _is_tensor(n) else n for n in sizes]
        made.set_shape(image.get_shape().dims[:first] + known + [image.get_shape().dims[-1]])
        return made


@tf_export("image.pad_to_bounding_box")
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Zeros around the picture (or pictures): `offset` above and to the left, up to the target's size."""
    with ops.name_scope(None, "pad_to_bounding_box", [image]):
        image = ops.convert_to_tensor(image, name="image")
        image, is_batch = _as_batch(image)
        checks = _CheckAtLeast3DImage(image, require_static=False)
        batch, height, width, depth = _ImageDimensions(image, rank=4)
        below = target_height - offset_height - height
        after = target_width - offset_width - width
        checks += _assert(offset_height >= 0, ValueError, "offset_height must be >= 0")
        checks += _assert(offset_width >= 0, ValueError, "offset_width must be >= 0")
        checks += _assert(after >= 0, ValueError, "width must be <= target - offset")
        checks += _assert(below >= 0, ValueError, "height must be <= target - offset")
        image = control_flow_ops.with_dependencies(checks, image)
        paddings = array_ops.reshape(
            array_ops.stack([0, 0, offset_height, below, offset_width, after, 0, 0]), [4, 2]
        )
        made = array_ops.pad(image, paddings)
        made.set_shape([None if _is_tensor(n) else n for n in (batch, target_height, target_width, depth)])
        return made if is_batch else array_ops.squeeze(made, axis=[0])


@tf_export("image.crop_to_bounding_box")
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The part of the picture (or pictures) from the offset on, of the target's size."""
    with ops.name_scope(None, "crop_to_bounding_box", [image]):
        image = ops.convert_to_tensor(image, name="image")
        image, is_batch = _as_batch(image)
        checks = _CheckAtLeast3DImage(image, require_static=False)
        batch, height, width, depth = _ImageDimensions(image, rank=4)
        checks += _assert(offset_width >= 0, ValueError, "offset_width must be >= 0.")
        checks += _assert(offset_height >= 0, ValueError, "offset_height must be >= 0.")
        checks += _assert(target_width > 0, ValueError, "target_width must be > 0.")
        checks += _assert(target_height > 0, ValueError, "target_height must be > 0.")
        checks += _assert(
            width >= target_width + offset_width, ValueError, "width must be >= target + offset."
        )
        checks += _assert(
            height >= target_height + offset_height, ValueError, "height must be >= target + offset."
        )
        image = control_flow_ops.with_dependencies(checks, image)
        made = array_ops.slice(
            image,
            array_ops.stack([0, offset_height, offset_width, 0]),
            array_ops.stack([-1, target_height, target_width, -1]),
        )
        made.set_shape([None if _is_tensor(n) else n for n in (batch, target_height, target_width, depth)])
        return made if is_batch else array_ops.squeeze(made, axis=[0])


def _max(x, y):
    return math_ops.maximum(x, y) if _is_tensor(x) or _is_tensor(y) else max(x, y)


def _min(x, y):
    return math_ops.minimum(x, y) if _is_tensor(x) or _is_tensor(y) else min(x, y)


def _equal(x, y):
    return math_ops.equal(x, y) if _is_tensor(x) or _is_tensor(y) else x == y


@tf_export(v1=["image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad"])
def resize_image_with_crop_or_pad(image, target_height, target_width):
    """The middle of the picture (or pictures), with zeros around where it is too small."""
    with ops.name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = ops.convert_to_tensor(image, name="image")
        image, is_batch = _as_batch(image)
        checks = _CheckAtLeast3DImage(image, require_static=False)
        checks += _assert(target_width > 0, ValueError, "target_width must be > 0.")
        checks += _assert(target_height > 0, ValueError, "target_height must be > 0.")
        image = control_flow_ops.with_dependencies(checks, image)
        # The sizes' types are the targets', so that tensors of the program can be given.
        if _is_tensor(target_height):
            target_height = control_flow_ops.with_dependencies(checks, target_height)
        if _is_tensor(target_width):
            target_width = control_flow_ops.with_dependencies(checks, target_width)
        _, height, width, _ = _ImageDimensions(image, rank=4)
        more_x, more_y = target_width - width, target_height - height
        cropped = crop_to_bounding_box(
            image,
            _max(-more_y // 2, 0),
            _max(-more_x // 2, 0),
            _min(target_height, height),
            _min(target_width, width),
        )
        made = pad_to_bounding_box(
            cropped, _max(more_y // 2, 0), _max(more_x // 2, 0), target_height, target_width
        )
        if made.get_shape().ndims is None:
            raise ValueError("resized contains no shape.")
        _, made_height, made_width, _ = _ImageDimensions(made, rank=4)
        checks = _assert(_equal(made_height, target_height), ValueError, "resized height is not correct.")
        checks += _assert(_equal(made_width, target_width), ValueError, "resized width is not correct.")
        made = control_flow_ops.with_dependencies(checks, made)
        return made if is_batch else array_ops.squeeze(made, axis=[0])


resize_with_crop_or_pad = resize_image_with_crop_or_pad


# ---- Sizes ----


@tf_export(v1=["image.ResizeMethod"])
class ResizeMethodV1:
    """How tf.image.resize_images computes pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


class ResizeMethod:
    """The methods of TensorFlow 2's resizing, as `tf.compat.v2.image.ResizeMethod`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _kept_aspect(image_size, size):
    """The size in which a picture of image_size fits into `size` with its proportions, and what is known of
    it."""
    height, width = (math_ops.cast(n, dtypes.float32) for n in image_size)
    by_height = math_ops.cast(size[0], dtypes.float32) / height
    by_width = math_ops.cast(size[1], dtypes.float32) / width
    scale = math_ops.minimum(by_height, by_width)
    new_height = math_ops.cast(math_ops.round(scale * height), dtypes.int32)
    new_width = math_ops.cast(math_ops.round(scale * width), dtypes.int32)
    return ops.convert_to_tensor([new_height, new_width], dtypes.int32, name="size")


def _kept_aspect_static(height, width, size):
    height, width = np.float32(height), np.float32(width)
    scale = min(np.float32(size[0]) / height, np.float32(size[1]) / width)
    return int(np.rint(scale * height)), int(np.rint(scale * width))


def _resize_images_common(images, resizer_fn, size, preserve_aspect_ratio, name, skip_resize_if_same):
    with ops.name_scope(name, "resize", [images, size]):
        images = ops.convert_to_tensor(images, name="images")
        if images.get_shape().ndims is None:
            raise ValueError("'images' contains no shape.")
        images, is_batch = _as_batch(images, "'images' must have either 3 or 4 dimensions.")
        height, width = images.get_shape().as_list()[1:3]
        try:
            size = ops.convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not size.get_shape().is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        known = tensor_util.constant_value(size)
        new_height, new_width = (None, None) if known is None else (int(known[0]), int(known[1]))
        if preserve_aspect_ratio:
            _, now_height, now_width, _ = _ImageDimensions(images, rank=4)
            size = _kept_aspect((now_height, now_width), size)
            if None not in (height, width, new_height, new_width):
                new_height, new_width = _kept_aspect_static(height, width, (new_height, new_width))
            else:
                new_height = new_width = None
        is_same = None not in (width, height) and (width, height) == (new_width, new_height)
        if not (skip_resize_if_same and is_same):
            images = resizer_fn(images, size)
            images.set_shape([None, new_height, new_width, None])
        return images if is_batch else array_ops.squeeze(images, axis=[0])


@tf_export(v1=["image.resize_images", "image.resize"])
def resize_images(
    images,
    size,
    method=ResizeMethodV1.BILINEAR,
    align_corners=False,
    preserve_aspect_ratio=False,
    name=None,
):
    """The picture (or pictures) in another size, [height, width].

    method: of tf.image.ResizeMethod. align_corners: the centres of the corners' pixels stay at the corners.
    preserve_aspect_ratio: the picture is made to fit into the size. The result is float32, except by
    NEAREST_NEIGHBOR and where the size is the same.
    """
    resizers = {
        ResizeMethodV1.BILINEAR: gen_image_ops.resize_bilinear,
        "bilinear": gen_image_ops.resize_bilinear,
        ResizeMethodV1.NEAREST_NEIGHBOR: gen_image_ops.resize_nearest_neighbor,
        "nearest": gen_image_ops.resize_nearest_neighbor,
        ResizeMethodV1.BICUBIC: gen_image_ops.resize_bicubic,
        "bicubic": gen_image_ops.resize_bicubic,
        ResizeMethodV1.AREA: gen_image_ops.resize_area,
        "area": gen_image_ops.resize_area,
    }
    if method not in resizers:
        raise ValueError("Resize method is not implemented.")
    return _resize_images_common(
        images,
        lambda images, size: resizers[method](images, size, align_corners=align_corners),
        size,
        preserve_aspect_ratio=preserve_aspect_ratio,
        name=name,
        skip_resize_if_same=True,
    )


def resize_images_v2(
    images, size, method=ResizeMethod.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None
):
    """tf.compat.v2.image.resize: pixels have their centres at halves; antialias: a shrunk picture is filtered."""

    def scaled(kernel):
        def resize(images, size):
            scale = math_ops.cast(size, dtypes.float32) / math_ops.cast(
                array_ops.shape(images)[1:3], dtypes.float32
            )
            return gen_image_ops.scale_and_translate(
                images, size, scale, array_ops.zeros([2]), kernel_type=kernel, antialias=antialias
            )

        return resize

    def half(op):
        return lambda images, size: op(images, size, half_pixel_centers=True)

    resizers = {
        "bilinear": scaled("triangle") if antialias else half(gen_image_ops.resize_bilinear),
        "nearest": half(gen_image_ops.resize_nearest_neighbor),
        "bicubic": scaled("keyscubic") if antialias else half(gen_image_ops.resize_bicubic),
        "area": gen_image_ops.resize_area,
        "lanczos3": scaled("lanczos3"),
        "lanczos5": scaled("lanczos5"),
        "gaussian": scaled("gaussian"),
        "mitchellcubic": scaled("mitchellcubic"),
    }
    if method not in resizers:
        raise ValueError("Resize method is not implemented: {}".format(method))
    return _resize_images_common(
        images,
        resizers[method],
        size,
        preserve_aspect_ratio=preserve_aspect_ratio,
        name=name,
        skip_resize_if_same=False,
    )


def resize_image_with_pad_v2(
    image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False
):
    """tf.compat.v2.image.resize_with_pad."""
    return _resize_image_with_pad_common(
        image,
        target_height,
        target_width,
        lambda images, size: resize_images_v2(images, size, method, antialias=antialias),
    )


@tf_export(v1=["image.resize_bilinear"])
def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """The pictures in another size, interpolated between 4 neighbours."""
    return gen_image_ops.resize_bilinear(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@tf_export(v1=["image.resize_nearest_neighbor"])
def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """The pictures in another size, with the nearest pixels."""
    return gen_image_ops.resize_nearest_neighbor(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@tf_export(v1=["image.resize_bicubic"])
def resize_bicubic(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """The pictures in another size, interpolated by cubic polynomials."""
    return gen_image_ops.resize_bicubic(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def _resize_image_with_pad_common(image, target_height, target_width, resize_fn):
    with ops.name_scope(None, "resize_image_with_pad", [image]):
        image = ops.convert_to_tensor(image, name="image")
        image, is_batch = _as_batch(image)
        checks = _CheckAtLeast3DImage(image, require_static=False)
        checks += _assert(target_width > 0, ValueError, "target_width must be > 0.")
        checks += _assert(target_height > 0, ValueError, "target_height must be > 0.")
        image = control_flow_ops.with_dependencies(checks, image)
        _, height, width, _ = _ImageDimensions(image, rank=4)
        f_height = math_ops.cast(height, dtypes.float32)
        f_width = math_ops.cast(width, dtypes.float32)
        f_target_height = math_ops.cast(target_height, dtypes.float32)
        f_target_width = math_ops.cast(target_width, dtypes.float32)
        ratio = math_ops.maximum(f_width / f_target_width, f_height / f_target_height)
        new_height_float, new_width_float = f_height / ratio, f_width / ratio
        new_height = math_ops.cast(math_ops.floor(new_height_float), dtypes.int32)
        new_width = math_ops.cast(math_ops.floor(new_width_float), dtypes.int32)
        top = math_ops.cast(math_ops.floor((f_target_height - new_height_float) / 2), dtypes.int32)
        left = math_ops.cast(math_ops.floor((f_target_width - new_width_float) / 2), dtypes.int32)
        resized = resize_fn(image, array_ops.stack([new_height, new_width]))
        padded = pad_to_bounding_box(
            resized, math_ops.maximum(0, top), math_ops.maximum(0, left), target_height, target_width
        )
        return padded if is_batch else array_ops.squeeze(padded, axis=[0])


@tf_export(v1=["image.resize_image_with_pad"])
def resize_image_with_pad_v1(
    image, target_height, target_width, method=ResizeMethodV1.BILINEAR, align_corners=False
):
    """The picture (or pictures) made to fit into a size with its proportions, and zeros around."""
    return _resize_image_with_pad_common(
        image,
        target_height,
        target_width,
        lambda image, size: resize_images(image, size, method, align_corners=align_corners),
    )


resize_image_with_pad = resize_image_with_pad_v1


@tf_export(v1=["image.crop_and_resize"])
def crop_and_resize_v1(
    image,
    boxes,
    box_ind=None,
    crop_size=None,
    method="bilinear",
    extrapolation_value=0,
    name=None,
    box_indices=None,
):
    """Boxes of pictures in one size, [count, height, width, channels].

    boxes: [y1, x1, y2, x2] from 0 to 1; box_ind: the picture of each; extrapolation_value: for what is
    outside.
    """
    box_ind = deprecation.deprecated_argument_lookup("box_indices", box_indices, "box_ind", box_ind)
    return gen_image_ops.crop_and_resize(image, boxes, box_ind, crop_size, method, extrapolation_value, name)


crop_and_resize = crop_and_resize_v1


@tf_export("image.extract_glimpse", v1=["image.extract_glimpse"])
def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    """Windows of pictures around `offsets`, [batch, 2] as (y, x): from -1 to 1 where they are normalized."""
    return gen_image_ops.extract_glimpse(
        input=input,
        size=size,
        offsets=offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


def extract_glimpse_v2(input, size, offsets, centered=True, normalized=True, noise="uniform", name=None):
    """`extract_glimpse` as TensorFlow 2 has it. noise: "uniform", "gaussian" or "zero" outside the picture."""
    return gen_image_ops.extract_glimpse(
        input=input,
        size=size,
        offsets=offsets,
        centered=centered,
        normalized=normalized,
        noise=noise,
        uniform_noise=False,
        name=name,
    )


# ---- Values ----


@tf_export("image.convert_image_dtype")
def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The picture with values of another type, scaled to its range.

    saturate: what is out of range is clipped.
    """
    image = ops.convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if dtype == image.dtype:
        return array_ops.identity(image, name=name)
    with ops.name_scope(name, "convert_image", [image]) as name:
        cast = math_ops.saturate_cast if saturate else math_ops.cast
        if image.dtype.is_integer and dtype.is_integer:
            most_in, most_out = image.dtype.max, dtype.max
            if most_in > most_out:
                scaled = math_ops.floordiv(image, (most_in + 1) // (most_out + 1))
                return cast(scaled, dtype, name=name)
            return math_ops.multiply(cast(image, dtype), (most_out + 1) // (most_in + 1), name=name)
        if image.dtype.is_floating and dtype.is_floating:
            return math_ops.cast(image, dtype, name=name)
        if image.dtype.is_integer:
            return math_ops.multiply(math_ops.cast(image, dtype), 1.0 / image.dtype.max, name=name)
        return cast(math_ops.multiply(image, dtype.max + 0.5), dtype, name=name)


@tf_export("image.per_image_standardization")
def per_image_standardization(image):
    """(x - mean) / max(standard deviation, 1 / sqrt(number of values)), for each picture; of its dtype."""
    with ops.name_scope(None, "per_image_standardization", [image]) as scope:
        image = ops.convert_to_tensor(image, name="image")
        image = _AssertAtLeast3DImage(image)
        dtype = image.dtype
        image = _as_float(image)
        count = math_ops.reduce_prod(array_ops.shape(image)[-3:])
        mean = math_ops.reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = math_ops.reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = math_ops.rsqrt(math_ops.cast(count, image.dtype))
        scale = math_ops.maximum(deviation, least)
        made = math_ops.div(image - mean, scale, name=scope)
        return convert_image_dtype(made, dtype, saturate=True)


def _as_float(image):
    return (
        image
        if image.dtype in (dtypes.float16, dtypes.float32)
        else convert_image_dtype(image, dtypes.float32)
    )


@tf_export("image.adjust_brightness")
def adjust_brightness(image, delta):
    """The picture with `delta` added to its values, which are from 0 to 1."""
    with ops.name_scope(None, "adjust_brightness", [image, delta]) as name:
        image = ops.convert_to_tensor(image, name="image")
        floats = _as_float(image)
        made = math_ops.add(floats, math_ops.cast(delta, floats.dtype), name=name)
        return convert_image_dtype(made, image.dtype, saturate=True)


@tf_export("image.random_brightness")
def random_brightness(image, max_delta, seed=None):
    """tf.image.adjust_brightness by a random number from [-max_delta, max_delta)."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


@tf_export("image.adjust_contrast")
def adjust_contrast(images, contrast_factor):
    """The distances from each channel's mean times a number."""
    with ops.name_scope(None, "adjust_contrast", [images, contrast_factor]) as name:
        images = ops.convert_to_tensor(images, name="images")
        made = gen_image_ops.adjust_contrastv2(_as_float(images), contrast_factor=contrast_factor, name=name)
        return convert_image_dtype(made, images.dtype, saturate=True)


@tf_export("image.random_contrast")
def random_contrast(image, lower, upper, seed=None):
    """tf.image.adjust_contrast by a random number from [lower, upper)."""
    _check_range(lower, upper)
    return adjust_contrast(image, random_ops.random_uniform([], lower, upper, seed=seed))


def _check_range(lower, upper):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@tf_export("image.adjust_gamma")
def adjust_gamma(image, gamma=1, gain=1):
    """gain * x ** gamma, of values from 0 to 1."""
    with ops.name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = ops.convert_to_tensor(image, name="image")
        floats = _as_float(image)
        checks = _assert(gamma >= 0, ValueError, "Gamma should be a non-negative real number.")
        if checks:
            gamma = control_flow_ops.with_dependencies(checks, gamma)
        made = gain * floats**gamma
        return convert_image_dtype(made, image.dtype, saturate=True)


@tf_export("image.adjust_hue")
def adjust_hue(image, delta, name=None):
    """The picture, of RGB, with its hue turned by `delta` (a whole turn is 1)."""
    with ops.name_scope(name, "adjust_hue", [image]) as name:
        image = ops.convert_to_tensor(image, name="image")
        made = gen_image_ops.adjust_hue(_as_float(image), delta)
        return convert_image_dtype(made, image.dtype)


@tf_export("image.random_hue")
def random_hue(image, max_delta, seed=None):
    """tf.image.adjust_hue by a random number from [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


@tf_export("image.adjust_saturation")
def adjust_saturation(image, saturation_factor, name=None):
    """The picture, of RGB, with its saturation times a number."""
    with ops.name_scope(name, "adjust_saturation", [image]) as name:
        image = ops.convert_to_tensor(image, name="image")
        made = gen_image_ops.adjust_saturation(_as_float(image), saturation_factor)
        return convert_image_dtype(made, image.dtype)


@tf_export("image.random_saturation")
def random_saturation(image, lower, upper, seed=None):
    """tf.image.adjust_saturation by a random number from [lower, upper)."""
    _check_range(lower, upper)
    return adjust_saturation(image, random_ops.random_uniform([], lower, upper, seed=seed))


@tf_export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image, jpeg_quality, name=None):
    """The picture after it has been a JPEG file of a quality from 0 to 100."""
    with ops.name_scope(name, "adjust_jpeg_quality", [image]):
        image = ops.convert_to_tensor(image, name="image")
        original = image.dtype
        image = convert_image_dtype(image, dtypes.uint8)
        if _is_tensor(jpeg_quality):
            file = gen_image_ops.encode_jpeg_variable_quality(image, jpeg_quality)
        else:
            file = gen_image_ops.encode_jpeg(image, quality=jpeg_quality)
        return convert_image_dtype(gen_image_ops.decode_jpeg(file), original)


@tf_export("image.random_jpeg_quality")
def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """tf.image.adjust_jpeg_quality by a random number from [min_jpeg_quality, max_jpeg_quality)."""
    if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or max_jpeg_quality > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_ops.random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


# ---- Colours ----

_GRAY_WEIGHTS = [0.2989, 0.5870, 0.1140]  # of red, green and blue: ITU-R BT.601


@tf_export("image.rgb_to_grayscale")
def rgb_to_grayscale(images, name=None):
    """The brightness of pictures of RGB, with 1 channel."""
    with ops.name_scope(name, "rgb_to_grayscale", [images]) as name:
        images = ops.convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        gray = math_ops.tensordot(floats, _GRAY_WEIGHTS, [-1, -1])
        return convert_image_dtype(array_ops.expand_dims(gray, -1), images.dtype, name=name)


@tf_export("image.grayscale_to_rgb")
def grayscale_to_rgb(images, name=None):
    """Pictures of 1 channel with 3 equal ones."""
    with ops.name_scope(name, "grayscale_to_rgb", [images]) as name:
        images = ops.convert_to_tensor(images, name="images")
        images = _AssertGrayscaleImage(images)
        outer = array_ops.expand_dims(array_ops.rank(images) - 1, 0)
        multiples = array_ops.concat([array_ops.ones(outer, dtype=dtypes.int32), [3]], 0)
        made = array_ops.tile(images, multiples, name=name)
        if images.get_shape().ndims is not None:
            made.set_shape(images.get_shape()[:-1].concatenate([3]))
        return made


# The rows are red, green and blue: the colours of NTSC and of PAL.
_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [
    [1, 1, 1],
    [0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0],
]


def _colors(images, kernel):
    images = ops.convert_to_tensor(images, name="images")
    matrix = ops.convert_to_tensor(kernel, dtype=images.dtype, name="kernel")
    rank = images.get_shape().ndims
    return math_ops.tensordot(images, matrix, axes=[[rank - 1], [0]])


@tf_export("image.rgb_to_yiq")
def rgb_to_yiq(images):
    """Pictures of RGB, of floating-point numbers, as YIQ."""
    return _colors(images, _RGB_TO_YIQ)


@tf_export("image.yiq_to_rgb")
def yiq_to_rgb(images):
    """Pictures of YIQ, of floating-point numbers, as RGB."""
    return _colors(images, _YIQ_TO_RGB)


@tf_export("image.rgb_to_yuv")
def rgb_to_yuv(images):
    """Pictures of RGB, of floating-point numbers, as YUV."""
    return _colors(images, _RGB_TO_YUV)


@tf_export("image.yuv_to_rgb")
def yuv_to_rgb(images):
    """Pictures of YUV, of floating-point numbers, as RGB."""
    return _colors(images, _YUV_TO_RGB)


# ---- Files ----


@tf_export("io.is_jpeg", "image.is_jpeg", v1=["io.is_jpeg", "image.is_jpeg"])
def is_jpeg(contents, name=None):
    """Whether a string begins as a JPEG file does."""
    with ops.name_scope(name, "is_jpeg"):
        return math_ops.equal(string_ops.substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


@tf_export("io.encode_png", "image.encode_png")
def encode_png(image, compression=-1, name=None):
    """A PNG file of a picture of uint8 or uint16."""
    return gen_image_ops.encode_png(ops.convert_to_tensor(image), compression=compression, name=name)


@tf_export("io.decode_image", "image.decode_image", v1=["io.decode_image", "image.decode_image"])
def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """The picture in a BMP, GIF, JPEG or PNG file; of a GIF all, [count, height, width, channels].

    expand_animations: False gives the first picture of a GIF. The shape is not known before the step.
    """
    with ops.name_scope(name, "decode_image"):
        channels = 0 if channels is None else channels
        if channels not in (0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        dtype = dtypes.as_dtype(dtype)
        if dtype in (dtypes.float32, dtypes.uint8, dtypes.uint16):
            return gen_image_ops.decode_image(
                contents=contents, channels=channels, dtype=dtype, expand_animations=expand_animations
            )
        made = gen_image_ops.decode_image(
            contents=contents, channels=channels, dtype=dtypes.uint8, expand_animations=expand_animations
        )
        return convert_image_dtype(made, dtype)


# ---- Boxes ----


@tf_export(v1=["image.draw_bounding_boxes"])
def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """The pictures with boxes, [batch, count, 4] as (y1, x1, y2, x2) from 0 to 1, drawn in."""
    if colors is None:
        return gen_image_ops.draw_bounding_boxes(images, boxes, name)
    return gen_image_ops.draw_bounding_boxes_v2(images, boxes, colors, name)


@tf_export("image.non_max_suppression")
def non_max_suppression(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """The numbers of the boxes with the best scores that overlap no better one by more than a threshold."""
    with ops.name_scope(name, "non_max_suppression"):
        iou_threshold = ops.convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = ops.convert_to_tensor(score_threshold, name="score_threshold")
        return gen_image_ops.non_max_suppression_v3(
            boxes, scores, max_output_size, iou_threshold, score_threshold
        )


@tf_export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    soft_nms_sigma=0.0,
    name=None,
):
    """As tf.image.non_max_suppression: (numbers, scores), the latter lowered by overlaps if sigma is
    positive."""
    with ops.name_scope(name, "non_max_suppression_with_scores"):
        indices, selected_scores, _ = gen_image_ops.non_max_suppression_v5(
            boxes,
            scores,
            max_output_size,
            ops.convert_to_tensor(iou_threshold, name="iou_threshold"),
            ops.convert_to_tensor(score_threshold, name="score_threshold"),
            ops.convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma"),
            pad_to_max_output_size=False,
        )
        return indices, selected_scores


@tf_export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_to_max_output_size=False,
    name=None,
):
    """As tf.image.non_max_suppression: (numbers, how many there are), the former padded with zeros on
    request."""
    with ops.name_scope(name, "non_max_suppression_padded"):
        iou_threshold = ops.convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = ops.convert_to_tensor(score_threshold, name="score_threshold")
        return gen_image_ops.non_max_suppression_v4(
            boxes,
            scores,
            max_output_size,
            iou_threshold,
            score_threshold,
            pad_to_max_output_size=pad_to_max_output_size,
        )


@tf_export("image.non_max_suppression_overlaps")
def non_max_suppression_with_overlaps(
    overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """As tf.image.non_max_suppression, from a matrix of overlaps."""
    with ops.name_scope(name, "non_max_suppression_overlaps"):
        threshold = ops.convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return gen_image_ops.non_max_suppression_with_overlaps(
            overlaps, scores, max_output_size, threshold, score_threshold
        )


@tf_export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """As tf.image.non_max_suppression for each class of each picture: (boxes, scores, classes, counts)."""
    with ops.name_scope(name, "combined_non_max_suppression"):
        iou_threshold = ops.convert_to_tensor(iou_threshold, dtype=dtypes.float32, name="iou_threshold")
        score_threshold = ops.convert_to_tensor(score_threshold, dtype=dtypes.float32, name="score_threshold")
        return gen_image_ops.combined_non_max_suppression(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            iou_threshold,
            score_threshold,
            pad_per_class,
            clip_boxes,
        )


def sample_distorted_bounding_box_v2(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    seed1, seed2 = random_seed.get_seed(seed) if seed else (0, 0)
    return sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        seed1,
        seed2,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )


@tf_export(v1=["image.sample_distorted_bounding_box"])
def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=None,
    seed2=None,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """A random part of the picture that has enough of an object: (begin, size, box), for tf.slice and for
    drawing."""
    options = dict(
        seed=seed,
        seed2=seed2,
        aspect_ratio_range=aspect_ratio_range,
        area_range=area_range,
        max_attempts=max_attempts,
        use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
    )
    with ops.name_scope(name, "sample_distorted_bounding_box"):
        return gen_image_ops.sample_distorted_bounding_box_v2(
            image_size,
            bounding_boxes,
            min_object_covered=min_object_covered,
            name=name,
            **{key: value for key, value in options.items() if value is not None},
        )


# ---- Differences and quality ----


@tf_export("image.total_variation")
def total_variation(images, name=None):
    """The sum of the absolute differences of neighbours, of a picture or of each picture of a batch."""
    with ops.name_scope(name, "total_variation"):
        rank = images.get_shape().ndims
        if rank == 3:
            by_y = images[1:, :, :] - images[:-1, :, :]
            by_x = images[:, 1:, :] - images[:, :-1, :]
            axes = None
        elif rank == 4:
            by_y = images[:, 1:, :, :] - images[:, :-1, :, :]
            by_x = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return math_ops.reduce_sum(math_ops.abs(by_y), axis=axes) + math_ops.reduce_sum(
            math_ops.abs(by_x), axis=axes
        )


@tf_export("image.image_gradients")
def image_gradients(image):
    """(dy, dx) of pictures [batch, height, width, channels]: differences to the next pixel, 0 in the last
    one."""
    if image.get_shape().ndims != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not %s." % image.get_shape()
        )
    sizes = array_ops.shape(image)
    batch, height, width, depth = array_ops.unstack(sizes)
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    zeros = array_ops.zeros(array_ops.stack([batch, 1, width, depth]), image.dtype)
    dy = array_ops.reshape(array_ops.concat([dy, zeros], 1), sizes)
    zeros = array_ops.zeros(array_ops.stack([batch, height, 1, depth]), image.dtype)
    dx = array_ops.reshape(array_ops.concat([dx, zeros], 2), sizes)
    return dy, dx


@tf_export("image.sobel_edges")
def sobel_edges(image):
    """The gradients of pictures by Sobel's filters, [batch, height, width, channels, 2] as (dy, dx)."""
    known = image.get_shape()
    sizes = array_ops.shape(image)
    kernels = np.array(
        [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], dtype=np.float32
    )
    count = len(kernels)
    kernels = np.expand_dims(np.transpose(kernels, (1, 2, 0)), -2)
    kernels = constant_op.constant(kernels, dtype=image.dtype)
    kernels = array_ops.tile(kernels, [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = array_ops.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    made = nn_impl.depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    made = array_ops.reshape(made, array_ops.concat([sizes, [count]], 0))
    made.set_shape(known.concatenate([count]))
    return made


def _verify_compatible_image_shapes(img1, img2):
    """The shapes, and assertions that they are the same where that is not known."""
    first = img1.get_shape().with_rank_at_least(3)
    second = img2.get_shape().with_rank_at_least(3)
    first[-3:].assert_is_compatible_with(second[-3:])
    if first.ndims is not None and second.ndims is not None:
        for a, b in zip(reversed(first.dims[:-3]), reversed(second.dims[:-3])):
            if not (a.value == 1 or b.value == 1 or a.is_compatible_with(b)):
                raise ValueError("Two images are not compatible: %s and %s" % (first, second))
    shape1, shape2 = array_ops.shape_n([img1, img2])
    return (
        shape1,
        shape2,
        [
            control_flow_ops.Assert(math_ops.greater_equal(array_ops.size(shape1), 3), [shape1, shape2]),
            control_flow_ops.Assert(
                math_ops.reduce_all(math_ops.equal(shape1[-3:], shape2[-3:])), [shape1, shape2]
            ),
        ],
    )


@tf_export("image.psnr")
def psnr(a, b, max_val, name=None):
    """The peak signal-to-noise ratio of pictures in decibels; max_val: the greatest value's distance from the
    least."""
    with ops.name_scope(name, "PSNR", [a, b]):
        max_val = math_ops.cast(max_val, a.dtype)
        max_val = convert_image_dtype(max_val, dtypes.float32)
        a = convert_image_dtype(a, dtypes.float32)
        b = convert_image_dtype(b, dtypes.float32)
        mse = math_ops.reduce_mean(math_ops.squared_difference(a, b), [-3, -2, -1])
        made = math_ops.subtract(
            20 * math_ops.log(max_val) / math_ops.log(10.0),
            np.float32(10 / np.log(10)) * math_ops.log(mse),
            name="psnr",
        )
        _, _, checks = _verify_compatible_image_shapes(a, b)
        with ops.control_dependencies(checks):
            return array_ops.identity(made)


def _ssim_helper(x, y, reducer, max_val, compensation=1.0, k1=0.01, k2=0.03):
    """The similarity of luminance, and of contrast and structure, of each window."""
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean0, mean1 = reducer(x), reducer(y)
    products = mean0 * mean1 * 2.0
    squares = math_ops.square(mean0) + math_ops.square(mean1)
    luminance = (products + c1) / (squares + c1)
    covariance = reducer(x * y) * 2.0
    variance = reducer(math_ops.square(x) + math_ops.square(y))
    c2 *= compensation
    structure = (covariance - products + c2) / (variance - squares + c2)
    return luminance, structure


def _fspecial_gauss(size, sigma):
    """A window of Gauss's bell, [size, size, 1, 1]."""
    size = ops.convert_to_tensor(size, dtypes.int32)
    sigma = ops.convert_to_tensor(sigma)
    places = math_ops.cast(math_ops.range(size), sigma.dtype)
    places -= math_ops.cast(size - 1, sigma.dtype) / 2.0
    g = math_ops.square(places) * (-0.5 / math_ops.square(sigma))
    g = array_ops.reshape(g, shape=[1, -1]) + array_ops.reshape(g, shape=[-1, 1])
    g = nn_ops.softmax(array_ops.reshape(g, shape=[1, -1]))
    return array_ops.reshape(g, shape=[size, size, 1, 1])


def _ssim_per_channel(img1, img2, max_val=1.0, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """The means of the similarity, and of contrast and structure alone, of each channel of each picture."""
    filter_size = constant_op.constant(filter_size, dtype=dtypes.int32)
    filter_sigma = constant_op.constant(filter_sigma, dtype=img1.dtype)
    shape1, shape2 = array_ops.shape_n([img1, img2])
    checks = [
        control_flow_ops.Assert(
            math_ops.reduce_all(math_ops.greater_equal(s[-3:-1], filter_size)), [s, filter_size]
        )
        for s in (shape1, shape2)
    ]
    with ops.control_dependencies(checks):
        img1 = array_ops.identity(img1)
    window = _fspecial_gauss(filter_size, filter_sigma)
    window = array_ops.tile(window, multiples=[1, 1, shape1[-1], 1])

    def reducer(x):
        sizes = array_ops.shape(x)
        flat = array_ops.reshape(x, shape=array_ops.concat([[-1], sizes[-3:]], 0))
        made = nn_impl.depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return array_ops.reshape(made, array_ops.concat([sizes[:-3], array_ops.shape(made)[1:]], 0))

    luminance, structure = _ssim_helper(img1, img2, reducer, max_val, 1.0, k1, k2)
    axes = constant_op.constant([-3, -2], dtype=dtypes.int32)
    return (
        math_ops.reduce_mean(luminance * structure, axes),
        math_ops.reduce_mean(structure, axes),
    )


def _to_compare(img1, img2, max_val):
    _, _, checks = _verify_compatible_image_shapes(img1, img2)
    with ops.control_dependencies(checks):
        img1 = array_ops.identity(img1)
    max_val = math_ops.cast(max_val, img1.dtype)
    max_val = convert_image_dtype(max_val, dtypes.float32)
    return (
        convert_image_dtype(img1, dtypes.float32),
        convert_image_dtype(img2, dtypes.float32),
        max_val,
    )


@tf_export("image.ssim")
def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """The structural similarity of pictures (Wang et al. 2004), at most 1."""
    with ops.name_scope(None, "SSIM", [img1, img2]):
        img1 = ops.convert_to_tensor(img1, name="img1")
        img2 = ops.convert_to_tensor(img2, name="img2")
        img1, img2, max_val = _to_compare(img1, img2, max_val)
        per_channel, _ = _ssim_per_channel(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
        return math_ops.reduce_mean(per_channel, [-1])


_MSSSIM_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # of the article, for 5 scales


@tf_export("image.ssim_multiscale")
def ssim_multiscale(
    img1,
    img2,
    max_val,
    power_factors=_MSSSIM_WEIGHTS,
    filter_size=11,
    filter_sigma=1.5,
    k1=0.01,
    k2=0.03,
):
    """The structural similarity over several scales (Wang et al. 2003), each with half the size of the one
    before."""
    with ops.name_scope(None, "MS-SSIM", [img1, img2]):
        img1 = ops.convert_to_tensor(img1, name="img1")
        img2 = ops.convert_to_tensor(img2, name="img2")
        img1, img2, max_val = _to_compare(img1, img2, max_val)
        images = [img1, img2]
        parts = []
        for k in range(len(power_factors)):
            with ops.name_scope(None, "Scale%d" % k, images):
                if k > 0:
                    images = [_half_size(x) for x in images]
                per_channel, structure = _ssim_per_channel(
                    *images, max_val=max_val, filter_size=filter_size, filter_sigma=filter_sigma, k1=k1, k2=k2
                )
                parts.append(nn_ops.relu(structure))
        parts[-1] = nn_ops.relu(per_channel)
        product = math_ops.reduce_prod(math_ops.pow(array_ops.stack(parts, axis=-1), power_factors), [-1])
        return math_ops.reduce_mean(product, [-1])


def _half_size(x):
    """The means of 2x2 pixels; a last row or column that has no partner counts twice."""
    sizes = array_ops.shape(x)
    flat = array_ops.reshape(x, array_ops.concat([[-1], sizes[-3:]], 0))
    odd = sizes[-3:-1] % 2
    paddings = array_ops.stack([[0, 0], array_ops.stack([0, odd[0]]), array_ops.stack([0, odd[1]]), [0, 0]])
    flat = array_ops.pad(flat, paddings, mode="SYMMETRIC")
    made = nn_ops.avg_pool(flat, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    if x.get_shape().ndims is not None:
        made.set_shape([None, None, None, x.get_shape().dims[-1].value])
    return array_ops.reshape(made, array_ops.concat([sizes[:-3], array_ops.shape(made)[1:]], 0))
