// Finding files by a pattern.
#ifndef BD_IO_GLOB_H
#define BD_IO_GLOB_H

#include "io/file.h"

// The files and directories whose paths match `pattern`, sorted: `*` is any text, `?` one character and
// `[a-z]` one of a set, none of them a slash; a backslash takes a special character for itself. Names that
// begin with a dot are like others. A pattern that matches nothing gives an empty list; NotFound when the
// directory before its first special character is not there, as in TensorFlow. Blocks. On an error (also of a
// directory that may not be read, say) the list is empty.
braid_code bd_glob(const char *pattern, bd_name_list *list, braid_status *st);

#endif
