// Output of many tasks on one terminal or log: whole lines, each behind the name of its task.
#include "prefix.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; // whoever reads our output is gone; the tasks go on
        data += n;
        len -= (size_t)n;
    }
}

// A live line ends in '\r': what a terminal would show of it at the end is what comes after the last one.
static void write_line(bd_prefixed *p, const char *line, size_t len)
{
    while (len > 0 && line[len - 1] == '\r')
        len--;
    const char *shown = memrchr(line, '\r', len);
    if (shown) {
        len -= (size_t)(shown + 1 - line);
        line = shown + 1;
    }
    bd_strbuf out = {0};
    bd_strbuf_append(&out, p->prefix);
    bd_strbuf_append_n(&out, line, len);
    bd_strbuf_append_char(&out, '\n');
    write_all(p->to, out.data, out.len); // one write: lines of two tasks never mix
    bd_strbuf_fini(&out);
}

static void take(bd_prefixed *p, const char *data, size_t len)
{
    const char *end;
    while ((end = memchr(data, '\n', len))) {
        size_t n = (size_t)(end - data);
        if (p->pending.len) {
            bd_strbuf_append_n(&p->pending, data, n);
            write_line(p, p->pending.data, p->pending.len);
            bd_strbuf_clear(&p->pending);
        } else {
            write_line(p, data, n);
        }
        data += n + 1;
        len -= n + 1;
    }
    bd_strbuf_append_n(&p->pending, data, len);
    if (p->pending.len >= BD_PREFIX_LINE_MAX) {
        write_line(p, p->pending.data, p->pending.len);
        bd_strbuf_clear(&p->pending);
    }
}

bool bd_prefixed_pump(bd_prefixed *p)
{
    char buffer[16384];
    for (;;) {
        ssize_t n = read(p->from, buffer, sizeof buffer);
        if (n > 0) {
            take(p, buffer, (size_t)n);
            if ((size_t)n < sizeof buffer) return true;
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (p->pending.len) write_line(p, p->pending.data, p->pending.len);
        bd_strbuf_fini(&p->pending);
        close(p->from);
        p->from = -1;
        return false;
    }
}
