"""tf.CriticalSection: functions under a lock run one after the other; what would block is refused."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf


class CriticalSectionTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        self.v = tf.get_variable("v", initializer=0, use_resource=True)

    def count(self):
        """Reads the variable, and writes one more: not one op, so that others could come between."""
        value = self.v.read_value()
        with tf.control_dependencies([value]), tf.control_dependencies([self.v.assign(value + 1)]):
            return tf.identity(value)

    def test_executions_do_not_mix(self):
        section = tf.CriticalSection()
        values = [section.execute(self.count) for _ in range(20)]
        with tf.Session() as session:
            session.run(self.v.initializer)
            for first in (0, 20):
                self.assertEqual(sorted(session.run(values)), list(range(first, first + 20)))

    def test_arguments_are_computed_before_the_lock_is_taken(self):
        section = tf.CriticalSection()
        argument = section.execute(lambda: tf.constant(2))
        doubled = section.execute(lambda: {"twice": argument * 2})
        with tf.Session() as session:
            self.assertEqual(session.run(doubled), {"twice": 4})

    def test_an_error_gives_the_lock_back(self):
        section = tf.CriticalSection()
        x = tf.placeholder(tf.int32, [])
        made = section.execute(lambda: tf.div(tf.constant(6), tf.identity(x)))
        with tf.Session() as session:
            with self.assertRaises(tf.errors.InvalidArgumentError):
                session.run(made, {x: 0})
            self.assertEqual(session.run(made, {x: 2}), 3)

    def test_what_would_wait_for_itself_or_share_a_resource_is_refused(self):
        section, other = tf.CriticalSection(), tf.CriticalSection()
        with self.assertRaisesRegex(ValueError, "would cause deadlocks"):
            section.execute(lambda: section.execute(lambda: tf.constant(1)))
        section.execute(self.count)
        with self.assertRaisesRegex(ValueError, "requested exclusive resource access"):
            other.execute(self.count)


if __name__ == "__main__":
    unittest.main()
