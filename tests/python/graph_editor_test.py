"""tf.contrib.graph_editor: parts of a graph are found, copied, and joined in another way."""

import unittest

import support
import braid.tensorflow as tf

ge = tf.contrib.graph_editor


def names(elements):
    return [e.name for e in elements]


class GraphEditorTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.a = tf.constant(2.0, name="a")
        self.b = tf.constant(3.0, name="b")
        with tf.name_scope("part"):
            self.sum = tf.add(self.a, self.b, name="sum")
            self.product = tf.multiply(self.sum, self.b, name="product")
        self.end = tf.identity(self.product, name="end")

    def run_all(self, tensors, feeds=None):
        with tf.Session() as session:
            return session.run(tensors, feeds)

    def test_a_view_has_the_edges_that_cross_its_boundary(self):
        view = ge.sgv_scope("part", graph=tf.get_default_graph())
        self.assertEqual(names(view.ops), ["part/sum", "part/product"])
        self.assertEqual(names(view.inputs), ["a:0", "b:0"])
        self.assertEqual(names(view.outputs), ["part/product:0"])
        self.assertEqual(names(view.consumers()), ["end"])
        self.assertEqual(names(view.remap([1]).inputs), ["b:0"])
        with self.assertRaisesRegex(ValueError, "range"):
            view.remap([2])
        with self.assertRaisesRegex(ValueError, "repetition"):
            view.remap([1, 1])
        passing = ge.sgv(self.a, self.sum.op)
        self.assertEqual(names(passing.passthroughs), [])
        self.assertEqual(names(ge.sgv(self.a).passthroughs), ["a:0"])

    def test_walks_go_along_edges_of_values_and_of_control(self):
        with tf.control_dependencies([self.sum]):
            late = tf.constant(1.0, name="late")
        graph = tf.get_default_graph()
        self.assertEqual(names(ge.get_forward_walk_ops(self.sum.op)), ["part/sum", "part/product", "end"])
        control = ge.ControlOutputs(graph)
        self.assertIn("late", names(ge.get_forward_walk_ops(self.sum.op, control_outputs=control)))
        self.assertEqual(names(ge.get_backward_walk_ops(late, control_inputs=False)), ["late"])
        self.assertIn("part/sum", names(ge.get_backward_walk_ops(late, control_inputs=True)))
        walked = ge.get_backward_walk_ops(self.end, stop_at_ts=[self.sum])
        self.assertEqual(sorted(names(walked)), ["b", "end", "part/product"])
        between = ge.get_walks_intersection_ops(self.a.op, self.product.op)
        self.assertEqual(names(between), ["a", "part/sum", "part/product"])

    def test_names_are_chosen_by_expressions(self):
        graph = tf.get_default_graph()
        self.assertEqual(names(ge.select_ops("^part/", graph=graph)), ["part/sum", "part/product"])
        ops, tensors = ge.select_ops_and_ts("^part/s", "(?#ts)^[ab]:", graph=graph)
        self.assertEqual((names(ops), names(tensors)), (["part/sum"], ["a:0", "b:0"]))
        with self.assertRaisesRegex(ValueError, "graph"):
            ge.select_ops("^part/")

    def test_a_replaced_tensor_reaches_the_targets_by_copies(self):
        ten = tf.constant(10.0)
        replaced = ge.graph_replace({"end": self.end}, {self.a: ten}, dst_scope="copy")["end"]
        self.assertEqual(replaced.name, "copy/end:0")
        self.assertEqual(self.run_all([self.end, replaced]), [15.0, 39.0])
        with self.assertRaisesRegex(ValueError, "not connected"):
            ge.graph_replace(self.sum, {self.end: ten})

    def test_copies_take_placeholders_or_what_replaces_their_inputs(self):
        view = ge.sgv_scope("part", graph=tf.get_default_graph())
        other = tf.Graph()
        copied, info = ge.copy(view, dst_graph=other, dst_scope="x", src_scope="part")
        self.assertEqual(names(copied.ops), ["x/sum", "x/product"])
        self.assertEqual(
            names(op for op in other.get_operations() if op.type == "Placeholder")[0], "x/geph__a_0"
        )
        self.assertIs(info.original(info.transformed(self.sum)), self.sum)
        copied, _ = ge.copy_with_input_replacements(view, {self.b: tf.constant(1.0)})
        self.assertEqual(self.run_all(copied.outputs[0]), 3.0)

    def test_loops_are_copied_with_their_cycles(self):
        _, power = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * self.a), (0, self.a))
        replaced = ge.graph_replace(power, {self.a: tf.constant(3.0)}, dst_scope="copy")
        self.assertEqual(self.run_all([power, replaced]), [16.0, 81.0])

    def test_consumers_get_other_tensors(self):
        other = tf.constant(7.0)
        self.assertEqual(ge.reroute_ts(other, self.b, can_modify=[self.product.op]), 1)
        self.assertEqual(self.run_all([self.sum, self.end]), [5.0, 35.0])
        self.assertEqual(ge.swap_ts(self.a, self.b), 2)
        self.assertEqual(names(self.sum.op.inputs), ["b:0", "a:0"])
        with self.assertRaisesRegex(ValueError, "not compatible"):
            ge.reroute_ts(tf.constant(1), self.a)

    def test_parts_are_cut_off_and_joined(self):
        view, inputs, outputs = ge.detach(self.product.op)
        self.assertEqual(
            names(inputs + outputs), ["part/geph__sum_0:0", "geph__b_0:0", "part/geph__product_0:0"]
        )
        ge.connect(ge.sgv(self.a), ge.sgv(self.end.op))
        self.assertEqual(self.run_all(self.end), 2.0)
        _, made = ge.bypass(ge.sgv(self.product.op).remap_inputs([0]))
        self.assertEqual(len(made), 1)

    def test_nodes_wait_for_others_or_no_longer(self):
        ge.add_control_inputs(self.b.op, self.a.op)
        with self.assertRaisesRegex(ValueError, "already"):
            ge.add_control_inputs(self.b.op, self.a.op)
        ge.remove_control_inputs(self.b.op, self.a.op)
        self.assertEqual(self.b.op.control_inputs, [])

    def test_gradients_from_layers_that_are_computed_again(self):
        """As programs do that keep the values of few layers."""
        layers = [tf.Variable(0.5).read_value()]
        for _ in range(4):
            layers.append(tf.sin(layers[-1] * 1.5))
        kept = layers[2]
        expected = tf.gradients(layers[-1], layers[0])[0]
        after = ge.get_forward_walk_ops(
            kept.consumers(), inclusive=True, within_ops=ge.get_backward_walk_ops(layers[-1].op)
        )
        copied, info = ge.copy_with_input_replacements(ge.sgv(after), {})
        stop = tf.stop_gradient(kept)
        ge.reroute_ts([stop], [kept], can_modify=list(info._transformed_ops.values()))
        again = info.transformed(layers[-1])
        (from_kept,) = tf.gradients(again, stop)
        (total,) = tf.gradients(kept, layers[0], from_kept)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertAlmostEqual(*session.run([expected, total]), places=6)


if __name__ == "__main__":
    unittest.main()
