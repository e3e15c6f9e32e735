"""Benchmarks of programs (tf.test.Benchmark)."""

import time

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("test.Benchmark")
class TensorFlowBenchmark:
    """Methods whose names begin with "benchmark" measure; this prints what they report."""

    def run_op_benchmark(
        self, sess, op_or_tensor, feed_dict=None, burn_iters=2, min_iters=10, name=None, **options
    ):
        """Times an operation or tensor. Returns {"wall_time": the median in seconds, "iters": how many runs}."""
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        found = {"wall_time": sorted(times)[len(times) // 2], "iters": min_iters}
        self.report_benchmark(name=name, **found)
        return found

    def report_benchmark(
        self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None, metrics=None
    ):
        print(f"{name or type(self).__name__}: {wall_time} s, {iters} runs {extras or ''}")

    def evaluate(self, tensors):
        from braid.tensorflow.python.framework import ops

        return ops.get_default_session().run(tensors)


Benchmark = TensorFlowBenchmark


def benchmark_config():
    from braid import protos

    return protos.ConfigProto()


tf_export("test.benchmark_config").export_constant(__name__, "benchmark_config")
