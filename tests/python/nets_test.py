# timeout: 180
"""tf.contrib.slim.nets: the graphs of the networks, which are TensorFlow 1.15's."""

import unittest

import support  # noqa: F401
import braid.tensorflow as tf

slim = tf.contrib.slim
nets = slim.nets


class NetsTest(unittest.TestCase):
    def build(self, network, scope, size=224, **arguments):
        """The logits, end points, number of nodes and names of variables of a network with 10 classes."""
        with tf.Graph().as_default() as graph:
            with slim.arg_scope(scope()):
                images = tf.placeholder(tf.float32, [2, size, size, 3])
                logits, end_points = network(images, 10, **arguments)
            names = [v.op.name for v in tf.global_variables()]
            return logits, end_points, len(graph.get_operations()), names

    def test_networks_have_the_nodes_and_variables_of_tensorflow(self):
        networks = [  # nodes, end points and variables of TensorFlow 1.15's
            (nets.vgg.vgg_16, nets.vgg.vgg_arg_scope, 224, ("vgg_16", 378, 21, 32)),
            (nets.alexnet.alexnet_v2, nets.alexnet.alexnet_v2_arg_scope, 224, ("alexnet_v2", 201, 11, 16)),
            (nets.overfeat.overfeat, nets.overfeat.overfeat_arg_scope, 231, ("overfeat", 205, 11, 16)),
            (
                nets.resnet_v1.resnet_v1_50,
                nets.resnet_v1.resnet_arg_scope,
                224,
                ("resnet_v1_50", 2524, 75, 267),
            ),
            (
                nets.resnet_v2.resnet_v2_50,
                nets.resnet_v2.resnet_arg_scope,
                224,
                ("resnet_v2_50", 2515, 75, 272),
            ),
            (
                nets.inception.inception_v1,
                nets.inception.inception_v1_arg_scope,
                224,
                ("inception_v1", 2468, 18, 230),
            ),
            (
                nets.inception.inception_v2,
                nets.inception.inception_v2_arg_scope,
                224,
                ("inception_v2", 2959, 17, 277),
            ),
            (
                nets.inception.inception_v3,
                nets.inception.inception_v3_arg_scope,
                299,
                ("inception_v3", 4139, 22, 388),
            ),
        ]
        for network, scope, size, expected in networks:
            logits, end_points, nodes, names = self.build(network, scope, size)
            self.assertEqual((network.__name__, nodes, len(end_points), len(names)), expected)

    def test_names_of_inception_v3_are_those_of_its_checkpoints_and_not_of_its_kernels(self):
        inception = nets.inception
        _, _, _, names = self.build(inception.inception_v3, inception.inception_v3_arg_scope, 150)
        self.assertIn("InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights", names)
        self.assertIn("InceptionV3/Mixed_6a/Branch_0/Conv2d_1a_1x1/BatchNorm/moving_mean", names)
        self.assertIn("InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/weights", names)

    def test_output_stride_turns_strides_into_dilations(self):
        resnet = nets.resnet_v1
        logits, end_points, _, _ = self.build(
            resnet.resnet_v1_50, resnet.resnet_arg_scope, 64, output_stride=16, global_pool=False
        )
        self.assertEqual(logits.shape.as_list(), [2, 4, 4, 10])
        self.assertEqual(end_points["resnet_v1_50/block4"].shape.as_list(), [2, 4, 4, 2048])
        with self.assertRaisesRegex(ValueError, "output_stride"):
            self.build(resnet.resnet_v1_50, resnet.resnet_arg_scope, 64, output_stride=6)

    def test_a_stage_may_be_the_last(self):
        with tf.Graph().as_default():
            images = tf.placeholder(tf.float32, [1, 64, 64, 3])
            net, end_points = nets.inception.inception_v2_base(images, "Mixed_3b")
            self.assertEqual(net.shape.as_list(), [1, 8, 8, 256])
            self.assertEqual(list(end_points)[-1], "Mixed_3b")
            with self.assertRaisesRegex(ValueError, "Unknown final endpoint"):
                nets.inception.inception_v1_base(images, "Mixed_9z")


if __name__ == "__main__":
    unittest.main()
