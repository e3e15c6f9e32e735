"""Projective transformations of pictures.

A transformation is a vector of 8 numbers [a0, a1, a2, b0, b1, b2, c0, c1]: the pixel (x, y) of the result is
that at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the picture, where k = c0 x + c1 y + 1.
"""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_image_ops
from braid.tensorflow.python.ops import math_ops

_IMAGE_DTYPES = frozenset(
    [dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64]
)


def _vectors(values, size, name, called=None):
    """Numbers or vectors as a batch, [batch] or [batch, size]."""
    values = ops.convert_to_tensor(values, name=name, dtype=dtypes.float32)
    rank = values.get_shape().ndims
    if rank is None:
        raise TypeError("%s rank must be statically known" % (called or name))
    wanted = 1 if size is None else 2
    if rank == wanted - 1:
        return values[None]
    if rank != wanted:
        raise TypeError("%s should have rank %d or %d." % (name, wanted - 1, wanted))
    return values


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Pictures turned counter-clockwise around their middle by angles in radians, one or one for each."""
    with ops.name_scope(name, "rotate"):
        images = ops.convert_to_tensor(images)
        if images.dtype.base_dtype not in _IMAGE_DTYPES:
            raise TypeError("Invalid dtype %s." % images.dtype)
        batch = _as_batch(images)
        height = math_ops.cast(array_ops.shape(batch)[1], dtypes.float32)[None]
        width = math_ops.cast(array_ops.shape(batch)[2], dtypes.float32)[None]
        transforms = angles_to_projective_transforms(angles, height, width)
        return _of_batch(transform(batch, transforms, interpolation=interpolation), images)


def translate(images, translations, interpolation="NEAREST", name=None):
    """Pictures moved by vectors (x, y), one or one for each."""
    with ops.name_scope(name, "translate"):
        return transform(
            images, translations_to_projective_transforms(translations), interpolation=interpolation
        )


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """The transformations, [batch, 8], that turn pictures around their middle by angles in radians."""
    with ops.name_scope(name, "angles_to_projective_transforms"):
        angles = _vectors(angles, None, "angles")
        cos, sin = math_ops.cos, math_ops.sin
        # Each of these nodes is TensorFlow's, also those that are the same.
        x = (image_width - 1) - (cos(angles) * (image_width - 1) - sin(angles) * (image_height - 1))
        x = x / 2.0
        y = (image_height - 1) - (sin(angles) * (image_width - 1) + cos(angles) * (image_height - 1))
        y = y / 2.0
        count = array_ops.shape(angles)[0]
        columns = [cos(angles)[:, None], -sin(angles)[:, None], x[:, None]]
        columns += [sin(angles)[:, None], cos(angles)[:, None], y[:, None]]
        columns.append(array_ops.zeros((count, 2), dtypes.float32))
        return array_ops.concat(columns, axis=1)


def translations_to_projective_transforms(translations, name=None):
    """The transformations, [batch, 8], that move pictures by vectors (x, y)."""
    with ops.name_scope(name, "translations_to_projective_transforms"):
        translations = _vectors(translations, 2, "translations", "translation_or_translations")
        count = array_ops.shape(translations)[0]
        columns = []
        for i in range(2):
            columns += [
                (array_ops.zeros if i else array_ops.ones)((count, 1), dtypes.float32),
                (array_ops.ones if i else array_ops.zeros)((count, 1), dtypes.float32),
                -translations[:, i, None],
            ]
        columns.append(array_ops.zeros((count, 2), dtypes.float32))
        return array_ops.concat(columns, axis=1)


def _as_batch(images):
    """Pictures as [batch, height, width, channels]."""
    rank = images.get_shape().ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank == 2:
        return images[None, :, :, None]
    if rank == 3:
        return images[None, :, :, :]
    if rank != 4:
        raise TypeError("Images should have rank between 2 and 4.")
    return images


def _of_batch(made, images):
    """The result in the rank of the pictures that were given."""
    rank = images.get_shape().ndims
    if rank == 2:
        return made[0, :, :, 0]
    return made[0, :, :, :] if rank == 3 else made


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Pictures after transformations, one or one for each; what is outside of a picture is 0.

    interpolation: "NEAREST" or "BILINEAR". output_shape: [height, width], the pictures' by default.
    """
    with ops.name_scope(name, "transform"):
        images = ops.convert_to_tensor(images, name="images")
        if images.dtype.base_dtype not in _IMAGE_DTYPES:
            raise TypeError("Invalid dtype %s." % images.dtype)
        transforms = ops.convert_to_tensor(transforms, name="transforms", dtype=dtypes.float32)
        batch = _as_batch(images)
        if output_shape is None:
            output_shape = array_ops.shape(batch)[1:3]
            known = tensor_util.constant_value(output_shape)
            output_shape = output_shape if known is None else known
        output_shape = ops.convert_to_tensor(output_shape, dtypes.int32, name="output_shape")
        if not output_shape.get_shape().is_compatible_with([2]):
            raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
        transforms = _vectors(transforms, 8, "transforms")
        made = gen_image_ops.image_projective_transform_v2(
            batch, output_shape=output_shape, transforms=transforms, interpolation=interpolation.upper()
        )
        return _of_batch(made, images)


def flat_transforms_to_matrices(transforms):
    """The matrices [batch, 3, 3] of transformations."""
    with ops.name_scope("flat_transforms_to_matrices"):
        transforms = ops.convert_to_tensor(transforms, name="transforms", dtype=dtypes.float32)
        if transforms.get_shape().ndims not in (1, 2):
            raise ValueError("Transforms should be 1D or 2D, got: %s" % transforms)
        transforms = array_ops.reshape(transforms, constant_op.constant([-1, 8]))
        ones = array_ops.ones([array_ops.shape(transforms)[0], 1])
        matrices = array_ops.concat([transforms, ones], axis=1)
        return array_ops.reshape(matrices, constant_op.constant([-1, 3, 3]))


def matrices_to_flat_transforms(transform_matrices):
    """The transformations of matrices, whose last element is made 1."""
    with ops.name_scope("matrices_to_flat_transforms"):
        matrices = ops.convert_to_tensor(transform_matrices, name="transform_matrices", dtype=dtypes.float32)
        if matrices.get_shape().ndims not in (2, 3):
            raise ValueError("Matrices should be 2D or 3D, got: %s" % matrices)
        flat = array_ops.reshape(matrices, constant_op.constant([-1, 9]))
        flat = flat / flat[:, 8:9]
        return flat[:, :8]


def compose_transforms(*transforms):
    """The transformation that does all, the first one first."""
    if not transforms:
        raise ValueError("compose_transforms takes one transformation at least")
    with ops.name_scope("compose_transforms"):
        made = flat_transforms_to_matrices(transforms[0])
        for other in transforms[1:]:
            made = math_ops.matmul(made, flat_transforms_to_matrices(other))
        return matrices_to_flat_transforms(made)


def bipartite_match(distance_mat, num_valid_rows, top_k=-1, name="bipartite_match"):
    """(The column of each row, the row of each column): pairs with the least distances, found greedily.

    distance_mat: float [rows, columns]; num_valid_rows: how many of the first rows take part, all when it is
    negative; top_k: the most pairs. -1 is no partner.
    """
    return gen_image_ops.bipartite_match(distance_mat, num_valid_rows, top_k, name=name)
