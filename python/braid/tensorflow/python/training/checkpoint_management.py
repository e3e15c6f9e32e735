"""The files of checkpoints: the list of them in the file `checkpoint`, the newest, and removing old ones."""

import collections
import os
import re
import time

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.lib.io import file_io
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

    A list that has not the newest one last gets it. Paths are as they are given; if save_dir is relative,
    they are made relative to it.
    """
    paths = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
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
    paths = all_model_checkpoint_paths or []
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
    file_io.atomic_write_string_to_file(filename, text_format.MessageToString(state))


@tf_export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """The CheckpointState of a directory, its paths usable from here; None where there is none that can be read."""
    checkpoint_dir = os.fspath(checkpoint_dir)
    filename = _GetCheckpointFilename(checkpoint_dir, latest_filename)
    try:
        content = file_io.read_file_to_string(filename)
    except errors.NotFoundError:
        return None
    except errors.OpError as e:
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
    return bool(_files_of(checkpoint_prefix))


def _files_of(prefix):
    """PREFIX.index as a list where it is there, or else the files that match the prefix."""
    index = f"{prefix}.index"
    return [index] if file_io.file_exists(index) else file_io.get_matching_files(prefix)


@tf_export(v1=["train.checkpoint_exists"])
def checkpoint_exists(checkpoint_prefix):
    """Whether a checkpoint has files."""
    return checkpoint_exists_internal(checkpoint_prefix)


@tf_export(v1=["train.get_checkpoint_mtimes"])
def get_checkpoint_mtimes(checkpoint_prefixes):
    """The times of change of those checkpoints that exist, in seconds since 1970."""
    times = []
    for prefix in checkpoint_prefixes:
        files = _files_of(prefix)
        if files:
            times.append(file_io.stat(files[0]).mtime_nsec / 1e9)
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
    for path in file_io.get_matching_files(filespec):
        file_io.delete_file(path)


def meta_graph_filename(checkpoint_filename, meta_graph_suffix="meta"):
    """The file of a checkpoint's graph: PREFIX.meta, also for a part of a sharded checkpoint."""
    prefix = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{prefix}.{meta_graph_suffix}"


@tf_export("train.CheckpointManager")
class CheckpointManager:
    """Numbers the checkpoints of a tf.train.Checkpoint in a directory, and deletes old ones.

    What it knows is in the directory's file `checkpoint`: a later manager goes on with it.
    """

    def __init__(
        self,
        checkpoint,
        directory,
        max_to_keep,
        keep_checkpoint_every_n_hours=None,
        checkpoint_name="ckpt",
    ):
        """max_to_keep: the oldest checkpoints above it are deleted, after a new one; None: none is.
        keep_checkpoint_every_n_hours: one in so many hours stays for ever. ValueError: max_to_keep is not
        positive.
        """
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_max_to_keep`, got {max_to_keep:d}."
            )
        self._checkpoint = checkpoint
        self._directory = directory
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._checkpoint_prefix = os.path.join(directory, checkpoint_name)
        self._latest_checkpoint = None
        self._counting = None  # (the graph, the op that counts)
        self._kept = collections.OrderedDict()  # prefix -> when it was saved, the oldest first
        now = time.time()
        self._last_preserved_timestamp = now - 1.0  # a manager made at once after this one is later
        state = get_checkpoint_state(directory)
        if state is not None:
            self._recover(state, now)

    def _recover(self, state, now):
        self._latest_checkpoint = state.model_checkpoint_path
        preserved = state.last_preserved_timestamp
        if now < preserved:
            logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.",
                preserved - now,
            )
        self._last_preserved_timestamp = preserved = min(preserved, now)
        paths = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps or [preserved] * len(paths)
        for path, saved in zip(paths, times):
            if min(saved, now) > preserved:
                self._kept[path] = min(saved, now)

    @property
    def latest_checkpoint(self):
        """The prefix of the newest checkpoint, or None."""
        return self._latest_checkpoint

    @property
    def checkpoints(self):
        """The prefixes of the checkpoints that may be deleted, the oldest first."""
        return list(self._kept)

    @property
    def _prefix(self):
        return self._checkpoint_prefix

    def save(self, checkpoint_number=None):
        """Writes a checkpoint in the default session, and returns its prefix.

        checkpoint_number: an int, a variable or a tensor; None for the checkpoint's save_counter, which
        counts in any case.
        """
        from braid.tensorflow.python.training.tracking import util

        session = util.get_session()
        with session.graph.as_default():
            new = self._checkpoint._save_counter is None
            counter = self._checkpoint.save_counter
            if new:
                session.run(counter.initializer)
            if self._counting is None or self._counting[0] is not session.graph:
                self._counting = (session.graph, counter.assign_add(1, read_value=False))
        session.run(self._counting[1])
        number = counter if checkpoint_number is None else checkpoint_number
        if hasattr(number, "dtype") and hasattr(number, "op"):
            number = session.run(number)
        path = self._checkpoint.write(f"{self._prefix}-{int(number)}")
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest_checkpoint = path
        self._record_state()  # before anything is deleted: a process that ends here leaves the newest listed
        if self._sweep():
            self._record_state()
        return path

    def _sweep(self):
        """Deletes checkpoints that are too many, or lets them stay. Returns whether there were any."""
        swept = False
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            swept = True
            path, saved = self._kept.popitem(last=False)
            hours = self._keep_checkpoint_every_n_hours
            if hours and saved - hours * 3600.0 >= self._last_preserved_timestamp:
                self._last_preserved_timestamp = saved
                continue
            _delete_file_if_exists(f"{path}.index")
            _delete_file_if_exists(f"{path}.data-?????-of-?????")
        return swept

    def _record_state(self):
        update_checkpoint_state_internal(
            self._directory,
            model_checkpoint_path=self._latest_checkpoint,
            all_model_checkpoint_paths=list(self._kept),
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved_timestamp,
            save_relative_paths=True,
        )
