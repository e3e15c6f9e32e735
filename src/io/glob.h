// Finding files by a pattern.
#ifndef BD_IO_GLOB_H
#define BD_IO_GLOB_H

#include "io/file.h"

// Lists the files and directories whose paths match `pattern`, sorted: `*` matches any text, `?` one
// character and `[a-z]` one of a set, never a slash; a backslash escapes a special character. Names with a
// leading dot are matched like others. What matches a pattern without a directory before its first special
// character is found in the current one: its path begins with "./". Nothing matches a slash at the end of a
// pattern. No match gives an empty list; NotFound when the directory before the first special character does
// not exist, FailedPrecondition when it is a file, as in TensorFlow. Blocks. On an error
// (also for a directory that cannot be read) the list is empty.
braid_code bd_glob(const bd_fs *fs, const char *pattern, bd_name_list *list, braid_status *st);

#endif
