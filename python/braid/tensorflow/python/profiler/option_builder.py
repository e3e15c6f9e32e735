"""What a profile shows, as a dictionary of options."""

import copy

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["profiler.ProfileOptionBuilder"])
class ProfileOptionBuilder:
    """Makes the options of tf.profiler.profile: ProfileOptionBuilder(...).with_max_depth(5).build().

    options: a dictionary to begin with.
    """

    def __init__(self, options=None):
        if options is not None:
            self._options = copy.deepcopy(options)
        else:
            self._options = {
                "max_depth": 100,
                "min_bytes": 0,
                "min_micros": 0,
                "min_params": 0,
                "min_float_ops": 0,
                "min_occurrence": 0,
                "order_by": "name",
                "account_type_regexes": [".*"],
                "start_name_regexes": [".*"],
                "trim_name_regexes": [],
                "show_name_regexes": [".*"],
                "hide_name_regexes": [],
                "account_displayed_op_only": False,
                "select": ["micros"],
                "step": -1,
                "output": "stdout",
            }

    @staticmethod
    def _of(**changes):
        builder = ProfileOptionBuilder()
        builder._options.update(max_depth=10000, account_displayed_op_only=True, **changes)
        return builder.build()

    @staticmethod
    def trainable_variables_parameter():
        """The parameters of the variables that are trained."""
        return ProfileOptionBuilder._of(account_type_regexes=["_trainable_variables"], select=["params"])

    @staticmethod
    def float_operation():
        """The operations on numbers. Shapes that are not known count for nothing."""
        return ProfileOptionBuilder._of(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros=1,
        min_bytes=1,
        min_accelerator_micros=0,
        min_cpu_micros=0,
        min_peak_bytes=0,
        min_residual_bytes=0,
        min_output_bytes=0,
    ):
        """Time and memory of a step, whose RunMetadata is given."""
        return ProfileOptionBuilder._of(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self):
        """The dictionary."""
        return copy.deepcopy(self._options)

    def _with(self, **changes):
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth):
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes=0, min_peak_bytes=0, min_residual_bytes=0, min_output_bytes=0):
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(self, min_micros=0, min_accelerator_micros=0, min_cpu_micros=0):
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params):
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence):
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops):
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes):
        """Only nodes count one of whose types (op, device, "_trainable_variables") matches a regular
        expression.
        """
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self, start_name_regexes=None, show_name_regexes=None, hide_name_regexes=None, trim_name_regexes=None
    ):
        """Begins at nodes whose names match, shows and hides nodes, and leaves out all below some."""
        given = dict(
            start_name_regexes=start_name_regexes,
            show_name_regexes=show_name_regexes,
            hide_name_regexes=hide_name_regexes,
            trim_name_regexes=trim_name_regexes,
        )
        return self._with(**{name: copy.copy(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true):
        """Whether totals are those of the nodes that are shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self):
        return self._with(output="none")

    def with_stdout_output(self):
        return self._with(output="stdout")

    def with_file_output(self, outfile):
        return self._with(output="file:outfile=%s" % outfile)

    def with_timeline_output(self, timeline_file):
        return self._with(output="timeline:outfile=%s" % timeline_file)

    def with_pprof_output(self, pprof_file):
        return self._with(output="pprof:outfile=%s" % pprof_file)

    def order_by(self, attribute):
        """name, bytes, peak_bytes, residual_bytes, output_bytes, micros, accelerator_micros, cpu_micros,
        params ...
        """
        return self._with(order_by=attribute)

    def select(self, attributes):
        """What is shown of each node: a list of bytes, micros, params, float_ops, occurrence, device,
        op_types ...
        """
        return self._with(select=copy.copy(attributes))

    def with_step(self, step):
        return self._with(step=step)
