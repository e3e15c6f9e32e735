// Output of many tasks on one terminal or log: whole lines, each behind the name of its task.
#include "prefix.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

void bd_task_output_flush(bd_task_output *o)
{
    size_t len = bd_task_output_waiting(o);
    if (len > PIPE_BUF) len = PIPE_BUF; // the amount that a pipe takes at once when poll reports it writable
    ssize_t n = len ? write(o->fd, o->queue.data + o->written, len) : 0;
    if (n < 0 && errno != EINTR && errno != EAGAIN) o->is_broken = true;
    if (n > 0) o->written += (size_t)n;
    if (o->is_broken || o->written == o->queue.len) {
        bd_strbuf_clear(&o->queue);
        o->written = 0;
    }
}

// A live line ends in '\r': a terminal would finally show the text after the last one.
static void write_line(bd_prefixed *p, const char *line, size_t len)
{
    while (len > 0 && line[len - 1] == '\r')
        len--;
    const char *shown = len ? memrchr(line, '\r', len) : NULL;
    if (shown) {
        len -= (size_t)(shown + 1 - line);
        line = shown + 1;
    }
    if (p->to->is_broken) return;
    bd_strbuf_append(&p->to->queue, p->prefix);
    bd_strbuf_append_n(&p->to->queue, line, len);
    bd_strbuf_append_char(&p->to->queue, '\n');
}

static void write_pending(bd_prefixed *p)
{
    write_line(p, p->pending.data, p->pending.len);
    bd_strbuf_clear(&p->pending);
}

void bd_prefixed_take(bd_prefixed *p, const char *data, size_t len)
{
    const char *end;
    while ((end = memchr(data, '\n', len))) {
        size_t n = (size_t)(end - data);
        if (p->pending.len) {
            bd_strbuf_append_n(&p->pending, data, n);
            write_pending(p);
        } else {
            write_line(p, data, n);
        }
        data += n + 1;
        len -= n + 1;
    }
    bd_strbuf_append_n(&p->pending, data, len);
    if (p->pending.len >= BD_PREFIX_LINE_MAX) write_pending(p);
}

bd_pump bd_prefixed_pump(bd_prefixed *p)
{
    char buffer[16384];
    ssize_t n = read(p->from, buffer, sizeof buffer);
    if (n > 0) {
        bd_prefixed_take(p, buffer, (size_t)n);
        return BD_PUMP_MORE;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return BD_PUMP_NOTHING_NOW;
    bd_prefixed_end(p);
    return BD_PUMP_END;
}

void bd_prefixed_end(bd_prefixed *p)
{
    if (p->pending.len) write_pending(p);
    bd_strbuf_fini(&p->pending);
    if (p->from >= 0) close(p->from);
    p->from = -1;
}
