"""Elements with a state."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


class _ScanDataset(dataset_ops._WithSpec):
    def __init__(self, input_dataset, initial_state, scan_func):
        initial_state = structure.normalize_element(initial_state)
        state, wrapped = dataset_ops._state_function(
            scan_func,
            "tf.data.experimental.scan()",
            input_dataset,
            structure.type_spec_from_value(initial_state),
            returns_state_only=False,
        )
        spec = wrapped.output_structure[1]
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.scan_dataset(
                input_dataset._variant_tensor,
                structure.to_tensor_list(state, initial_state),
                wrapped.captured_inputs,
                f=wrapped.function,
                preserve_cardinality=True,
                **structure.flat_structure(spec),
            ),
            spec,
            [wrapped],
        )


@tf_export("data.experimental.scan")
def scan(initial_state, scan_func):
    """scan_func(state, element) returns the next state and an element: for Dataset.apply."""
    return lambda dataset: _ScanDataset(dataset, initial_state, scan_func)
