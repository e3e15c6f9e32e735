// Paths taken apart and put together.
#include "io/path.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

// Appends the parts of a path to an absolute one without "." and "..".
static void append_parts(bd_strbuf *to, const char *path)
{
    const char *part;
    size_t len;
    while (bd_split_next(&path, '/', &part, &len)) {
        if (len == 0 || (len == 1 && part[0] == '.')) continue;
        if (len == 2 && memcmp(part, "..", 2) == 0) {
            const char *slash = to->len > 0 ? strrchr(to->data, '/') : NULL;
            to->len = slash ? (size_t)(slash - to->data) : 0;
            if (to->data) to->data[to->len] = 0;
            continue;
        }
        bd_strbuf_append_char(to, '/');
        bd_strbuf_append_n(to, part, len);
    }
}

char *bd_path_absolute(const char *path)
{
    bd_strbuf out = {0};
    if (!bd_path_is_absolute(path)) {
        char here[PATH_MAX];
        // the directory was removed: acts as the root
        if (getcwd(here, sizeof here)) append_parts(&out, here);
    }
    append_parts(&out, path);
    if (out.len == 0) bd_strbuf_append_char(&out, '/');
    return bd_strbuf_take(&out);
}

// Bytes that two absolute paths have in common, in whole parts: "/a" of "/a/b" and "/a/c".
static size_t common_len(const char *a, const char *b)
{
    size_t len = 0;
    for (size_t i = 0;; i++) {
        bool a_ends = a[i] == 0 || a[i] == '/', b_ends = b[i] == 0 || b[i] == '/';
        if (a_ends && b_ends) len = i;
        if (a[i] == 0 || a[i] != b[i]) return len;
    }
}

char *bd_path_relative(const char *path, const char *start)
{
    bd_strbuf out = {0};
    char *to = bd_path_absolute(path), *from = bd_path_absolute(start);
    if (!to[1]) *to = 0; // the root has no parts
    if (!from[1]) *from = 0;
    size_t common = common_len(to, from);
    for (const char *up = from + common; *up; up++)
        if (*up == '/') bd_strbuf_append(&out, "../");
    if (to[common]) {
        bd_strbuf_append(&out, to + common + 1);
    } else if (out.len > 0) {
        out.data[--out.len] = 0;
    } else {
        bd_strbuf_append_char(&out, '.');
    }
    bd_free(to);
    bd_free(from);
    return bd_strbuf_take(&out);
}
