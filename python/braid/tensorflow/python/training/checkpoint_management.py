"""The files of checkpoints: the list of them in the file `checkpoint`, the newest, and removing old ones."""

import glob
import os
import re

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export


def _GetCheckpointFilename(save_dir, latest_filename):
    """The file that lists the checkpoints of a directory."""
    return os.path.join(save_dir, "checkpoint" if latest_filename is None else latest_filename)


def _relative(path, save_dir):
    return path if os.path.isabs(path) else os.path.relpath(path, save_dir)


@tf_export(v1=["train.generate_checkpoint_state_proto"])
def generate_checkpoint_state_proto(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    """The CheckpointState that lists these checkpoints, the oldest first.

    Paths are as they are given; if save_dir is relative, they are made relative to it.
    """
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        logging.info("%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path)
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {all_model_checkpoint_timestamps})"
        )
    if not os.path.isabs(save_dir):
        model_checkpoint_path = _relative(model_checkpoint_path, save_dir)
        paths = [_relative(path, save_dir) for path in paths]
    return protos.CheckpointState(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


@tf_export(v1=["train.update_checkpoint_state"])
def update_checkpoint_state(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    """Writes the file `checkpoint` of a directory. RuntimeError: it would replace the checkpoint itself."""
    update_checkpoint_state_internal(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def update_checkpoint_state_internal(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    save_relative_paths=False,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    """As update_checkpoint_state. save_relative_paths: paths are made relative to the directory, which may then move."""
    filename = _GetCheckpointFilename(save_dir, latest_filename)
    paths = all_model_checkpoint_paths or ()
    if save_relative_paths:

        def relative(path):
            return os.path.relpath(path, save_dir) if os.path.isabs(path) else path

        model_checkpoint_path = relative(model_checkpoint_path)
        paths = [relative(path) for path in paths]
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )
    if filename == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    # Readers see the old file or the new one.
    temporary = f"{filename}.tmp{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write(text_format.MessageToString(state))
    os.replace(temporary, filename)


@tf_export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """The CheckpointState of a directory, its paths usable from here; None where there is none that can be read."""
    checkpoint_dir = os.fspath(checkpoint_dir)
    filename = _GetCheckpointFilename(checkpoint_dir, latest_filename)
    try:
        with open(filename, encoding="utf-8") as f:
            content = f.read()
    except FileNotFoundError:
        return None
    except OSError as e:
        logging.warning("%s: %s", type(e).__name__, e)
        logging.warning("%s: Checkpoint ignored", filename)
        return None
    state = protos.CheckpointState()
    try:
        text_format.Merge(content, state)
    except text_format.ParseError as e:
        logging.warning("%s: %s", type(e).__name__, e)
        logging.warning("%s: Checkpoint ignored", filename)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    for i, path in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[i] = os.path.join(checkpoint_dir, path)
    return state


def _prefix_to_checkpoint_path(prefix, format_version):
    """The file, or the pattern of files, that a checkpoint of this format has."""
    return f"{prefix}.index" if format_version == protos.SaverDef.V2 else prefix


@tf_export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint of a directory, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state and state.model_checkpoint_path:
        if checkpoint_exists_internal(state.model_checkpoint_path):
            return state.model_checkpoint_path
        logging.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def checkpoint_exists_internal(checkpoint_prefix):
    """Whether a checkpoint has files: PREFIX.index, or those of the first format, for which it may be a pattern."""
    return os.path.exists(f"{checkpoint_prefix}.index") or bool(glob.glob(checkpoint_prefix))


@tf_export(v1=["train.checkpoint_exists"])
def checkpoint_exists(checkpoint_prefix):
    """Whether a checkpoint has files."""
    return checkpoint_exists_internal(checkpoint_prefix)


@tf_export(v1=["train.get_checkpoint_mtimes"])
def get_checkpoint_mtimes(checkpoint_prefixes):
    """The times of change of those checkpoints that exist, in seconds since 1970."""
    times = []
    for prefix in checkpoint_prefixes:
        files = [name for name in (f"{prefix}.index",) if os.path.exists(name)] or glob.glob(prefix)
        if files:
            times.append(os.stat(files[0]).st_mtime)
    return times


@tf_export(v1=["train.remove_checkpoint"])
def remove_checkpoint(
    checkpoint_prefix, checkpoint_format_version=protos.SaverDef.V2, meta_graph_suffix="meta"
):
    """Removes the files of a checkpoint and its graph, those that there are."""
    _delete_file_if_exists(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == protos.SaverDef.V2:
        _delete_file_if_exists(f"{checkpoint_prefix}.index")
        _delete_file_if_exists(f"{checkpoint_prefix}.data-?????-of-?????")
    else:
        _delete_file_if_exists(checkpoint_prefix)


def _delete_file_if_exists(filespec):
    for path in glob.glob(filespec):
        os.remove(path)


def meta_graph_filename(checkpoint_filename, meta_graph_suffix="meta"):
    """The file of a checkpoint's graph: PREFIX.meta, also for a part of a sharded checkpoint."""
    prefix = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{prefix}.{meta_graph_suffix}"
