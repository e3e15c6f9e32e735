// Relative and absolute forms of paths. The caller frees results (bd_free).
#ifndef BD_IO_PATH_H
#define BD_IO_PATH_H

#include <stdbool.h>
#include <string.h>

static inline bool bd_path_is_absolute(const char *path)
{
    return path[0] == '/';
}

// The path in a URI of a file, as TensorFlow takes it ("/a" of "file:///a"), or the path itself.
static inline const char *bd_path_of_uri(const char *path)
{
    return strncmp(path, "file://", strlen("file://")) == 0 ? path + strlen("file://") : path;
}

// The path from the root, without "." and "..", taken apart as a text: links are not looked at.
char *bd_path_absolute(const char *path);

// The path from the directory `start`, as Python's os.path.relpath gives it: "../b" for "/a/b" from "/a/c",
// "." for `start`.
char *bd_path_relative(const char *path, const char *start);

#endif
