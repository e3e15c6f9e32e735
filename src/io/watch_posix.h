// Watches over directories of the machine's file system.
#ifndef BD_IO_WATCH_POSIX_H
#define BD_IO_WATCH_POSIX_H

#include "io/file.h"

braid_code bd_posix_watch_at(const bd_file_place *at, bd_dir_watch **watch, braid_status *st);
void bd_posix_watch_wait(bd_dir_watch *watch, int64_t deadline_ns);
void bd_posix_watch_close(bd_dir_watch *watch);

#endif
