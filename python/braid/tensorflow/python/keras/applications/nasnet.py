"""NASNet-A (Zoph et al. 2018, arXiv:1707.07012)."""

from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.nasnet.decode_predictions").export_constant(__name__, "decode_predictions")


@keras_export("keras.applications.nasnet.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _relu(x):
    return layers.Activation("relu")(x)


def _normalized(x, name):
    return layers.BatchNormalization(axis=3, momentum=0.9997, epsilon=1e-3, name=name)(x)


def _conv1(x, filters, name):
    return layers.Conv2D(
        filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )(x)


def _padded(x, size, name):
    """x with what a window of odd size with strides of 2 needs at its borders."""
    half = size // 2
    before = [half - 1 + (length or 0) % 2 for length in x.shape.as_list()[1:3]]
    return layers.ZeroPadding2D(tuple((pad, half) for pad in before), name=name)(x)


def _separable(x, filters, size, name, halved=False):
    """Two separable convolutions, the first with strides of 2 if `halved`."""
    with backend.name_scope(f"separable_conv_block_{name}"):
        for number in (1, 2):
            x = _relu(x)
            first_halved = halved and number == 1
            if first_halved:
                x = _padded(x, size, f"separable_conv_1_pad_{name}")
            x = layers.SeparableConv2D(
                filters,
                size,
                strides=2 if first_halved else 1,
                padding="valid" if first_halved else "same",
                use_bias=False,
                name=f"separable_conv_{number}_{name}",
            )(x)
            x = _normalized(x, f"separable_conv_{number}_bn_{name}")
    return x


def _adjusted(before, x, filters, name):
    """What a cell takes of the cell before the last: with the lengths of x, and as many channels as filters."""
    if before is None:
        return x
    with backend.name_scope("adjust_block"):
        if before.shape.as_list()[1] != x.shape.as_list()[1]:
            with backend.name_scope(f"adjust_reduction_block_{name}"):
                before = _relu(before)
                shifted = layers.Cropping2D(((1, 0), (1, 0)))(layers.ZeroPadding2D(((0, 1), (0, 1)))(before))
                halves = []
                for number, part in ((1, before), (2, shifted)):
                    pool = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{name}")
                    halves.append(_conv1(pool(part), filters // 2, f"adjust_conv_{number}_{name}"))
                return _normalized(layers.concatenate(halves, axis=3), f"adjust_bn_{name}")
        if before.shape.as_list()[3] != filters:
            with backend.name_scope(f"adjust_projection_block_{name}"):
                before = _conv1(_relu(before), filters, f"adjust_conv_projection_{name}")
                return _normalized(before, f"adjust_bn_{name}")
    return before


def _normal_cell(x, before, filters, name):
    """(outputs of the same lengths, x)."""
    with backend.name_scope(f"normal_A_block_{name}"):
        p = _adjusted(before, x, filters, name)
        h = _normalized(_conv1(_relu(x), filters, f"normal_conv_1_{name}"), f"normal_bn_1_{name}")

        def average(t, side):
            return layers.AveragePooling2D(3, strides=1, padding="same", name=f"normal_{side}_{name}")(t)

        def added(number, *parts):
            return layers.add(list(parts), name=f"normal_add_{number}_{name}")

        def separable(t, size, side):
            return _separable(t, filters, size, f"normal_{side}_{name}")

        with backend.name_scope("block_1"):
            x1 = added(1, separable(h, 5, "left1"), separable(p, 3, "right1"))
        with backend.name_scope("block_2"):
            x2 = added(2, separable(p, 5, "left2"), separable(p, 3, "right2"))
        with backend.name_scope("block_3"):
            x3 = added(3, average(h, "left3"), p)
        with backend.name_scope("block_4"):
            x4 = added(4, average(p, "left4"), average(p, "right4"))
        with backend.name_scope("block_5"):
            x5 = added(5, separable(h, 3, "left5"), h)
        return layers.concatenate([p, x1, x2, x3, x4, x5], axis=3, name=f"normal_concat_{name}"), x


def _reduction_cell(x, before, filters, name):
    """(outputs of half the lengths, x)."""
    with backend.name_scope(f"reduction_A_block_{name}"):
        p = _adjusted(before, x, filters, name)
        h = _normalized(_conv1(_relu(x), filters, f"reduction_conv_1_{name}"), f"reduction_bn_1_{name}")
        padded = _padded(h, 3, f"reduction_pad_1_{name}")

        def pooled(kind, side):
            return kind(3, strides=2, padding="valid", name=f"reduction_{side}_{name}")(padded)

        def separable(t, size, side, halved=True):
            return _separable(t, filters, size, f"reduction_{side}_{name}", halved)

        with backend.name_scope("block_1"):
            x1 = separable(h, 5, "left1"), separable(p, 7, "right1")
            x1 = layers.add(list(x1), name=f"reduction_add_1_{name}")
        with backend.name_scope("block_2"):
            x2 = pooled(layers.MaxPooling2D, "left2"), separable(p, 7, "right2")
            x2 = layers.add(list(x2), name=f"reduction_add_2_{name}")
        with backend.name_scope("block_3"):
            x3 = pooled(layers.AveragePooling2D, "left3"), separable(p, 5, "right3")
            x3 = layers.add(list(x3), name=f"reduction_add3_{name}")
        with backend.name_scope("block_4"):
            x4 = layers.AveragePooling2D(3, strides=1, padding="same", name=f"reduction_left4_{name}")(x1)
            x4 = layers.add([x2, x4])
        with backend.name_scope("block_5"):
            x5 = separable(x1, 3, "left4", False), pooled(layers.MaxPooling2D, "right5")
            x5 = layers.add(list(x5), name=f"reduction_add4_{name}")
        return layers.concatenate([x2, x3, x4, x5], axis=3, name=f"reduction_concat_{name}"), x


def _nasnet(name, size, penultimate_filters, blocks, stem_filters, arguments):
    """A model whose last cells have penultimate_filters / 24 filters in each of 24 outputs."""
    include_top, weights, input_tensor, input_shape, pooling, classes = arguments
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, size, include_top, weights)
    filters = penultimate_filters // 24
    x = layers.Conv2D(
        stem_filters,
        3,
        strides=2,
        padding="valid",
        use_bias=False,
        name="stem_conv1",
        kernel_initializer="he_normal",
    )(img_input)
    x, p = _normalized(x, "stem_bn1"), None
    x, p = _reduction_cell(x, p, filters // 4, "stem_1")
    x, p = _reduction_cell(x, p, filters // 2, "stem_2")
    for part in range(3):
        if part:
            x, p = _reduction_cell(x, p, filters * 2**part, f"reduce_{part * blocks}")
        first = part * blocks + (part > 0)
        for number in range(first, first + blocks):
            x, p = _normal_cell(x, p, filters * 2**part, str(number))
    x = _relu(x)
    if include_top:
        x = layers.Dense(classes, activation="softmax", name="predictions")(
            layers.GlobalAveragePooling2D()(x)
        )
    elif pooling is not None:
        x = (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)
    return imagenet_utils.model_of(img_input, x, input_tensor, name, weights, include_top)


@keras_export("keras.applications.nasnet.NASNetLarge", "keras.applications.NASNetLarge")
def NASNetLarge(
    input_shape=None, include_top=True, weights="imagenet", input_tensor=None, pooling=None, classes=1000
):
    """NASNet-A for images of 331 by 331. weights: None, "imagenet" from ~/.keras/models, or a file."""
    arguments = include_top, weights, input_tensor, input_shape, pooling, classes
    return _nasnet("nasnet_large", 331, 4032, 6, 96, arguments)


@keras_export("keras.applications.nasnet.NASNetMobile", "keras.applications.NASNetMobile")
def NASNetMobile(
    input_shape=None, include_top=True, weights="imagenet", input_tensor=None, pooling=None, classes=1000
):
    """NASNet-A for images of 224 by 224. weights: None, "imagenet" from ~/.keras/models, or a file."""
    arguments = include_top, weights, input_tensor, input_shape, pooling, classes
    return _nasnet("nasnet_mobile", 224, 1056, 4, 32, arguments)
