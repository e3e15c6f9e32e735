"""The program saved_model_cli: what is in a SavedModel, and runs of its signatures.

python3 -m braid -m tensorflow.python.tools.saved_model_cli show --dir MODEL --all
"""

import argparse
import ast
import os
import re
import sys
import warnings

import numpy as np

from braid import protos
from braid.tensorflow.core.framework import types_pb2
from braid.tensorflow.python.client import session
from braid.tensorflow.python.debug.wrappers import local_cli_wrapper
from braid.tensorflow.python.framework import meta_graph, ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.saved_model import loader
from braid.tensorflow.python.tools import saved_model_utils

# Ops that read and write files: who runs a model of others may want to know.
_OP_BLACKLIST = {"WriteFile", "ReadFile"}


def get_meta_graph_def(saved_model_dir, tag_set):
    """The graph of a SavedModel that has the tags tag_set, a string with commas."""
    return saved_model_utils.get_meta_graph_def(saved_model_dir, tag_set)


def get_signature_def_map(saved_model_dir, tag_set):
    """{key: signature} of a graph."""
    return get_meta_graph_def(saved_model_dir, tag_set).signature_def


# -- show --


def _show_tag_sets(saved_model_dir):
    print("The given SavedModel contains the following tag-sets:")
    for tags in sorted(saved_model_utils.get_saved_model_tag_sets(saved_model_dir)):
        print(", ".join(sorted(tags)))


def _show_signature_def_map_keys(saved_model_dir, tag_set):
    signatures = get_signature_def_map(saved_model_dir, tag_set)
    print("The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:")
    for key in sorted(signatures):
        print(f'SignatureDef key: "{key}"')


def _signature(graph, key):
    """A signature of a MetaGraphDef. ValueError: it has none of this key."""
    if key not in graph.signature_def:
        raise ValueError(f'There is no signature "{key}". The graph has {sorted(graph.signature_def)}.')
    return graph.signature_def[key]


def _show_inputs_outputs(saved_model_dir, tag_set, signature_def_key, indent=0):
    signature = _signature(get_meta_graph_def(saved_model_dir, tag_set), signature_def_key)
    margin = "  " * indent
    for what, infos in (("input", signature.inputs), ("output", signature.outputs)):
        print(f"{margin}The given SavedModel SignatureDef contains the following {what}(s):")
        for key, info in sorted(infos.items()):
            print(f"{margin}  {what}s['{key}'] tensor_info:")
            _print_tensor_info(info, indent + 1)
    print(f"{margin}Method name is: {signature.method_name}")


def _print_tensor_info(tensor_info, indent=0):
    margin = "  " * indent + "    "
    shape = "unknown_rank"
    if not tensor_info.tensor_shape.unknown_rank:
        shape = "(" + ", ".join(str(dim.size) for dim in tensor_info.tensor_shape.dim) + ")"
    print(f"{margin}dtype: {types_pb2.DataType.Name(tensor_info.dtype)}")
    print(f"{margin}shape: {shape}")
    print(f"{margin}name: {tensor_info.name}")


def _show_all(saved_model_dir):
    for tags in sorted(saved_model_utils.get_saved_model_tag_sets(saved_model_dir)):
        print(f"\nMetaGraphDef with tag-set: '{', '.join(tags)}' contains the following SignatureDefs:")
        for key in sorted(get_signature_def_map(saved_model_dir, ",".join(tags))):
            print(f"\nsignature_def['{key}']:")
            _show_inputs_outputs(saved_model_dir, ",".join(tags), key, indent=1)


def show(args):
    """The command show."""
    if args.all:
        _show_all(args.dir)
    elif args.tag_set is None:
        _show_tag_sets(args.dir)
    elif args.signature_def is None:
        _show_signature_def_map_keys(args.dir, args.tag_set)
    else:
        _show_inputs_outputs(args.dir, args.tag_set, args.signature_def)


# -- scan --


def scan_meta_graph_def(meta_graph_def):
    """Prints which ops of a graph read or write files."""
    found = _OP_BLACKLIST & set(meta_graph.ops_used_by_graph_def(meta_graph_def.graph_def))
    name = f"MetaGraph with tag set {meta_graph_def.meta_info_def.tags}"
    if found:
        print(f"{name} contains the following blacklisted ops:", found)
    else:
        print(f"{name} does not contain blacklisted ops.")


def scan(args):
    """The command scan."""
    if args.tag_set:
        graphs = [get_meta_graph_def(args.dir, args.tag_set)]
    else:
        graphs = saved_model_utils.read_saved_model(args.dir).meta_graphs
    for graph in graphs:
        scan_meta_graph_def(graph)


# -- run --


def run_saved_model_with_feed_dict(
    saved_model_dir,
    tag_set,
    signature_def_key,
    input_tensor_key_feed_dict,
    outdir,
    overwrite_flag,
    worker=None,
    init_tpu=False,
    tf_debug=False,
):
    """Runs a signature, prints the outputs, and writes each to outdir/KEY.npy if outdir is given.

    Args:
      input_tensor_key_feed_dict: {key of an input: value}. ValueError: the signature has no such input.
      worker: the target of the session.
      init_tpu: refused.
      tf_debug: stops in tfdbg's command line before and after the run.

    RuntimeError: a file of an output is there already, and overwrite_flag is false.
    """
    if init_tpu:
        raise NotImplementedError("saved_model_cli: Braid has no TPUs")
    signature = _signature(get_meta_graph_def(saved_model_dir, tag_set), signature_def_key)
    for key in input_tensor_key_feed_dict:
        if key not in signature.inputs:
            keys = ", ".join(f'"{there}"' for there in signature.inputs)
            raise ValueError(
                f'"{key}" is not a valid input key. Please choose from {keys}, or use --show option.'
            )
    feeds = {signature.inputs[key].name: value for key, value in input_tensor_key_feed_dict.items()}
    keys = sorted(signature.outputs)
    with session.Session(worker or "", graph=ops.Graph()) as sess:
        loader.load(sess, tag_set.split(","), saved_model_dir)
        if tf_debug:
            sess = local_cli_wrapper.LocalCLIDebugWrapperSession(sess)
        outputs = sess.run([signature.outputs[key].name for key in keys], feed_dict=feeds)
    for key, output in zip(keys, outputs):
        print(f"Result for output key {key}:\n{output}")
        if not outdir:
            continue
        os.makedirs(outdir, exist_ok=True)
        path = os.path.join(outdir, key + ".npy")
        if os.path.exists(path) and not overwrite_flag:
            raise RuntimeError(
                f'Output file {path} already exists. Add "--overwrite" to overwrite the existing output files.'
            )
        np.save(path, output)
        print(f"Output {key} is saved to {path}")


def preprocess_inputs_arg_string(inputs_str):
    """{key: (file, name of an array in it, or None)} of "key=file;key=file[name]"."""
    inputs = {}
    for part in filter(None, inputs_str.split(";")):
        match = re.fullmatch(r"([^=]+)=([^\[\]]+)(?:\[([^\[\]]+)\])?", part)
        if match is None:
            raise RuntimeError(
                f'--inputs "{part}" format is incorrect. Please follow "<input_key>=<filename>", or '
                '"<input_key>=<filename>[<variable_name>]"'
            )
        inputs[match[1]] = match[2], match[3]
    return inputs


def _expressions(text, evaluate):
    values = {}
    for part in filter(None, text.split(";")):
        key, equals, expression = part.partition("=")
        if not equals:
            raise RuntimeError(
                f'--input_exprs "{text}" format is incorrect. Please follow "<input_key>=<python expression>"'
            )
        values[key] = evaluate(expression)
    return values


def preprocess_input_exprs_arg_string(input_exprs_str):
    """{key: value} of "key=expression;key=expression". Expressions are Python's, with numpy as np."""
    return _expressions(input_exprs_str, lambda expression: eval(expression, {"np": np}))


def preprocess_input_examples_arg_string(input_examples_str):
    """{key: [tf.train.Example as bytes]} of "key=[{feature: list of values}]", which Python reads as literals."""
    examples = _expressions(input_examples_str, lambda expression: ast.literal_eval(expression.strip()))
    for key, value in examples.items():
        if not isinstance(value, list):
            raise ValueError(
                f'tf.Example input must be a list of dictionaries, but "{value}" is {type(value)}'
            )
        examples[key] = [_create_example_string(features) for features in value]
    return examples


def _create_example_string(example_dict):
    example = protos.Example()
    for name, values in example_dict.items():
        if not isinstance(values, list):
            raise ValueError(f'feature value must be a list, but {name}: "{values}" is {type(values)}')
        feature = example.features.feature[name]
        first = values[0] if values else None
        if isinstance(first, float):
            feature.float_list.value.extend(values)
        elif isinstance(first, (str, bytes)):
            feature.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
        elif isinstance(first, int):
            feature.int64_list.value.extend(values)
        elif values:
            raise ValueError(f"Type {type(first)} for value {first} is not supported for tf.train.Feature.")
    return example.SerializeToString()


def load_inputs_from_input_arg_string(inputs_str, input_exprs_str, input_examples_str):
    """{key: value} of the three options of inputs. The later ones come before the others, with a warning."""
    feeds = {
        key: _array(path, name) for key, (path, name) in preprocess_inputs_arg_string(inputs_str).items()
    }
    for option, values in (
        ("--input_exprs", preprocess_input_exprs_arg_string(input_exprs_str)),
        ("--input_examples", preprocess_input_examples_arg_string(input_examples_str)),
    ):
        for key in feeds.keys() & values.keys():
            warnings.warn(
                f"input_key {key} has been specified in several options. Value in {option} will be used."
            )
        feeds.update(values)
    return feeds


def _array(path, name):
    """The array of a file of numpy's (.npy, .npz) or of pickle's. name: which of several."""
    with file_io.FileIO(path, mode="rb") as f:
        data = np.load(f, allow_pickle=True)
        if isinstance(data, np.ndarray):
            if name:
                warnings.warn(f'Input file {path} contains a single ndarray. Name key "{name}" ignored.')
            return data
        if name:
            if name not in data:
                raise RuntimeError(f'Input file {path} does not contain variable with name "{name}".')
            return data[name]
        if not hasattr(data, "files"):
            return data
        if len(data.files) != 1:
            raise RuntimeError(
                f"Input file {path} contains more than one ndarrays. Please specify the name of ndarray to use."
            )
        return data[data.files[0]]


def run(args):
    """The command run."""
    if not args.inputs and not args.input_exprs and not args.input_examples:
        raise AttributeError("At least one of --inputs, --input_exprs or --input_examples must be required")
    feeds = load_inputs_from_input_arg_string(args.inputs, args.input_exprs, args.input_examples)
    run_saved_model_with_feed_dict(
        args.dir,
        args.tag_set,
        args.signature_def,
        feeds,
        args.outdir,
        args.overwrite,
        worker=args.worker,
        init_tpu=args.init_tpu,
        tf_debug=args.tf_debug,
    )


# -- The program --


def create_parser():
    """The parser of the command line; args.func is the function of the command."""
    parser = argparse.ArgumentParser(description="saved_model_cli: Command-line interface for SavedModel")
    parser.add_argument("-v", "--version", action="version", version="0.1.0")
    commands = parser.add_subparsers(title="commands")

    one = commands.add_parser("show", help="show graphs, signatures, inputs and outputs")
    one.add_argument("--dir", required=True, help="directory of the SavedModel")
    one.add_argument("--all", action="store_true", help="show all")
    one.add_argument("--tag_set", help="tags of the graph, with commas")
    one.add_argument("--signature_def", metavar="SIGNATURE_DEF_KEY", help="signature to show")
    one.set_defaults(func=show)

    one = commands.add_parser("run", help="run a signature")
    one.add_argument("--dir", required=True, help="directory of the SavedModel")
    one.add_argument("--tag_set", required=True, help="tags of the graph, with commas")
    one.add_argument("--signature_def", required=True, metavar="SIGNATURE_DEF_KEY", help="signature to run")
    one.add_argument(
        "--inputs", default="", help="KEY=FILE or KEY=FILE[NAME], with ';'; .npy, .npz or pickle"
    )
    one.add_argument("--input_exprs", default="", help="KEY=EXPRESSION of Python with numpy as np, with ';'")
    one.add_argument(
        "--input_examples", default="", help="KEY=[{FEATURE: LIST}], a tf.Example each, with ';'"
    )
    one.add_argument("--outdir", help="directory for a .npy file of each output")
    one.add_argument("--overwrite", action="store_true", help="overwrite files of outputs")
    one.add_argument("--worker", help="target of the session, as grpc://HOST:PORT")
    one.add_argument("--init_tpu", action="store_true", help="refused: there are no TPUs")
    one.add_argument("--tf_debug", action="store_true", help="run it in tfdbg's command line")
    one.set_defaults(func=run)

    one = commands.add_parser("scan", help="tell whether a graph reads or writes files")
    one.add_argument("--dir", required=True, help="directory of the SavedModel")
    one.add_argument("--tag_set", help="tags of the graph, with commas; without them all graphs")
    one.set_defaults(func=scan)
    return parser


def main():
    parser = create_parser()
    args = parser.parse_args()
    if not hasattr(args, "func"):
        parser.error("too few arguments")
    args.func(args)


if __name__ == "__main__":
    sys.exit(main())
