# Threads that stop together: tf.train.Coordinator, LooperThread and QueueRunner.
import threading
import unittest

import support  # noqa: F401, before the others: where the package is

import braid.tensorflow as tf


class CoordinatorTest(unittest.TestCase):
    def test_the_first_error_is_raised_by_join(self):
        coord = tf.train.Coordinator()

        def work(fails):
            with coord.stop_on_exception():
                if fails:
                    raise ValueError("wrong")
                coord.wait_for_stop()

        threads = [threading.Thread(target=work, args=(i == 2,)) for i in range(4)]
        for thread in threads:
            thread.start()
        self.assertRaisesRegex(ValueError, "wrong", coord.join, threads)
        self.assertTrue(coord.joined and coord.should_stop())
        self.assertRaises(KeyError, coord.request_stop, KeyError("late"))

    def test_the_end_of_the_input_is_no_error(self):
        coord = tf.train.Coordinator()
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
        coord.join([])
        coord.clear_stop()
        self.assertFalse(coord.should_stop())

    def test_threads_that_go_on_are_named(self):
        coord = tf.train.Coordinator()
        end = threading.Event()
        thread = threading.Thread(target=end.wait, name="stays")
        thread.start()
        coord.request_stop()
        self.assertRaisesRegex(RuntimeError, "stays", coord.join, [thread], stop_grace_period_secs=0.01)
        end.set()
        thread.join()

    def test_join_ends_when_the_threads_have_ended(self):
        coord = tf.train.Coordinator()
        thread = threading.Thread(target=lambda: None)
        coord.register_thread(thread)
        thread.start()
        coord.join()
        self.assertFalse(coord.should_stop())

    def test_join_does_not_wait_for_a_thread_that_is_not_started(self):
        coord = tf.train.Coordinator()
        end = threading.Event()
        runs = threading.Thread(target=end.wait)
        runs.start()
        threads = [runs, threading.Thread(target=lambda: None)]
        joins = threading.Thread(target=coord.join, args=(threads,), daemon=True)
        joins.start()
        timer = threading.Timer(0.05, end.set)  # when join waits, for which there is no event
        timer.start()
        joins.join(60)
        self.assertFalse(joins.is_alive())
        self.assertTrue(coord.joined)

    def test_a_looper_calls_until_the_stop(self):
        for interval in (None, 0.001):
            coord = tf.train.Coordinator()
            calls = []

            def call():
                calls.append(1)
                if len(calls) == 3:
                    coord.request_stop()

            tf.train.LooperThread.loop(coord, interval, call)
            coord.join()
            self.assertEqual(len(calls), 3)


class QueueRunnerTest(unittest.TestCase):
    def test_queues_are_filled_until_the_input_ends(self):
        with tf.Graph().as_default(), tf.Session() as session:
            count = tf.Variable(0)
            queue = tf.FIFOQueue(2, tf.int32)
            enqueue = queue.enqueue(count.count_up_to(5))
            item = queue.dequeue()
            tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
            session.run(tf.global_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            self.assertEqual(len(threads), 2)
            self.assertEqual(tf.train.start_queue_runners(session, coord), [])  # they run
            self.assertEqual([session.run(item) for _ in range(5)], [0, 1, 2, 3, 4])
            self.assertRaises(tf.errors.OutOfRangeError, session.run, item)
            coord.request_stop()
            coord.join(threads)

    def test_threads_end_with_the_input_though_no_stop_is_asked_for(self):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(9, tf.int32)
            runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.train.limit_epochs(1, 3))])
            session.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = runner.create_threads(session, coord, start=True)
            coord.join(threads)
            self.assertFalse(coord.should_stop())
            self.assertEqual(session.run(queue.size()), 3)

    def test_errors_reach_the_coordinator(self):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(2, tf.float32)
            wrong = queue.enqueue(tf.check_numerics(tf.constant(float("nan")), "bad"))
            runner = tf.train.QueueRunner(queue, [wrong])
            coord = tf.train.Coordinator()
            threads = runner.create_threads(session, coord, start=True)
            self.assertRaises(tf.errors.InvalidArgumentError, coord.join, threads)

    def test_a_runner_survives_as_a_message(self):
        with tf.Graph().as_default() as graph:
            queue = tf.FIFOQueue(2, tf.int32, name="q")
            runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
            made = tf.train.QueueRunner.from_proto(runner.to_proto())
            self.assertEqual((made.name, made.enqueue_ops), ("q", runner.enqueue_ops))
            self.assertEqual(made.queue_closed_exception_types, (tf.errors.OutOfRangeError,))
            self.assertIs(made.cancel_op.graph, graph)


if __name__ == "__main__":
    unittest.main()
