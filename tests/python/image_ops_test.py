"""Pictures and signals: against numpy."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np


class ImageOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.image = np.random.RandomState(2).rand(4, 6, 3).astype(np.float32)

    def check(self, tensor, expected, **tolerance):
        with tf.Session() as session:
            value = session.run(tensor)
        np.testing.assert_allclose(value, expected, **{"rtol": 1e-4, "atol": 1e-5, **tolerance})
        self.assertEqual(tensor.shape.as_list(), list(np.shape(expected)))

    def test_colors_in_yiq(self):
        """Of TensorFlow 1.15 are the numbers of the changed picture."""
        from braid.tensorflow.contrib.image.python.ops import distort_image_ops

        x = np.random.RandomState(0).rand(2, 4, 5, 3).astype(np.float32)
        changed = distort_image_ops.adjust_hsv_in_yiq(x, 0.5, 1.5, 0.8)
        pixels = distort_image_ops.adjust_hsv_in_yiq((x * 255).astype(np.uint8), 0.5, 1.2, 0.8)
        same = distort_image_ops.adjust_hsv_in_yiq(x)
        bounds = {"max_delta_hue": 0.4, "lower_saturation": 0.5, "upper_value": 1.2}
        moved = distort_image_ops.random_hsv_in_yiq(x, **bounds, seed=3)
        with tf.Session() as session:
            floats, bytes_, same, moved = session.run([changed, pixels, same, moved])
        np.testing.assert_allclose(floats[0, 0, 1], [0.39903605, 0.33797094, 0.61832595], rtol=1e-5)
        np.testing.assert_array_equal(bytes_[0, 0, 1], [100, 88, 145])
        self.assertEqual((floats.shape, bytes_.dtype), (x.shape, np.uint8))
        np.testing.assert_allclose(same, x, rtol=1e-3, atol=2e-3)  # the constants of its matrices are rounded
        self.assertGreater(np.abs(moved - x).max(), 0.01)
        with self.assertRaisesRegex(ValueError, "lower_value must be < upper_value."):
            distort_image_ops.random_hsv_in_yiq(x, lower_value=2)

    def test_places(self):
        x = self.image
        self.check(tf.image.flip_left_right(x), x[:, ::-1])
        self.check(tf.image.flip_up_down(x), x[::-1])
        self.check(tf.image.transpose_image(x), x.transpose(1, 0, 2))
        self.check(tf.image.crop_to_bounding_box(x, 1, 2, 2, 3), x[1:3, 2:5])
        self.check(
            tf.image.pad_to_bounding_box(x, 1, 0, 6, 7), np.pad(x, [[1, 1], [0, 1], [0, 0]], "constant")
        )
        self.check(tf.image.central_crop(x, 0.5), x[1:3, 1:5])
        self.check(
            tf.image.resize_image_with_crop_or_pad(x, 6, 4),
            np.pad(x[:, 1:5], [[1, 1], [0, 0], [0, 0]], "constant"),
        )
        batch = x[np.newaxis]
        self.check(tf.image.flip_left_right(batch), batch[:, :, ::-1])
        with self.assertRaisesRegex(ValueError, "height must be >= target"):
            tf.image.crop_to_bounding_box(x, 3, 0, 2, 2)

    def test_turns(self):
        for k in range(5):
            turned = tf.image.rot90(tf.constant(self.image), k)
            with tf.Session() as session:
                np.testing.assert_array_equal(session.run(turned), np.rot90(self.image, k))

    def test_sizes(self):
        x = self.image
        nearest = tf.image.resize_images(x, [8, 12], tf.image.ResizeMethod.NEAREST_NEIGHBOR)
        self.check(nearest, x.repeat(2, 0).repeat(2, 1))
        self.check(
            tf.image.resize_images(x, [2, 3], tf.image.ResizeMethod.AREA),
            x.reshape(2, 2, 3, 2, 3).mean((1, 3)),
        )
        self.check(tf.image.resize_images(x, [8, 11])[::2, :1], x[:, :1])
        self.assertEqual(
            tf.image.resize_images(x, [8, 8], preserve_aspect_ratio=True).shape.as_list(), [5, 8, 3]
        )
        with self.assertRaisesRegex(ValueError, "not implemented"):
            tf.image.resize_images(x, [2, 2], 7)

    def test_values(self):
        x = self.image
        bytes_ = (x * 255).astype(np.uint8)
        self.check(tf.image.convert_image_dtype(bytes_, tf.float32), bytes_ / 255)
        self.check(tf.image.convert_image_dtype(x, tf.uint8), (x * 255.5).astype(np.uint8))
        self.check(tf.image.adjust_brightness(x, 0.1), x + 0.1)
        mean = x.mean((0, 1))
        self.check(tf.image.adjust_contrast(x, 2.0), (x - mean) * 2 + mean)
        self.check(tf.image.per_image_standardization(x), (x - x.mean()) / x.std(), rtol=1e-3, atol=1e-4)
        self.check(tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)), x)
        self.check(tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x)), x)
        self.check(tf.image.rgb_to_grayscale(x), (x @ [0.2989, 0.587, 0.114])[..., np.newaxis])

    def test_files(self):
        pixels = (self.image * 255).astype(np.uint8)
        png = tf.image.encode_png(pixels)
        jpeg = tf.image.encode_jpeg(pixels)
        with tf.Session() as session:
            np.testing.assert_array_equal(session.run(tf.image.decode_png(png)), pixels)
            np.testing.assert_array_equal(session.run(tf.image.decode_image(png)), pixels)
            self.assertEqual(session.run([tf.image.is_jpeg(png), tf.image.is_jpeg(jpeg)]), [False, True])

    def test_quality(self):
        x = np.random.RandomState(0).rand(2, 16, 16, 3).astype(np.float32)
        self.check(tf.image.ssim(tf.constant(x), tf.constant(x), 1.0), [1, 1])
        noise = x + 0.1
        self.check(tf.image.psnr(tf.constant(x), tf.constant(noise), 1.0), [20, 20], rtol=1e-3)
        self.check(
            tf.image.total_variation(tf.constant(x[0])),
            np.abs(np.diff(x[0], axis=0)).sum() + np.abs(np.diff(x[0], axis=1)).sum(),
        )


class SignalTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.rng = np.random.RandomState(3)

    check = ImageOpsTest.check

    def test_transforms_of_any_length(self):
        for n in (1, 8, 12, 97, 200, 1024):
            z = (self.rng.randn(2, n) + 1j * self.rng.randn(2, n)).astype(np.complex64)
            self.check(tf.signal.fft(z), np.fft.fft(z), rtol=1e-3, atol=1e-3)
            self.check(tf.signal.ifft(z), np.fft.ifft(z), rtol=1e-3, atol=1e-4)
            x = z.real
            self.check(tf.signal.rfft(x), np.fft.rfft(x), rtol=1e-3, atol=1e-3)
            self.check(tf.signal.irfft(tf.signal.rfft(x), [n]), x, rtol=1e-3, atol=1e-4)
        x = self.rng.randn(3, 4, 6).astype(np.float32)
        self.check(tf.signal.rfft2d(x), np.fft.rfft2(x), rtol=1e-3, atol=1e-3)
        z = tf.placeholder(tf.complex64, [None])
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(tf.signal.fft(z), {z: [1, 2, 3]})[0], 6)

    def test_a_signal_from_its_spectra(self):
        x = self.rng.randn(64).astype(np.float32)
        spectra = tf.signal.stft(tf.constant(x), 16, 8)
        self.assertEqual(spectra.shape.as_list(), [7, 9])
        back = tf.signal.inverse_stft(spectra, 16, 8, window_fn=tf.signal.inverse_stft_window_fn(8))
        self.check(back[8:-8], x[8:-8], rtol=1e-3, atol=1e-4)

    def test_frames(self):
        x = np.arange(7, dtype=np.float32)
        self.check(tf.signal.frame(x, 3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6]])
        self.check(tf.signal.frame(x, 4, 3, pad_end=True), [[0, 1, 2, 3], [3, 4, 5, 6], [6, 0, 0, 0]])
        self.check(tf.signal.overlap_and_add([[1.0, 2.0], [3.0, 4.0]], 1), [1, 5, 4])

    def test_signals_of_an_unknown_rank(self):
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        unknown = tf.placeholder_with_default(x, None)
        for got, known in (
            (tf.signal.frame(unknown, 2, 1, axis=-2), tf.signal.frame(x, 2, 1, axis=1)),
            (
                tf.signal.frame(unknown, 3, 2, pad_end=True, axis=tf.constant(1)),
                tf.signal.frame(x, 3, 2, pad_end=True, axis=1),
            ),
            (tf.signal.overlap_and_add(unknown, 2), tf.signal.overlap_and_add(x, 2)),
            (tf.signal.overlap_and_add(unknown, 4), tf.signal.overlap_and_add(x, 4)),
            (tf.signal.dct(unknown, type=1), tf.signal.dct(x, type=1)),
            (tf.signal.dct(unknown, n=6), tf.signal.dct(x, n=6)),
            (tf.signal.dct(unknown, norm="ortho"), tf.signal.dct(x, norm="ortho")),
            (tf.signal.idct(unknown), tf.signal.idct(x)),
            (tf.signal.idct(unknown, norm="ortho"), tf.signal.idct(x, norm="ortho")),
        ):
            with tf.Session() as session:
                np.testing.assert_allclose(*session.run([got, known]), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
