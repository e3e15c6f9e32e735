"""Benchmarks of programs (tf.test.Benchmark)."""

import statistics
import time

from braid import protos
from braid.tensorflow.python.client import timeline
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("test.Benchmark")
class TensorFlowBenchmark:
    """Methods whose names begin with "benchmark" measure; this prints what they report."""

    @classmethod
    def is_abstract(cls):
        """Whether it is the base of programs' classes, which has no benchmarks."""
        return cls is TensorFlowBenchmark

    def run_op_benchmark(
        self,
        sess,
        op_or_tensor,
        feed_dict=None,
        burn_iters=2,
        min_iters=10,
        store_trace=False,
        store_memory_usage=True,
        name=None,
        extras=None,
        mbs=0,
    ):
        """Times an operation or tensor, and reports what it returns: the number of runs, their median time in
        seconds, extras, the name, and the throughput of `mbs` megabytes.

        One more run tells what store_memory_usage adds to the extras, the most bytes that each allocator had,
        and store_trace, the timeline as "full_trace_chrome_format", which is not reported.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        extras = {} if extras is None else extras
        trace = {}
        if store_trace or store_memory_usage:
            options = protos.RunOptions(trace_level=protos.RunOptions.FULL_TRACE)
            metadata = protos.RunMetadata()
            sess.run(op_or_tensor, feed_dict, options=options, run_metadata=metadata)
            of_run = timeline.Timeline(metadata.step_stats)
            if store_trace:
                trace["full_trace_chrome_format"] = of_run.generate_chrome_trace_format()
            if store_memory_usage:
                for allocator, most in of_run.analyze_step_stats(show_memory=True).allocator_maximums.items():
                    extras[f"allocator_maximum_num_bytes_{allocator}"] = most.num_bytes
        median = statistics.median(times) if times else -1
        found = {
            "iters": min_iters,
            "wall_time": median,
            "extras": extras,
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**found)
        found["extras"].update(trace)
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
