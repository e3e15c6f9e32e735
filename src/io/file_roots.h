// The directories whose files a server opens to the graphs of its clients, and paths resolved against them.
//
// A path is resolved from the root of the file system on, part by part, as the system does it, but each
// part is opened by its own name in the directory before and never as a link: links are read, and their
// text goes in the place of the part. So the way that was taken is known, what another process changes
// meanwhile cannot lead elsewhere, and the call acts on a name in the directory that was found, not on the
// path. A path may pass only through the directories of a root and those above it. What is on other ways
// looks the same whether it is there or not: PermissionDenied.
//
// A hard link is the file itself: one in a root opens a file that has another name elsewhere.
#ifndef BD_IO_FILE_ROOTS_H
#define BD_IO_FILE_ROOTS_H

#include "base/status.h"
#include <stdbool.h>

// The allowed directories; empty: no file at all. Any thread.
typedef struct bd_file_roots bd_file_roots;

extern bd_file_roots bd_file_roots_none; // stays empty

bd_file_roots *bd_file_roots_new(void);
void bd_file_roots_free(bd_file_roots *roots); // NULL is accepted

// Allows the files in a directory and below it. Links in its path are resolved now. The directory need not
// be there yet. "/" allows all files. InvalidArgument for an empty path and for something else than a
// directory.
braid_code bd_file_roots_allow(bd_file_roots *roots, const char *dir, braid_status *st);
// Allows what a list says: directories with colons between them, or "none" for no file.
braid_code bd_file_roots_allow_list(bd_file_roots *roots, const char *list, braid_status *st);
// The same as bd_file_roots_allow for the current directory, also by the name that the shell has for it.
braid_code bd_file_roots_allow_current(bd_file_roots *roots, braid_status *st);

// A name in an open directory, on which a call of the system acts.
typedef struct bd_file_place {
    int dir; // AT_FDCWD, or an open directory that bd_file_place_release closes
    // Relative to `dir`, or absolute. bd_free'd by bd_file_place_release where `is_plain`.
    char *name;
    bool is_plain;    // the call must not follow a link of this name
    const char *path; // as it was asked for, for messages; not owned
} bd_file_place;

typedef enum bd_file_place_use {
    BD_FILE_PLACE_FOLLOW, // what the last part leads to, where it is a link
    BD_FILE_PLACE_NAME,   // the last part itself
    BD_FILE_PLACE_LOOK,   // as FOLLOW; a directory above a root is allowed, too
    BD_FILE_PLACE_MAKE    // as NAME; the same
} bd_file_place_use;

// Finds the place of a path, or of a URI "file://PATH". The last part need not exist. PermissionDenied,
// naming `what` ("open") and the path, when it is not within the roots; without roots (NULL) every place is
// allowed. The caller releases it, not after an error.
braid_code bd_file_place_find(bd_file_roots *roots, const char *path, bd_file_place_use use, const char *what,
                              bd_file_place *place, braid_status *st);
void bd_file_place_release(bd_file_place *place); // keeps errno

// Sets the error for a failed call on a path, with the reason in errno: "cannot WHAT PATH: REASON".
braid_code bd_posix_failed(braid_status *st, const char *what, const char *path);

#endif
