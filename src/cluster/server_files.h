// The files that a server opens to graphs.
#ifndef BD_CLUSTER_SERVER_FILES_H
#define BD_CLUSTER_SERVER_FILES_H

#include "io/file.h"

typedef struct bd_server_files {
    bd_file_roots *roots;
    bd_fs fs;      // of the files in `roots`
    bool is_fixed; // the program adds nothing: an operator has said which files, or no file is allowed
} bd_server_files;

// `list`: braid_server_options.file_roots. On an error bd_server_files_fini may follow.
braid_code bd_server_files_init(bd_server_files *files, const char *list, braid_status *st);
void bd_server_files_fini(bd_server_files *files); // also when it is all zero

#endif
