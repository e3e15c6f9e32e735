"""AutoGraph: Python's control flow on tensors as that of the graph, and as it was on Python's own values."""

import contextlib
import functools
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib import autograph

Feature = tf.autograph.experimental.Feature
OFFSET = 5


def absolute(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


def early_returns(x):
    if x < 0:
        return -1
    if x > 10:
        return x - 10
    total = 0
    for i in tf.range(x):
        if i % 3 > 1:
            continue
        if i > 7:
            break
        total += i
    return total


def early_returns_in_python(x):
    if x < 0:
        return -1
    if x > 10:
        return x - 10
    return sum(i for i in range(min(x, 8)) if i % 3 <= 1)


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


def nested_loops(x):
    a = b = c = 0
    while a < x:
        while b < a:
            b += 1
            if b > 100 or not c < 1000:
                continue
            c += b
        a += 1
    return a, b, c


def sum_until(rows):
    total = 0.0
    for row in rows:
        for value in row:
            if value < 0.0:
                continue
            if total > 10.0:
                break
            total += value
    return total


def counted_down(x):
    total = 0
    for i in tf.range(x, 0, -2):
        total += i
    return total


def choose(x):
    y = x if x > 2 else -x
    return (lambda u: u + 1 if u > 0 else u - 1)(y)


def with_functions(x):
    def scaled(y, by=2):
        if y > 0:
            return y * by
        return y

    return scaled(x) + scaled(-x, by=3)


def scaled_or_not(x, y=1, scale=2, off=0):
    if x > y:
        return x * scale + off
    return x


of_three = functools.partial(scaled_or_not, y=3)


def returns_within_scopes(x):
    if x > 0:
        with tf.name_scope("positive"), tf.device("/cpu:0"):
            return x * 2
    return -x


def calls(x, *args, **kwargs):
    return scaled_or_not(*([x] + list(args)), scale=3, **kwargs) + of_three(x, off=7)


class Counter:
    def __init__(self):
        self.value = 0
        self.__step = 2
        self.seen = {"last": 0}

    def add(self, x):
        if x > 0:
            self.value = x * self.__step
            self.seen["last"] = x
        else:
            self.value = -x
        return self.value + self.seen["last"]


class Limited(Counter):
    def add(self, x):
        y = super().add(x)
        if y > 10:
            y = 10
        return y


class Private:
    def method(self, _):
        def __inner(x):
            return x + 1

        class Other:
            __number = 5

            def number(self):
                return self.__number

        if True:
            __y = __inner(2)
        return __y + Other().number()


class ConversionTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_converted(self, function, *values, **options):
        """What the converted function gives for values that are fed."""
        with tf.Graph().as_default() as graph:
            constants = [tf.constant(v) for v in values]
            fed = [tf.placeholder(each.dtype, each.shape) for each in constants]
            result = tf.autograph.to_graph(function, **options)(*fed)
            with tf.Session(graph=graph) as session:
                return session.run(result, dict(zip(fed, values)))

    def test_conditionals_and_loops_give_what_python_gives(self):
        for function, python, values in (
            (absolute, abs, (3, -4)),
            (early_returns, early_returns_in_python, (-3, 0, 4, 10, 12)),
            (fibonacci, fibonacci, (0, 1, 10)),
            (nested_loops, nested_loops, (0, 4)),
            (counted_down, lambda x: sum(range(x, 0, -2)), (5, -5)),
            (choose, choose, (1, 3)),
            (with_functions, with_functions, (1, -3)),
            (calls, calls, (1, 2, 5)),
            (returns_within_scopes, lambda x: x * 2 if x > 0 else -x, (3, -3)),
        ):
            for value in values:
                with self.subTest(function=function.__name__, value=value):
                    self.assertEqual(self.run_converted(function, value), python(value))
                    if (
                        "tf" not in function.__code__.co_names
                    ):  # the converted function of Python's own values
                        self.assertEqual(tf.autograph.to_graph(function)(value), python(value))

    def test_a_loop_over_a_tensor_takes_its_rows(self):
        self.assertEqual(self.run_converted(sum_until, np.arange(12, dtype=np.float32).reshape(3, 4)), 15.0)
        self.assertEqual(self.run_converted(sum_until, -np.ones([2, 2], np.float32)), 0.0)

    def test_a_loop_over_a_dataset_reduces_it(self):
        def total(_):
            numbers = tf.data.Dataset.range(5)
            result = tf.constant(0, tf.int64)
            for number in numbers:
                if number > 2:
                    break
                result += number
            for number in numbers:
                result += number
            return result

        self.assertEqual(self.run_converted(total, 0), 13)

    def test_attributes_and_items_are_carried(self):
        def counted(x):
            return Limited().add(x)

        def items(x, last=-1):
            values = [x, x, x]
            if x > 0:
                values[-1] = x + 1
                values[last - 1], values[0] = x, x * 2
            for i in range(3):
                if x > i:
                    values[i] = values[i] + 1
            return values

        for value in (-4, 2):
            self.assertEqual(self.run_converted(items, value), items(value))

        self.assertEqual(self.run_converted(counted, 3), 9)
        self.assertEqual(self.run_converted(counted, 7), 10)
        self.assertEqual(self.run_converted(counted, -4), 4)

    def test_statements_of_python_stay(self):
        def statements(x):
            global OFFSET
            made = []

            def note(y):
                nonlocal made
                made = made + [y]

            for i in range(4):
                if i % 2:
                    note(x * i)
            for k in [1, 2]:
                if k == 2:
                    continue
                x += k
            else:
                x += 100
            try:
                if x > 0:
                    y = x
                else:
                    y = -x
            except ValueError:
                y = 0
            finally:
                z = 1
            with tf.name_scope("scope"):
                if x > 1:
                    y += OFFSET
                else:
                    y += 20
            i = 0
            while True:
                i += 1
                if i > 5:
                    break
            assert made, "two numbers"
            return [each + 1 for each in made if each is not None], y + z + i

        # odd numbers of 0 to 3, times 2; 2 + 1 + 100 and 5, 1 and 6
        self.assertEqual(self.run_converted(statements, 2), ([3, 7], 115))

    def test_statements_of_python_do_what_they_did(self):
        def value_that_raises(items):
            try:
                return items["a key that is not there"]
            except KeyError:
                pass
            return "default"

        def suppressed(items):
            if items is not None:
                with contextlib.suppress(KeyError):
                    return items["a key that is not there"]
            return "default"

        def rest_of_an_iterator(_):
            numbers = iter(range(6))
            for number in numbers:
                if number == 2:
                    break
            return list(numbers)

        def annotated(items):
            if items is not None:
                kind: str = "items"
                other: int
            return kind

        def variables_by_their_names(items):
            a, state_, dict = 1, 2, 3
            if items is not None:
                text = "{a}{state_}".format(**locals()) + str(eval("a + dict"))
            return text

        def described(_):
            def inner(x):
                "What it does."
                if x:
                    y = 1
                return y

            return inner.__doc__

        def caller(_):
            return inspect.currentframe().f_code.co_filename == __file__

        for function in (
            value_that_raises,
            suppressed,
            rest_of_an_iterator,
            annotated,
            variables_by_their_names,
            described,
            caller,
            Private().method,
        ):
            with self.subTest(function=function.__name__):
                converted = tf.autograph.to_graph(function)
                bound = [function.__self__] if inspect.ismethod(function) else []
                self.assertEqual(converted(*bound, {}), function({}))

        def ends_an_exception(x):
            try:
                raise ValueError
            finally:
                return x

        with self.assertRaisesRegex(autograph.AutoGraphError, "a jump within `finally`"):
            tf.autograph.to_graph(ends_an_exception)

    def test_variables_that_functions_and_modules_share_are_carried(self):
        def shared(x):
            global OFFSET
            before, OFFSET = OFFSET, x
            y = x
            of_y = [lambda: y]

            def step():
                nonlocal y
                if x > 0:
                    y = y + 1

            step()
            if x > 1:
                y = y * 10
                OFFSET = x + 1
            result, OFFSET = OFFSET + of_y[0](), before
            return result

        for value in (-3, 1, 3):
            self.assertEqual(self.run_converted(shared, value), shared(value))

    def test_nodes_of_a_python_loops_test_are_in_the_graph(self):
        def loop(x):
            made = []

            def layer():
                made.append(tf.identity(x))
                tf.add_to_collection("made", made[-1])
                return made

            while len(tf.get_collection("made")) < 1 or len(layer()) < 3:
                if not tf.get_collection("made"):
                    layer()
            return made[-1]

        self.assertEqual(self.run_converted(loop, 2), 2)

    def test_features_on_request(self):
        def compared(x, y):
            if x == y:
                return 1
            return 2

        self.assertEqual(tf.autograph.to_graph(compared)(tf.constant(3), tf.constant(3)), 2)  # two tensors
        feature = {"experimental_optional_features": Feature.EQUALITY_OPERATORS}
        self.assertEqual(self.run_converted(compared, 3, 3, **feature), 1)

        def listed(n):
            squares = []
            autograph.set_element_type(squares, tf.int32)
            for i in tf.range(n):
                squares.append(i * i)
            return autograph.stack(squares)

        squares = self.run_converted(listed, np.int32(4), experimental_optional_features=Feature.LISTS)
        self.assertEqual(squares.tolist(), [0, 1, 4, 9])

        def named(x):
            assert x > 0, "a number above zero"
            return x * 2

        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.int32, [])
            y = tf.autograph.to_graph(named, experimental_optional_features=Feature.all())(x)
            self.assertTrue(y.name.startswith("named/"), y.name)
            self.assertEqual(session.run(y, {x: 3}), 6)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "a number above zero"):
                session.run(y, {x: -3})

    def test_options_of_a_loop(self):
        def loop(x):
            y = 0
            for i in tf.range(x):
                tf.autograph.experimental.set_loop_options(parallel_iterations=3, maximum_iterations=2)
                y += i + 1
            return y

        self.assertEqual(self.run_converted(loop, 5), 3)
        with tf.Graph().as_default() as graph:
            tf.autograph.to_graph(loop)(tf.placeholder(tf.int32, []))
            enters = [op for op in graph.get_operations() if op.type == "Enter"]
            self.assertEqual({op.get_attr("parallel_iterations") for op in enters}, {3})

    def test_nodes_have_tensorflows_names(self):
        x = tf.placeholder(tf.int32, [], name="x")
        tf.autograph.to_graph(absolute)(x)
        tf.autograph.to_graph(fibonacci)(x)
        names = {op.name for op in tf.get_default_graph().get_operations()}
        self.assertLessEqual(
            {"Greater", "cond/Switch", "cond/Neg", "cond/Merge", "while/Enter", "while/sub"}, names
        )
        self.assertNotIn("Greater_1", names)  # of the loop's test before the loop, which decides what it is

    def test_variables_that_a_branch_or_a_loop_lacks(self):
        def one_branch(x):
            if x > 0:
                y = 1
            return y

        def no_value_before(x):
            while x > 0:
                y = x
                x -= 1
            return y

        def one_return(x):
            if x > 0:
                return x

        def two_types(x):
            if x > 0:
                y = 1
            else:
                y = 1.5
            return y

        def grows(x):
            y = 0
            while y < x:
                y = y + tf.constant(0.5)
            return y

        def returns_from_loop(x):
            while x > 0:
                if x == 3:
                    return x
                x -= 1
            return x

        def ends_by_a_tensor(x):
            for _ in [1, 2]:
                if x > 3:
                    break
                x += 1
            return x

        for function, error, message in (
            (ends_by_a_tensor, TypeError, "whether a loop of Python goes on depends on the tensor"),
            (one_branch, ValueError, r"must also be initialized in the else branch: \('y',\)"),
            (no_value_before, ValueError, r"must be defined before the loop: \('y',\)"),
            (one_return, ValueError, "A value must also be returned from the else branch"),
            (
                two_types,
                TypeError,
                '"y" has dtype int32 in the TRUE branch, but dtype=float32 in the FALSE branch',
            ),
            (grows, (TypeError, ValueError), "int32|float32"),
        ):
            with self.subTest(function=function.__name__), self.assertRaisesRegex(error, message):
                self.run_converted(function, 1)
        with self.assertRaisesRegex(
            ValueError, "return statements are not supported within a TensorFlow loop"
        ):
            features = {"experimental_optional_features": Feature.EQUALITY_OPERATORS}
            self.run_converted(returns_from_loop, 5, **features)

    def test_errors_show_the_program(self):
        def fails(x):
            if x > 0:
                return tf.matmul(x, x)
            return x

        try:
            tf.autograph.to_graph(fails)(tf.constant(1.0))
        except ValueError as error:
            lines = [each.line for each in traceback.extract_tb(error.__traceback__)]
            self.assertIn("return tf.matmul(x, x)", lines)
            self.assertRegex(str(error), r"built at .*autograph_test.py")
        else:
            self.fail("a product of scalars")

    def test_what_cannot_be_converted(self):
        namespace = {}
        exec("def no_source(x):\n    return x + 1\n", namespace)
        with self.assertRaisesRegex(autograph.AutoGraphError, "source of no_source .*cannot be read"):
            tf.autograph.to_graph(namespace["no_source"])

        def generates(x):
            yield x

        with self.assertRaisesRegex(autograph.AutoGraphError, "generator"):
            tf.autograph.to_graph(generates)
        with self.assertRaisesRegex(autograph.AutoGraphError, "cannot convert entity 3"):
            tf.autograph.to_graph(3)

        def calls_both(x):
            return namespace["no_source"](x) + sum(generates(x))

        self.assertEqual(self.run_converted(calls_both, 2), 5)  # they are called as they are

    def test_a_class_and_its_code(self):
        converted = tf.autograph.to_graph(Counter)
        with tf.Session() as session:
            x = tf.placeholder(tf.int32, [])
            y = converted().add(x)
            self.assertEqual([session.run(y, {x: v}) for v in (3, -3)], [9, 3])
        code = tf.autograph.to_code(absolute)
        self.assertIn("def tf__absolute(x):", code)
        self.assertIn("ag__.if_stmt(x > 0, if_body, else_body", code)
        compile(code, "code", "exec")

    def test_what_is_converted_is_logged_on_request(self):
        def logged(x):
            return x + 1 if x > 0 else x

        tf.autograph.set_verbosity(2)
        self.addCleanup(tf.autograph.set_verbosity, 0)
        with self.assertLogs("tensorflow", "INFO") as logs:
            tf.autograph.to_graph(logged)
        self.assertIn("Converting", logs.output[0])
        self.assertIn("def tf__logged(x)", logs.output[1])

    def test_the_decorator_and_its_opposite(self):
        @autograph.convert(recursive=True)
        def decorated(x):
            return absolute(x) + 1

        @tf.autograph.experimental.do_not_convert
        def as_it_is(x):
            return absolute(x)

        @autograph.convert(recursive=True)
        def calls_it(x):
            return as_it_is(x)

        with tf.Session() as session:
            x = tf.placeholder(tf.int32, [])
            self.assertEqual(session.run(decorated(x), {x: -3}), 4)
            with self.assertRaisesRegex(TypeError, "using a `tf.Tensor` as a Python `bool` is not allowed"):
                calls_it(x)

    def test_gradients_of_what_is_converted(self):
        def power(x):
            y = x
            for _ in tf.range(3):
                if y > 0:
                    y *= x
                else:
                    y = -y
            return y

        with tf.Session() as session:
            x = tf.placeholder(tf.float32, [])
            (gradient,) = tf.gradients(tf.autograph.to_graph(power)(x), x)
            self.assertEqual(session.run(gradient, {x: 2.0}), 32.0)
            self.assertEqual(session.run(gradient, {x: -2.0}), -4.0)  # of -x, -x * x and x * x


class UseTest(unittest.TestCase):
    """What converts functions by itself."""

    def setUp(self):
        tf.reset_default_graph()

    def test_functions_of_datasets(self):
        def labelled(value):
            if value > 2:
                return value, 1.0
            return -value, 2.0

        dataset = (
            tf.data.Dataset.range(6)
            .map(lambda v: v * 2 if v > 3 else v)
            .filter(lambda v: v > 0 and not v > 8)
        )
        item = dataset.map(labelled).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            self.assertEqual(
                [session.run(item) for _ in range(4)], [(-1, 2.0), (-2, 2.0), (3, 1.0), (8, 1.0)]
            )

    def test_lambdas_of_one_line(self):
        # fmt: off
        numbers = tf.data.Dataset.range(4)
        first = numbers.map(lambda x: x + 1 if x > 1 else x).map(lambda x: -x if x > 1 else x)
        second = numbers.map(lambda x: x + 1 if x > 1 else x).map(lambda x: x + 1 if x > 1 else x); third = (
            numbers.map(lambda x: x - 1 if x > 1 else x))
        # fmt: on
        for dataset, expected in ((first, [0, 1, -3, -4]), (second, [0, 1, 4, 5]), (third, [0, 1, 1, 2])):
            values = dataset.batch(4).make_one_shot_iterator().get_next()
            with tf.Session() as session:
                self.assertEqual(session.run(values).tolist(), expected)

    def test_not_where_it_is_off(self):
        @tf.autograph.experimental.do_not_convert
        def make():
            return tf.data.Dataset.range(6).map(lambda v: v * 2 if v > 3 else v)

        with self.assertRaisesRegex(TypeError, "as a Python `bool`"):
            make()

    def test_layers_of_a_program(self):
        class Doubling(tf.keras.layers.Layer):
            def call(self, inputs):
                if tf.reduce_sum(inputs) > 0:
                    return inputs * 2
                return inputs

        inputs = tf.keras.Input((2,))
        model = tf.keras.Model(inputs, Doubling()(inputs))
        self.assertEqual(model.predict(np.array([[1, 2]])).tolist(), [[2, 4]])
        self.assertEqual(model.predict(np.array([[-1, -2]])).tolist(), [[-1, -2]])

    def test_functions_of_a_strategy_where_it_is_on(self):
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")

        @autograph.convert(recursive=True)
        def step(x):
            return strategy.experimental_run_v2(absolute, args=(x,))

        with tf.Session() as session:
            x = tf.placeholder(tf.int32, [])
            self.assertEqual(session.run(step(x), {x: -3}), 3)
        with self.assertRaisesRegex(TypeError, "as a Python `bool`"):
            strategy.experimental_run_v2(absolute, args=(tf.constant(1),))

    def test_print_in_a_step(self):
        program = """
import braid.tensorflow as tf

def shown(x):
    print("x is", x)
    return x

convert = tf.autograph.to_graph
x = tf.placeholder(tf.int32, [])
y = convert(shown, experimental_optional_features=tf.autograph.experimental.Feature.all())(x)
with tf.Session() as session:
    for value in (3, 4):
        session.run(y, {x: value})
"""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "program.py")
            path.write_text(program)
            environment = {**os.environ, "PYTHONPATH": sys.path[0]}
            done = subprocess.run(
                [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=120
            )
        self.assertEqual(done.stdout, "x is 3\nx is 4\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
