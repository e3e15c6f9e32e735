// SqlDataset: the rows of a query of a SQLite database, each column as a scalar.
//
// Each iterator opens the database and runs the query anew, on an I/O thread.
#include "io/sql.h"
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "ops/common/file_arg.h"
#include "ops/dataset/dataset.h"
#include "ops/dataset/function.h"
#include <string.h>

typedef struct sql_dataset {
    bd_dataset base;
    char *path, *query; // owned
} sql_dataset;

typedef struct sql_iterator {
    bd_iterator base;
    bd_sql *rows; // owned; NULL: not open yet
} sql_iterator;

static sql_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, sql_dataset, base);
}

static sql_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, sql_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_free(dataset_of(d)->path);
    bd_free(dataset_of(d)->query);
}

static void sql_close(bd_iterator *it)
{
    bd_sql_close(iterator_of(it)->rows);
}

// ---- Rows ----

static bool is_unwanted(void *arg)
{
    return bd_cancellation_is_cancelled(((bd_iterator *)arg)->chain->token);
}

static braid_code open_rows(bd_iterator *it, braid_status *st)
{
    const sql_dataset *d = dataset_of(it->dataset);
    bd_sql *rows;
    braid_code code = bd_sql_open(bd_iterator_fs(it), d->path, d->query, is_unwanted, it, &rows, st);
    if (code) return code;
    int columns = bd_sql_column_count(rows);
    if (columns == it->dataset->count) {
        iterator_of(it)->rows = rows;
        return BRAID_OK;
    }
    bd_sql_close(rows);
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "The number of columns in query (%d) must match the number of elements in output_types (%d).",
        columns, it->dataset->count);
}

// As TensorFlow does, an integer that is too large for the type loses its upper bits.
static void put_int(braid_tensor *t, int64_t value)
{
    switch (t->dtype) {
    case BRAID_BOOL: bd_tensor_bool(t)[0] = value != 0; break;
    case BRAID_INT8: *(int8_t *)t->data = (int8_t)value; break;
    case BRAID_INT16: *(int16_t *)t->data = (int16_t)value; break;
    case BRAID_INT32: *(int32_t *)t->data = (int32_t)value; break;
    case BRAID_UINT8: *(uint8_t *)t->data = (uint8_t)value; break;
    case BRAID_UINT16: *(uint16_t *)t->data = (uint16_t)value; break;
    default: bd_tensor_i64(t)[0] = value;
    }
}

static braid_code put_text(bd_iterator *it, int i, braid_status *st)
{
    const char *text;
    size_t len;
    braid_code code = bd_sql_text(iterator_of(it)->rows, i, &text, &len, st);
    if (code || bd_tensor_string_try_set(&it->answer.tensors[i], 0, text, len)) return code;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading a text of %zu bytes", len);
}

static braid_code put_column(bd_iterator *it, int i, braid_status *st)
{
    bd_sql *rows = iterator_of(it)->rows;
    braid_tensor *t = &it->answer.tensors[i];
    if (!bd_tensor_alloc(t, it->dataset->types[i], &BD_SCALAR))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading a column");
    if (t->dtype == BRAID_STRING) return put_text(it, i, st);
    if (t->dtype == BRAID_DOUBLE)
        bd_tensor_f64(t)[0] = bd_sql_real(rows, i);
    else
        put_int(t, bd_sql_int(rows, i));
    return BRAID_OK;
}

static bd_turn read_row(bd_iterator *it)
{
    BD_STATUS(st);
    bool has_row = false;
    if (!iterator_of(it)->rows) open_rows(it, st);
    if (!st->code) bd_sql_next(iterator_of(it)->rows, &has_row, st);
    for (int i = 0; has_row && !st->code && i < it->dataset->count; i++)
        put_column(it, i, st);
    if (!st->code) return has_row ? bd_give(it) : bd_give_end(it);
    bd_answer_drop(it);
    it->has_ended = true; // or the query would begin anew
    return bd_give_error(it, st);
}

static bd_turn sql_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_row);
}

static const bd_dataset_kind sql_kind = {
    .name = "Sql",
    .dataset_size = sizeof(sql_dataset),
    .iterator_size = sizeof(sql_iterator),
    .destroy = destroy,
    .next = sql_next,
    .close = sql_close,
};

// ---- The op ----

enum {
    DRIVER,
    SOURCE,
    QUERY
};

static bool is_served(braid_dtype type)
{
    switch (type) {
    case BRAID_STRING:
    case BRAID_INT8:
    case BRAID_INT16:
    case BRAID_INT32:
    case BRAID_INT64:
    case BRAID_UINT8:
    case BRAID_UINT16:
    case BRAID_BOOL:
    case BRAID_DOUBLE: return true;
    default: return false;
    }
}

static bool check_components(bd_op_ctx *c, const bd_dataset *d)
{
    for (int i = 0; i < d->count && !bd_op_failed(c); i++)
        if (!is_served(d->types[i]))
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Each element of `output_types_` must be one of: string, int8, int16, int32, int64, uint8, "
                "uint16, bool, double; not %s",
                braid_dtype_name(d->types[i]));
        else if (d->shapes[i].rank > 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Each element of `output_shapes_` must be a scalar.");
    return !bd_op_failed(c);
}

static void sql_run(bd_op_ctx *c)
{
    if (!bd_input_scalar(c, DRIVER, "driver_name", BRAID_STRING) ||
        !bd_input_scalar(c, SOURCE, "data_source_name", BRAID_STRING) ||
        !bd_input_scalar(c, QUERY, "query", BRAID_STRING))
        return;
    const bd_string *driver = bd_tensor_str(bd_input(c, DRIVER));
    if (driver->len != strlen("sqlite") || memcmp(driver->data, "sqlite", driver->len) != 0) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "The database type, `%.*s`, is not supported by SqlDataset. The set of supported databases is: "
            "{'sqlite'}.",
            (int)bd_min((int64_t)driver->len, 1024), driver->data);
        return;
    }
    bd_dataset *made = bd_dataset_of_attrs(c, &sql_kind, false);
    if (!made) return;
    sql_dataset *d = dataset_of(made);
    if (check_components(c, made) && (d->path = bd_input_text(c, SOURCE, 0)) &&
        (d->query = bd_input_text(c, QUERY, 0)))
        bd_output_dataset(c, made);
    else
        bd_dataset_unref(made);
}

#define SQL_OP                                                                                               \
    {                                                                                                        \
        .signature = "(driver_name: string, data_source_name: string, query: string) -> (handle: variant)",  \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,                       \
        .shape = bd_shape_fn_scalars, .kernels = BD_KERNELS({.run = sql_run}),                               \
        .deviation =                                                                                         \
            "A query only reads. The database is not locked: it must not change meanwhile. What SQLite "     \
            "uses of memory counts against the memory of the task.",                                         \
        .doc = "The rows of a query of a SQLite database, each column as a scalar."                          \
    }

BD_OP(SqlDataset) = SQL_OP;
BD_OP(ExperimentalSqlDataset) = SQL_OP;
