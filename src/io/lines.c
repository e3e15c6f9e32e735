// The lines of a text file.
#include "io/lines.h"

#include "base/alloc.h"
#include "io/input.h"
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct bd_lines {
    bd_input *in;    // owned
    char *line;      // owned; a line that does not end in one block
    size_t len, cap; // of it
    size_t pos, end; // of the unread part of the block
    char block[BLOCK_BYTES];
};

braid_code bd_lines_open(const bd_fs *fs, const char *path, bd_compression kind, bd_lines **l,
                         braid_status *st)
{
    *l = NULL;
    bd_input *in;
    braid_code code = bd_input_open(fs, path, kind, &in, st);
    if (code) return code;
    *l = bd_malloc(sizeof **l);
    (*l)->in = in;
    (*l)->line = NULL;
    (*l)->len = (*l)->cap = (*l)->pos = (*l)->end = 0;
    return BRAID_OK;
}

void bd_lines_close(bd_lines *l)
{
    if (!l) return;
    bd_input_close(l->in);
    bd_free(l->line);
    bd_free(l);
}

static braid_code keep_block(bd_lines *l, size_t n, braid_status *st)
{
    if (l->cap - l->len < n) {
        size_t cap = (l->len + n) * 2;
        char *line = bd_try_realloc(l->line, cap);
        if (!line)
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                           "%s: a line of more than %zu bytes does not fit into memory", bd_input_path(l->in),
                           l->len);
        l->line = line;
        l->cap = cap;
    }
    if (n > 0) memcpy(l->line + l->len, l->block + l->pos, n);
    l->len += n;
    return BRAID_OK;
}

static braid_code give(const char *data, size_t n, const char **line, size_t *len)
{
    *line = data;
    *len = n > 0 && data[n - 1] == '\r' ? n - 1 : n;
    return BRAID_OK;
}

braid_code bd_lines_next(bd_lines *l, const char **line, size_t *len, braid_status *st)
{
    l->len = 0;
    for (;;) {
        char *start = l->block + l->pos, *newline = memchr(start, '\n', l->end - l->pos);
        size_t n = newline ? (size_t)(newline - start) : l->end - l->pos;
        bool is_whole = newline && l->len == 0;
        if (is_whole) {
            l->pos += n + 1;
            return give(start, n, line, len);
        }
        braid_code code = keep_block(l, n, st);
        if (code) return code;
        l->pos += n + (newline ? 1 : 0);
        if (newline) return give(l->line, l->len, line, len);
        l->pos = l->end = 0;
        code = bd_input_read(l->in, l->block, BLOCK_BYTES, &l->end, st);
        if (code) return code;
        if (l->end > 0) continue;
        give(l->line ? l->line : "", l->len, line, len);
        // The last line counts unless it is empty.
        return *len > 0
                   ? BRAID_OK
                   : bd_fail(st, BRAID_OUT_OF_RANGE, "%s: there are no more lines", bd_input_path(l->in));
    }
}
