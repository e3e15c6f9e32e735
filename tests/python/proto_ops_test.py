"""Fields of protocol buffer messages as tensors, and back."""

import os
import tempfile
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from google.protobuf import descriptor_pb2


class ProtoTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_fields_of_tensorflows_messages(self):
        features = tf.train.Features(
            feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3]))}
        )
        example = tf.train.Example(features=features).SerializeToString()
        sizes, (found,) = tf.io.decode_proto([example, b""], "tensorflow.Example", ["features"], [tf.string])
        again = tf.io.encode_proto(sizes, [found], ["features"], "tensorflow.Example")
        with tf.Session() as session:
            sizes, found, again = session.run([sizes, found, again])
        self.assertEqual(sizes.tolist(), [[1], [0]])
        self.assertEqual(found.tolist(), [[features.SerializeToString()], [b""]])
        self.assertEqual(again.tolist(), [example, b""])

    def test_descriptors_in_a_file_and_in_the_node(self):
        descriptors = descriptor_pb2.FileDescriptorSet()
        message = descriptors.file.add(name="m.proto", package="p").message_type.add(name="M")
        message.field.add(name="x", number=1, type=5, label=3)  # repeated int32
        message.field.add(name="y", number=2, type=9, label=1, default_value="none")
        serialized = descriptors.SerializeToString()
        with tempfile.TemporaryDirectory() as directory, tf.Session() as session:
            path = os.path.join(directory, "descriptors.binpb")
            with open(path, "wb") as file:
                file.write(serialized)
            for source in (path, b"bytes://" + serialized):
                _, values = tf.io.decode_proto(
                    np.array([b"x: 4 x: 5", b'y: "z"'], object),
                    "p.M",
                    ["x", "y"],
                    [tf.int64, tf.string],
                    descriptor_source=source,
                    message_format="text",
                )
                x, y = session.run(values)
                self.assertEqual(x.tolist(), [[4, 5], [0, 0]])
                self.assertEqual(y.tolist(), [[b"none"], [b"z"]])
            with self.assertRaisesRegex(
                tf.errors.InvalidArgumentError, "No descriptor found for message type p.M"
            ):
                session.run(tf.io.decode_proto([b""], "p.M", ["x"], [tf.int32])[0])


if __name__ == "__main__":
    unittest.main()
