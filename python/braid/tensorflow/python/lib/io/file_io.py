"""Files and directories, with TensorFlow's errors (tf.gfile, tf.io.gfile).

Paths are those of the system, or file://PATH. Other schemes (gs://, hdfs://) raise UnimplementedError.
"""

import binascii
import errno
import os
import pickle
import re
import shutil
import uuid

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9.]*)://")
_ERRORS = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
}


def _local(path):
    """The path as the system knows it. UnimplementedError: it is not here."""
    path = compat.as_str_any(os.fspath(path))
    scheme = _SCHEME.match(path)
    if scheme is None:
        return path
    if scheme.group(1) != "file":
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme.group(1)}' not implemented (file: '{path}')"
        )
    return path[scheme.end() :]


def _call(function, path, *args):
    """function(path, ...) with TensorFlow's errors for the system's."""
    try:
        return function(_local(path), *args)
    except shutil.SameFileError:
        raise errors.InvalidArgumentError(None, None, f"{path}; is the same file") from None
    except OSError as e:
        made = _ERRORS.get(e.errno, errors.UnknownError)
        raise made(None, None, f"{e.filename or path}; {e.strerror or e}") from None


class FileIO:
    """A file. It is opened when it is first read or written: reading begins at the start, wherever is
    written.

    mode: "r", "w", "a", "r+", "w+" or "a+"; with "b" what is read is bytes, else str. Writing begins an empty
    file, but with "a" and "a+".
    """

    def __init__(self, name, mode):
        self.__name = name
        self.__mode = mode
        self._reader = self._writer = None
        self._binary_mode = "b" in mode
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self._may_read = plain not in ("w", "a")
        self._may_write = plain != "r"
        self._appends = plain[0] == "a"

    @property
    def name(self):
        return self.__name

    @property
    def mode(self):
        return self.__mode

    def _preread_check(self):
        if not self._may_read:
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        if self._reader is None:
            if os.path.isdir(_local(self.__name)):
                raise errors.FailedPreconditionError(None, None, f"{self.__name}; Is a directory")
            self._reader = _call(open, self.__name, "rb")
        return self._reader

    def _prewrite_check(self):
        if not self._may_write:
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            self._writer = _call(open, self.__name, "ab" if self._appends else "wb")
        return self._writer

    def _prepare_value(self, val):
        return val if self._binary_mode else compat.as_str_any(val)

    def size(self):
        """The bytes of the file."""
        return stat(self.__name).length

    def write(self, file_content):
        """Writes bytes or a str at the end of what was written.

        pickle hands large arrays over as PickleBuffer from protocol 5 on, which Python 3.7 did not have.
        """
        if isinstance(file_content, pickle.PickleBuffer):
            file_content = file_content.raw()
        else:
            file_content = compat.as_bytes(file_content)
        self._prewrite_check().write(file_content)

    def read(self, n=-1):
        """The next n bytes, or all that are left."""
        return self._prepare_value(self._preread_check().read(n))

    def readline(self):
        """The next line with its end; nothing at the end of the file."""
        return self._prepare_value(self._preread_check().readline())

    def readlines(self):
        return [self._prepare_value(line) for line in self._preread_check().readlines()]

    def seek(self, offset=None, whence=0, position=None):
        """Goes to an offset from the start (whence 0), from here (1) or from the end (2), to read there."""
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Invalid whence argument: {whence}")
        reader = self._preread_check()
        _call(lambda _: reader.seek(offset if position is None else position, whence), self.__name)

    def tell(self):
        return (self._preread_check() if self._may_read else self._prewrite_check()).tell()

    def seekable(self):
        return True

    def __iter__(self):
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration()
        return line

    next = __next__

    def __enter__(self):
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self.close()

    def flush(self):
        """Hands what was written to the system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self):
        for file in (self._reader, self._writer):
            if file is not None:
                file.close()
        self._reader = self._writer = None


class FileStatistics:
    """What `stat` tells: length in bytes, mtime_nsec, is_directory."""

    def __init__(self, length, mtime_nsec, is_directory):
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory


@tf_export("io.gfile.exists")
def file_exists_v2(path):
    """Whether there is a file or directory."""
    return os.path.exists(_local(path))


@tf_export(v1=["gfile.Exists"])
def file_exists(filename):
    return file_exists_v2(filename)


@tf_export("io.gfile.isdir")
def is_directory_v2(path):
    return os.path.isdir(_local(path))


@tf_export(v1=["gfile.IsDirectory"])
def is_directory(dirname):
    return is_directory_v2(dirname)


@tf_export("io.gfile.stat")
def stat_v2(path):
    """The FileStatistics of a path. NotFoundError."""
    found = _call(os.stat, path)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(_local(path)))


@tf_export(v1=["gfile.Stat"])
def stat(filename):
    return stat_v2(filename)


@tf_export("io.gfile.remove")
def delete_file_v2(path):
    """Removes a file. NotFoundError, FailedPreconditionError (a directory)."""
    _call(os.unlink, path)


@tf_export(v1=["gfile.Remove"])
def delete_file(filename):
    delete_file_v2(filename)


def read_file_to_string(filename, binary_mode=False):
    """The content of a file as a str or bytes."""
    with FileIO(filename, "rb" if binary_mode else "r") as f:
        return f.read()


def write_string_to_file(filename, file_content):
    with FileIO(filename, "w") as f:
        f.write(file_content)


def atomic_write_string_to_file(filename, contents, overwrite=True):
    """Writes a file that others see either whole or not at all."""
    if not has_atomic_move(filename):
        return write_string_to_file(filename, contents)
    temporary = filename + ".tmp" + uuid.uuid4().hex
    write_string_to_file(temporary, contents)
    try:
        rename(temporary, filename, overwrite)
    except errors.OpError:
        delete_file(temporary)
        raise


def has_atomic_move(path):
    """Whether renaming a file onto another is one step."""
    _local(path)
    return True


def _part_matcher(part):
    """Whether a name matches one part of a pattern: with a backslash, a special character is meant itself."""
    regex, i = "", 0
    while i < len(part):
        character = part[i]
        end = part.find("]", i + 2 + (part[i + 1 : i + 2] in ("!", "^"))) if character == "[" else -1
        if end > 0:
            inner = part[i + 1 : end]
            negated = inner[0] in "!^"
            inner = inner[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
            regex += f"[{'^' if negated else ''}{inner}]"
            i = end
        elif character == "\\" and i + 1 < len(part):
            i += 1
            regex += re.escape(part[i])
        else:
            regex += {"*": ".*", "?": "."}.get(character, re.escape(character))
        i += 1
    return re.compile(regex, re.DOTALL).fullmatch


def _matching(directory, names, parts):
    """The paths below a directory, which has some names, that match the parts of a pattern."""
    matches = _part_matcher(parts[0])
    found = [os.path.join(directory, name) for name in names if matches(name)]
    if len(parts) == 1:
        return found
    paths = []
    for path in found:
        try:
            paths += _matching(path, sorted(os.listdir(path)), parts[1:])
        except OSError:
            pass  # no directory, or one that may not be read
    return paths


def _glob(pattern):
    """The paths that match a pattern. NotFoundError, FailedPreconditionError: the directory that it names
    before its first special character is not there, or is a file.
    """
    start = re.match(r"[^*?\[\\]*/|", pattern)[0]
    directory = start.rstrip("/") or start[:1] or "."
    try:
        names = sorted(_call(os.listdir, directory))
    except errors.PermissionDeniedError:
        return []
    return _matching(start or "./", names, pattern[len(start) :].split("/"))


@tf_export("io.gfile.glob")
def get_matching_files_v2(pattern):
    """The paths that match a pattern with *, ? and [...], or one of several patterns, in order.

    Those in the current directory begin with "./", those of a pattern file://PATH with "file://".
    NotFoundError: the directory that the pattern names before its first special character is not there.
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes)) or hasattr(pattern, "__fspath__") else pattern
    found = []
    for one in patterns:
        local = _local(one)
        uri = compat.as_str_any(os.fspath(one))
        scheme = uri[: len(uri) - len(local)]
        found += [scheme + path for path in _glob(local)]
    return found


@tf_export(v1=["gfile.Glob"])
def get_matching_files(filename):
    return get_matching_files_v2(filename)


@tf_export("io.gfile.mkdir")
def create_dir_v2(path):
    """Makes a directory, which may be there already, in one that is there. NotFoundError."""
    if not is_directory_v2(path):
        _call(os.mkdir, path)


@tf_export(v1=["gfile.MkDir"])
def create_dir(dirname):
    create_dir_v2(dirname)


@tf_export("io.gfile.makedirs")
def recursive_create_dir_v2(path):
    """Makes a directory and those above it, where they are not there. "" is the current one."""
    if path:
        _call(lambda local: os.makedirs(local, exist_ok=True), path)


@tf_export(v1=["gfile.MakeDirs"])
def recursive_create_dir(dirname):
    recursive_create_dir_v2(dirname)


def _refuse_existing(path, overwrite):
    if not overwrite and file_exists_v2(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path}")


@tf_export("io.gfile.copy")
def copy_v2(src, dst, overwrite=False):
    """Copies a file. AlreadyExistsError: `dst` is there, and not to be overwritten."""
    _refuse_existing(dst, overwrite)
    _call(shutil.copyfile, src, _local(dst))


@tf_export(v1=["gfile.Copy"])
def copy(oldpath, newpath, overwrite=False):
    copy_v2(oldpath, newpath, overwrite)


@tf_export("io.gfile.rename")
def rename_v2(src, dst, overwrite=False):
    """Moves a file or directory. AlreadyExistsError: `dst` is there, and not to be overwritten."""
    _refuse_existing(dst, overwrite)
    _call(os.replace, src, _local(dst))


@tf_export(v1=["gfile.Rename"])
def rename(oldname, newname, overwrite=False):
    rename_v2(oldname, newname, overwrite)


@tf_export("io.gfile.rmtree")
def delete_recursively_v2(path):
    """Removes a directory with all that is in it, or a file. NotFoundError."""
    if os.path.isdir(_local(path)):
        _call(shutil.rmtree, path)
    else:
        _call(os.unlink, path)


@tf_export(v1=["gfile.DeleteRecursively"])
def delete_recursively(dirname):
    delete_recursively_v2(dirname)


@tf_export("io.gfile.listdir")
def list_directory_v2(path):
    """The names in a directory. NotFoundError: it is none."""
    if not is_directory_v2(path):
        raise errors.NotFoundError(None, None, "Could not find directory {}".format(path))
    return _call(os.listdir, path)


@tf_export(v1=["gfile.ListDirectory"])
def list_directory(dirname):
    return list_directory_v2(dirname)


@tf_export("io.gfile.walk")
def walk_v2(top, topdown=True, onerror=None):
    """For each directory below `top`: its path, the names of directories in it, those of files."""
    try:
        names = list_directory_v2(top)
    except errors.NotFoundError as e:
        if onerror:
            onerror(e)
        return
    path = compat.as_str_any(os.fspath(top))
    directories = [name for name in names if is_directory_v2(os.path.join(path, name))]
    here = (path, directories, [name for name in names if name not in set(directories)])
    if topdown:
        yield here
    for name in directories:
        yield from walk_v2(os.path.join(path, name), topdown, onerror)
    if not topdown:
        yield here


@tf_export(v1=["gfile.Walk"])
def walk(top, in_order=True):
    return walk_v2(top, in_order)


def filecmp(filename_a, filename_b):
    """Whether two files have the same content."""
    if stat(filename_a).length != stat(filename_b).length:
        return False
    return read_file_to_string(filename_a, True) == read_file_to_string(filename_b, True)


def file_crc32(filename, block_size=1 << 24):
    """The CRC-32 of a file, as hexadecimal digits."""
    crc = 0
    with FileIO(filename, "rb") as f:
        chunk = f.read(block_size)
        while chunk:
            crc = binascii.crc32(chunk, crc)
            chunk = f.read(block_size)
    return hex(crc & 0xFFFFFFFF)
