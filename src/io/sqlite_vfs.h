// SQLite's view of files over a bd_fs, to read databases: a database opens no other file than the file system
// allows, and none to write.
//
// Files are not locked: the database must not change while it is read. Changes that stand in a write-ahead
// log beside the database are read. SQLite refuses a database with a rollback journal that a crashed writer
// left behind, because it would have to write it.
#ifndef BD_IO_SQLITE_VFS_H
#define BD_IO_SQLITE_VFS_H

#include "io/file.h"

typedef struct bd_sqlite_vfs bd_sqlite_vfs;

// `fs` outlives it. NULL: SQLite cannot be initialized.
bd_sqlite_vfs *bd_sqlite_vfs_new(const bd_fs *fs);
// After the database is closed; NULL is accepted.
void bd_sqlite_vfs_free(bd_sqlite_vfs *v);

// Its name, for sqlite3_open_v2.
const char *bd_sqlite_vfs_name(const bd_sqlite_vfs *v);

// The error of the last file that could not be opened or read; its code is BRAID_OK without one.
const braid_status *bd_sqlite_vfs_error(const bd_sqlite_vfs *v);

#endif
