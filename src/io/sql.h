// Rows of a query of a SQLite database.
//
// What SQLite uses of memory counts against the limit of the pool of tensors (tensor/buffer.h). It is looked
// at while queries run, every thousand steps: between two looks a query may exceed the limit.
//
// A query only reads: what would change the database or the process, or open another file, is refused.
#ifndef BD_IO_SQL_H
#define BD_IO_SQL_H

#include "io/file.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_sql bd_sql;

// Opens the database in file `path` (":memory:": an empty one) and prepares a query: one statement, of which
// what follows it is ignored. `stops(arg)` is asked now and then while the query runs, and ends it by
// Cancelled. Errors: those of opening the file; DataLoss when it is no database; FailedPrecondition when a
// writer has to recover it; Unknown for a query that SQLite does not understand; InvalidArgument for one that
// does not only read. On an error *sql is NULL.
braid_code bd_sql_open(const bd_fs *fs, const char *path, const char *query, bool (*stops)(void *arg),
                       void *arg, bd_sql **sql, braid_status *st);
void bd_sql_close(bd_sql *sql); // NULL is accepted

int bd_sql_column_count(const bd_sql *sql); // 0: the statement gives no rows

// Goes to the next row; *has_row is false after the last one.
braid_code bd_sql_next(bd_sql *sql, bool *has_row, braid_status *st);

// A column of the row, converted as SQLite does; NULL is 0 and the empty string. The text is valid until the
// next call on the same column. ResourceExhausted when memory is short for it.
int64_t bd_sql_int(bd_sql *sql, int column);
double bd_sql_real(bd_sql *sql, int column);
braid_code bd_sql_text(bd_sql *sql, int column, const char **text, size_t *len, braid_status *st);

#endif
