// Element types: one table of names and sizes.
#include "tensor/dtype.h"

#include <string.h>

// One row a type: enumerator, name, bytes of an element (0: no plain bytes).
#define DTYPES(X)                                                                                            \
    X(FLOAT, "float", 4)                                                                                     \
    X(DOUBLE, "double", 8)                                                                                   \
    X(INT32, "int32", 4)                                                                                     \
    X(UINT8, "uint8", 1)                                                                                     \
    X(INT16, "int16", 2)                                                                                     \
    X(INT8, "int8", 1)                                                                                       \
    X(STRING, "string", 0)                                                                                   \
    X(COMPLEX64, "complex64", 8)                                                                             \
    X(INT64, "int64", 8)                                                                                     \
    X(BOOL, "bool", 1)                                                                                       \
    X(QINT8, "qint8", 1)                                                                                     \
    X(QUINT8, "quint8", 1)                                                                                   \
    X(QINT32, "qint32", 4)                                                                                   \
    X(BFLOAT16, "bfloat16", 2)                                                                               \
    X(QINT16, "qint16", 2)                                                                                   \
    X(QUINT16, "quint16", 2)                                                                                 \
    X(UINT16, "uint16", 2)                                                                                   \
    X(COMPLEX128, "complex128", 16)                                                                          \
    X(HALF, "half", 2)                                                                                       \
    X(RESOURCE, "resource", 0)                                                                               \
    X(VARIANT, "variant", 0)                                                                                 \
    X(UINT32, "uint32", 4)                                                                                   \
    X(UINT64, "uint64", 8)

static const struct dtype_row {
    const char *name, *ref_name, *proto_name, *proto_ref_name;
    size_t size;
} rows[] = {
#define ROW(id, text, bytes) [BRAID_##id] = {text, text "_ref", "DT_" #id, "DT_" #id "_REF", bytes},
    DTYPES(ROW)
#undef ROW
};

#define ROW_COUNT ((int)(sizeof rows / sizeof *rows))

static const struct dtype_row *row_of(int number)
{
    if (number > BD_REF_OFFSET) number -= BD_REF_OFFSET;
    return number > 0 && number < ROW_COUNT ? &rows[number] : NULL;
}

bool bd_dtype_is_valid(int number)
{
    return row_of(number) != NULL;
}

size_t braid_dtype_size(braid_dtype dtype)
{
    const struct dtype_row *row = row_of((int)dtype);
    return row ? row->size : 0;
}

const char *braid_dtype_name(braid_dtype dtype)
{
    const struct dtype_row *row = row_of((int)dtype);
    if (!row) return "invalid";
    return bd_dtype_is_ref(dtype) ? row->ref_name : row->name;
}

static bool is(const char *name, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(name, text, len) == 0;
}

braid_dtype bd_dtype_parse(const char *name, size_t len)
{
    for (int i = 1; i < ROW_COUNT; i++) {
        if (is(name, len, rows[i].name) || is(name, len, rows[i].proto_name)) return (braid_dtype)i;
        if (is(name, len, rows[i].ref_name) || is(name, len, rows[i].proto_ref_name))
            return bd_dtype_ref((braid_dtype)i);
    }
    return BRAID_INVALID;
}

#define INTEGERS                                                                                             \
    (BD_DTYPE_BIT(BRAID_INT8) | BD_DTYPE_BIT(BRAID_INT16) | BD_DTYPE_BIT(BRAID_INT32) |                      \
     BD_DTYPE_BIT(BRAID_INT64) | BD_DTYPE_BIT(BRAID_UINT8) | BD_DTYPE_BIT(BRAID_UINT16) |                    \
     BD_DTYPE_BIT(BRAID_UINT32) | BD_DTYPE_BIT(BRAID_UINT64))
#define REAL_NUMBERS                                                                                         \
    (INTEGERS | BD_DTYPE_BIT(BRAID_FLOAT) | BD_DTYPE_BIT(BRAID_DOUBLE) | BD_DTYPE_BIT(BRAID_HALF) |          \
     BD_DTYPE_BIT(BRAID_BFLOAT16))

const bd_dtype_set bd_dtypes_integer = INTEGERS;
const bd_dtype_set bd_dtypes_realnumber = REAL_NUMBERS;
const bd_dtype_set bd_dtypes_number = REAL_NUMBERS | BD_DTYPE_BIT(BRAID_COMPLEX64) |
                                      BD_DTYPE_BIT(BRAID_COMPLEX128) | BD_DTYPE_BIT(BRAID_QINT8) |
                                      BD_DTYPE_BIT(BRAID_QUINT8) | BD_DTYPE_BIT(BRAID_QINT32);
