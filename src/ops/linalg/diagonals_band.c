// The geometry of several neighbouring diagonals of matrices.
#include "ops/linalg/diagonals.h"

#include <string.h>

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void bd_band_align(bd_band *b, const braid_op *node)
{
    const bd_attr *attr = bd_node_attr(node, "align");
    const char *align = attr ? bd_node_attr_string(node, "align") : "LEFT_LEFT";
    b->above_left = strncmp(align, "LEFT_", 5) == 0;
    b->below_left = strcmp(strchr(align, '_') + 1, "LEFT") == 0;
}

bool bd_band_starts_left(const bd_band *b, int64_t d)
{
    return (d >= 0 && b->above_left) || (d <= 0 && b->below_left);
}

int64_t bd_band_length_of(const bd_band *b, int64_t d)
{
    return lesser(b->rows + lesser(0, d), b->columns - greater(0, d));
}

int64_t bd_band_longest(const bd_band *b)
{
    return lesser(b->rows + lesser(b->upper, 0), b->columns - greater(b->lower, 0));
}

const char *bd_band_size(bd_band *b, int64_t rows, int64_t columns)
{
    int64_t least_rows = b->length - lesser(b->upper, 0), least_columns = b->length + greater(b->lower, 0);
    if (rows != -1 && rows < least_rows) return "The number of rows is too small.";
    if (columns != -1 && columns < least_columns) return "The number of columns is too small.";
    if (rows == -1 && columns == -1) rows = columns = greater(least_rows, least_columns);
    b->rows = rows == -1 ? least_rows : rows;
    b->columns = columns == -1 ? least_columns : columns;
    if (b->rows != least_rows && b->columns != least_columns)
        return "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.";
    return NULL;
}

braid_shape bd_band_shape(const bd_band *b, const braid_shape *matrices)
{
    braid_shape out = *matrices;
    out.rank -= 2;
    if (bd_band_count(b) > 1) out.dims[out.rank++] = bd_band_count(b);
    out.dims[out.rank++] = b->length;
    return out;
}

bool bd_band_matrices(const bd_band *b, const braid_shape *diagonals, braid_shape *out)
{
    *out = *diagonals;
    out->rank -= bd_band_count(b) > 1 ? 2 : 1;
    if (out->rank + 2 > BRAID_RANK_MAX) return false;
    out->dims[out->rank++] = b->rows;
    out->dims[out->rank++] = b->columns;
    return true;
}
