"""Sequence: batches by their number, and threads that make them ahead; files from the network are refused."""

import concurrent.futures
import hashlib
import os
import queue
import random
import shutil
import tarfile
import threading
import urllib.request
import zipfile

from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.utils.Sequence")
class Sequence:
    """Batches by number. Subclasses define __getitem__ and __len__."""

    def __getitem__(self, index):
        raise NotImplementedError("Sequence.__getitem__")

    def __len__(self):
        raise NotImplementedError("Sequence.__len__")

    def on_epoch_end(self):
        """Called after each epoch."""

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]


def iter_sequence_infinite(seq):
    """The batches of a Sequence, over and over."""
    while True:
        yield from seq


@keras_export("keras.utils.SequenceEnqueuer")
class SequenceEnqueuer:
    """Makes batches ahead in threads. Subclasses define _run().

    use_multiprocessing: of TensorFlow; threads make the batches all the same, because a process that runs
    steps cannot be forked.
    """

    def __init__(self, sequence, use_multiprocessing=False):
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = 0
        self.queue = None
        self.run_thread = None
        self._pool = None
        self.stop_signal = None

    def is_running(self):
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers=1, max_queue_size=10):
        """Starts `workers` threads, which keep up to `max_queue_size` batches."""
        self.workers = workers
        self.queue = queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(max(1, workers))
        self.run_thread = threading.Thread(target=self._run, daemon=True)
        self.run_thread.start()

    def stop(self, timeout=None):
        """Ends the threads when they have made what they are making. timeout: in seconds, for the first of them."""
        self.stop_signal.set()
        with self.queue.mutex:
            self.queue.queue.clear()
            self.queue.unfinished_tasks = 0
            self.queue.not_full.notify_all()
            self.queue.all_tasks_done.notify_all()
        self.run_thread.join(timeout)
        self._pool.shutdown(wait=False)

    def _put(self, future):
        """Queues a batch that is being made. Returns False when there is nobody who waits for it."""
        if self.is_running():
            self.queue.put(future, block=True)
        return self.is_running()

    def _run(self):
        raise NotImplementedError("SequenceEnqueuer._run")

    def get(self):
        """A generator of the batches."""
        raise NotImplementedError("SequenceEnqueuer.get")


@keras_export("keras.utils.OrderedEnqueuer")
class OrderedEnqueuer(SequenceEnqueuer):
    """The batches of a Sequence in their order, over and over. shuffle: in another order each time."""

    def __init__(self, sequence, use_multiprocessing=False, shuffle=False):
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self):
        order = list(range(len(self.sequence)))
        while self.is_running():
            if self.shuffle:
                random.shuffle(order)
            for i in order:
                if not self._put(self._pool.submit(self.sequence.__getitem__, i)):
                    return
            self.queue.join()
            if not self.is_running():
                return
            self.sequence.on_epoch_end()

    def get(self):
        try:
            while self.is_running():
                inputs = self.queue.get(block=True).result()
                if self.is_running():
                    self.queue.task_done()
                if inputs is not None:
                    yield inputs
        except Exception:
            self.stop()
            raise


_END = object()


@keras_export("keras.utils.GeneratorEnqueuer")
class GeneratorEnqueuer(SequenceEnqueuer):
    """The batches of a generator, which one thread takes at a time."""

    def __init__(self, sequence, use_multiprocessing=False, random_seed=None):
        super().__init__(sequence, use_multiprocessing)
        del random_seed
        self._taking = threading.Lock()

    def _take(self):
        with self._taking:
            return next(self.sequence, _END)

    def _run(self):
        while self.is_running():
            future = self._pool.submit(self._take)
            if not self._put(future):
                return
            if future.done() and (future.exception() is not None or future.result() is _END):
                return

    def get(self):
        try:
            while self.is_running():
                inputs = self.queue.get(block=True).result()
                if inputs is _END:
                    return
                if self.is_running():
                    self.queue.task_done()
                if inputs is not None:
                    yield inputs
        except Exception:
            self.stop()
            raise


def dont_use_multiprocessing_pool(f):
    """The function: batches are made by threads in any case."""
    return f


@keras_export("keras.experimental.terminate_keras_multiprocessing_pools")
def terminate_keras_multiprocessing_pools(grace_period=0.1, use_sigkill=False):
    """Ends nothing, because batches are made by threads. Returns what could not be ended: nothing."""
    del grace_period, use_sigkill
    return []


@keras_export("keras.utils.get_file")
def get_file(
    fname,
    origin,
    untar=False,
    md5_hash=None,
    file_hash=None,
    cache_subdir="datasets",
    hash_algorithm="auto",
    extract=False,
    archive_format="auto",
    cache_dir=None,
):
    """The path of a file that is in the cache already, ~/.keras/datasets by default, or of a copy of the file
    at `origin`, file://PATH. FileNotFoundError otherwise.

    untar: the file is fname.tar.gz, and is unpacked to fname. extract: an archive of archive_format is
    unpacked: "tar" (also .gz, .bz2), "zip", or "auto" for both. Braid downloads nothing: put the file there.
    """
    directory = os.path.join(cache_dir or os.path.join(os.path.expanduser("~"), ".keras"), cache_subdir)
    path = os.path.join(directory, fname + ".tar.gz" if untar else fname)
    wanted, algorithm = (md5_hash, "md5") if md5_hash and not file_hash else (file_hash, hash_algorithm)
    there = os.path.exists(path) and not (wanted and not validate_file(path, wanted, algorithm))
    if not there and origin.startswith("file://"):
        os.makedirs(directory, exist_ok=True)
        shutil.copyfile(urllib.request.url2pathname(origin[len("file://") :]), path)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is missing: Braid downloads nothing; fetch {origin} and put it there"
        )
    if wanted and not validate_file(path, wanted, algorithm):
        raise ValueError(f"{path} is not the file that is expected: its hash is not {wanted}")
    if untar:
        if not os.path.exists(os.path.join(directory, fname)):
            shutil.unpack_archive(path, directory, "gztar")
        return os.path.join(directory, fname)
    if extract:
        _extract_archive(path, directory, archive_format)
    return path


def _extract_archive(file_path, path, archive_format):
    """Unpacks a file of a format, "tar" (compressed or not), "zip", or one of a list; "auto" for both."""
    formats = {"tar": (tarfile.is_tarfile, tarfile.open), "zip": (zipfile.is_zipfile, zipfile.ZipFile)}
    if archive_format == "auto":
        archive_format = ["tar", "zip"]
    elif isinstance(archive_format, str):
        archive_format = [archive_format]
    for name in archive_format or ():
        matches, open_archive = formats[name]
        if matches(file_path):
            with open_archive(file_path) as archive:
                archive.extractall(path)
            return


def _hash_file(fpath, algorithm="sha256", chunk_size=65535):
    """The hash of a file as hexadecimal digits, SHA-256 or MD5."""
    hasher = hashlib.sha256() if algorithm in ("sha256", "auto") else hashlib.md5()
    with open(fpath, "rb") as file:
        for chunk in iter(lambda: file.read(chunk_size), b""):
            hasher.update(chunk)
    return hasher.hexdigest()


def validate_file(fpath, file_hash, algorithm="auto", chunk_size=65535):
    """Whether the file has the hash, SHA-256 or MD5."""
    sha = algorithm == "sha256" or (algorithm == "auto" and len(file_hash) == 64)
    return _hash_file(fpath, "sha256" if sha else "md5", chunk_size) == str(file_hash)
