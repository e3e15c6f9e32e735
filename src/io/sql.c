// Rows of a query of a SQLite database.
#include "io/sql.h"

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/thread.h"
#include "io/sqlite_vfs.h"
#include "tensor/buffer.h"
#include <sqlite3.h>
#include <string.h>

struct bd_sql {
    bd_sqlite_vfs *vfs; // owned
    sqlite3 *db;        // owned
    sqlite3_stmt *query;
    bool (*stops)(void *arg);
    void *arg;
    bool is_short; // ended because memory is short
};

// Steps of SQLite's machine between two questions whether the rows are still wanted, and memory suffices.
#define STEPS_BETWEEN_QUESTIONS 1000

// No text, and no row, is longer.
#define LENGTH_MAX (256 << 20)

static braid_code code_of(const bd_sql *sql, int error)
{
    const braid_code of_file = bd_sqlite_vfs_error(sql->vfs)->code;
    switch (error & 0xff) {
    case SQLITE_INTERRUPT: return BRAID_CANCELLED;
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG: return BRAID_RESOURCE_EXHAUSTED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return BRAID_DATA_LOSS;
    case SQLITE_AUTH: return BRAID_INVALID_ARGUMENT;
    case SQLITE_READONLY: return BRAID_FAILED_PRECONDITION;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: return of_file ? of_file : BRAID_UNKNOWN;
    default: return BRAID_UNKNOWN;
    }
}

// The memory that SQLite uses in this process, as far as it counts against the pool's limit: SQLite does not
// tell what a single connection uses.
static bd_mutex count_mu = BD_MUTEX_INIT;
static int64_t counted; // guarded by count_mu

static void watch_forks(void *arg)
{
    (void)arg;
    bd_mutex_across_forks(&count_mu);
}

// Counts what SQLite uses now. False: that is more than the limit allows.
static bool count_memory(void)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    bd_mutex_lock(&count_mu);
    const int64_t used = sqlite3_memory_used();
    if (used < counted) bd_buffer_pool_unreserve((size_t)(counted - used));
    const bool fits = used <= counted || bd_buffer_pool_reserve((size_t)(used - counted));
    if (fits) counted = used;
    bd_mutex_unlock(&count_mu);
    return fits;
}

static braid_code failed(const bd_sql *sql, int error, const char *what, const char *about, braid_status *st)
{
    const braid_status *of_file = bd_sqlite_vfs_error(sql->vfs);
    const char *rule = (error & 0xff) == SQLITE_AUTH ? ": a query may only read" : "";
    const char *why = sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(error);
    if (sql->is_short)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                       "SQLite cannot %s %s: it needs more memory than there may be", what, about);
    if (of_file->code && ((error & 0xff) == SQLITE_CANTOPEN || (error & 0xff) == SQLITE_IOERR))
        return bd_fail(st, of_file->code, "%s", of_file->message);
    return bd_fail(st, code_of(sql, error), "SQLite cannot %s %s: %s%s", what, about, why, rule);
}

// fts3_tokenizer(), where SQLite is built with it (as Debian's is), gives out an address of the process, and
// has SQLite call an address that the query names.
static bool is_harmless(const char *function)
{
    return function && strcmp(function, "fts3_tokenizer") != 0;
}

// What a query may do: it reads. FTS5 asks for the version of the data.
static int authorize(void *arg, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    (void)arg, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION: return is_harmless(second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: return first && strcmp(first, "data_version") == 0 ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static int asked(void *arg)
{
    bd_sql *sql = arg;
    sql->is_short = !count_memory();
    return sql->is_short || (sql->stops && sql->stops(sql->arg));
}

static int set_up(bd_sql *sql)
{
    sqlite3_limit(sql->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_QUESTIONS, asked, sql);
    // Files are not locked, so that a log can be read without memory that processes share.
    int error = sqlite3_exec(sql->db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY", NULL,
                             NULL, NULL);
    return error ? error : sqlite3_set_authorizer(sql->db, authorize, NULL);
}

// Opens the connection. A name that begins with "file:" would be an URI, which could name another VFS.
static int open_database(bd_sql *sql, const char *path)
{
    char *name = strncmp(path, "file:", 5) == 0 ? bd_path_join(".", path) : bd_strdup(path);
    int error = sqlite3_open_v2(name, &sql->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                                bd_sqlite_vfs_name(sql->vfs));
    bd_free(name);
    return error ? error : set_up(sql);
}

braid_code bd_sql_open(const bd_fs *fs, const char *path, const char *query, bool (*stops)(void *arg),
                       void *arg, bd_sql **out, braid_status *st)
{
    *out = NULL;
    bd_sqlite_vfs *vfs = bd_sqlite_vfs_new(fs);
    if (!vfs) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "SQLite cannot be initialized");
    bd_sql *sql = bd_calloc(1, sizeof *sql);
    *sql = (bd_sql){.vfs = vfs, .stops = stops, .arg = arg};
    int error = open_database(sql, path);
    if (error)
        failed(sql, error, "open", path, st);
    else if ((error = sqlite3_prepare_v2(sql->db, query, -1, &sql->query, NULL)))
        failed(sql, error, "prepare the query", query, st);
    else if (!sql->query)
        error = bd_fail(st, BRAID_INVALID_ARGUMENT, "The query of %s is empty", path);
    if (error) {
        bd_sql_close(sql);
        return st->code;
    }
    *out = sql;
    return BRAID_OK;
}

void bd_sql_close(bd_sql *sql)
{
    if (!sql) return;
    sqlite3_finalize(sql->query);
    sqlite3_close(sql->db);
    bd_sqlite_vfs_free(sql->vfs);
    bd_free(sql);
    count_memory();
}

int bd_sql_column_count(const bd_sql *sql)
{
    return sqlite3_column_count(sql->query);
}

braid_code bd_sql_next(bd_sql *sql, bool *has_row, braid_status *st)
{
    int answer = sqlite3_step(sql->query);
    *has_row = answer == SQLITE_ROW;
    if (answer == SQLITE_ROW || answer == SQLITE_DONE) return BRAID_OK;
    return failed(sql, answer, "run the query", sqlite3_sql(sql->query), st);
}

int64_t bd_sql_int(bd_sql *sql, int column)
{
    return sqlite3_column_int64(sql->query, column);
}

double bd_sql_real(bd_sql *sql, int column)
{
    return sqlite3_column_double(sql->query, column);
}

braid_code bd_sql_text(bd_sql *sql, int column, const char **text, size_t *len, braid_status *st)
{
    int type = sqlite3_column_type(sql->query, column);
    *text = type == SQLITE_BLOB ? sqlite3_column_blob(sql->query, column)
                                : (const char *)sqlite3_column_text(sql->query, column);
    *len = (size_t)sqlite3_column_bytes(sql->query, column);
    bool may_be_null = type == SQLITE_NULL || type == SQLITE_BLOB;
    if (!*text && !(may_be_null && *len == 0))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading column %d of a row", column);
    if (!*text) *text = "";
    return BRAID_OK;
}
