// The files that a server opens to graphs: those of its options, or of the environment, or in the current
// directory, and those that the program adds.
#include "cluster/server_files.h"

#include "base/file_root_variable.h"
#include "cluster/server_internal.h"
#include <stdlib.h>
#include <string.h>

braid_code bd_server_files_init(bd_server_files *files, const char *list, braid_status *st)
{
    const char *from_operator = getenv(BD_FILE_ROOT_VARIABLE);
    const bool is_set = from_operator && *from_operator;
    files->roots = bd_file_roots_new();
    files->fs = bd_fs_within(files->roots);
    files->is_fixed = list ? strcmp(list, "none") == 0 : is_set;
    if (list) return bd_file_roots_allow_list(files->roots, list, st);
    if (!is_set) return bd_file_roots_allow_current(files->roots, st);
    if (bd_file_roots_allow_list(files->roots, from_operator, st))
        bd_status_prefix(st, "The environment variable %s: ", BD_FILE_ROOT_VARIABLE);
    return st->code;
}

void bd_server_files_fini(bd_server_files *files)
{
    bd_file_roots_free(files->roots);
}

braid_code braid_server_allow_files(braid_server *s, const char *dir, braid_status *status)
{
    BD_STATUS(unwanted);
    return s->files.is_fixed ? BRAID_OK
                             : bd_file_roots_allow(s->files.roots, dir, status ? status : unwanted);
}
