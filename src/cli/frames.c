// What `braid run` and an agent say to each other.
#include "frames.h"
#include "base/alloc.h"
#include "base/array.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_SIZE 5

void bd_frame_append(bd_strbuf *to, bd_frame_type type, const void *data, size_t len)
{
    const char head[HEAD_SIZE] = {(char)type, (char)(len & 0xff), (char)(len >> 8 & 0xff),
                                  (char)(len >> 16 & 0xff), (char)(len >> 24 & 0xff)};
    bd_strbuf_append_n(to, head, HEAD_SIZE);
    bd_strbuf_append_n(to, data, len);
}

void bd_frame_append_file(bd_strbuf *to, const char *name, const void *data, size_t len)
{
    bd_strbuf content = {0};
    bd_strbuf_append_n(&content, name, strlen(name) + 1);
    bd_strbuf_append_n(&content, data, len);
    bd_frame_append(to, BD_FRAME_FILE, content.data, content.len);
    bd_strbuf_fini(&content);
}

bool bd_frame_read_file(const bd_frame *f, const char **name, const char **data, size_t *len)
{
    const char *zero = f->len ? memchr(f->data, 0, f->len) : NULL;
    if (!zero) return false;
    *name = f->data;
    *data = zero + 1;
    *len = f->len - (size_t)(*data - f->data);
    return true;
}

void bd_frame_append_number(bd_strbuf *to, bd_frame_type type, int number)
{
    char text[16];
    const int len = snprintf(text, sizeof text, "%d", number);
    bd_frame_append(to, type, text, (size_t)len);
}

int bd_frame_number(const bd_frame *f)
{
    char *text = bd_strndup(f->data, f->len);
    int64_t number;
    const bool ok = bd_parse_int64(text, &number) && number >= 0 && number <= INT32_MAX;
    bd_free(text);
    return ok ? (int)number : -1;
}

// ---- Queues ----

void bd_byte_queue_fini(bd_byte_queue *q)
{
    bd_strbuf_fini(&q->data);
    q->taken = 0;
}

static void drop_taken(bd_byte_queue *q)
{
    if (!q->taken) return;
    memmove(q->data.data, q->data.data + q->taken, q->data.len - q->taken);
    q->data.len -= q->taken;
    q->taken = 0;
}

bool bd_byte_queue_write(bd_byte_queue *q, int fd)
{
    const size_t len = bd_byte_queue_len(q);
    const ssize_t n = len ? write(fd, q->data.data + q->taken, len) : 0;
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    q->taken += (size_t)n;
    if (bd_byte_queue_len(q) == 0) drop_taken(q);
    return true;
}

bool bd_byte_queue_read(bd_byte_queue *q, int fd, bool *got)
{
    char buffer[16384];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    *got = n > 0;
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    drop_taken(q);
    bd_strbuf_append_n(&q->data, buffer, (size_t)n);
    return n > 0;
}

int bd_frame_next(bd_byte_queue *q, bd_frame *out)
{
    if (bd_byte_queue_len(q) < HEAD_SIZE) return 0;
    const unsigned char *head = (const unsigned char *)q->data.data + q->taken;
    const size_t len = head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
    if (len > BD_FRAME_MAX) return -1;
    if (bd_byte_queue_len(q) < HEAD_SIZE + len) return 0;
    *out = (bd_frame){(char)head[0], q->data.data + q->taken + HEAD_SIZE, len};
    q->taken += HEAD_SIZE + len;
    return 1;
}

// ---- START ----

static void append_string(bd_strbuf *to, const char *text)
{
    bd_strbuf_append_n(to, text, strlen(text) + 1);
}

void bd_start_append(bd_strbuf *to, const bd_start *s)
{
    bd_strbuf content = {0};
    char count[16];
    snprintf(count, sizeof count, "%d", s->argc);
    append_string(&content, s->directory);
    append_string(&content, s->program);
    append_string(&content, count);
    for (int i = 0; i < s->argc; i++)
        append_string(&content, s->argv[i]);
    for (int i = 0; i < s->variable_count; i++)
        append_string(&content, s->variables[i]);
    bd_frame_append(to, BD_FRAME_START, content.data, content.len);
    bd_strbuf_fini(&content);
}

bool bd_start_read(const bd_frame *f, bd_start *out)
{
    enum {
        DIRECTORY,
        PROGRAM,
        COUNT,
        ARGUMENTS
    };
    BD_ARRAY(char *) strings = {0};
    *out = (bd_start){0};
    int64_t argc = -1;
    if (f->len == 0 || f->data[f->len - 1]) return false;
    for (const char *at = f->data; at < f->data + f->len; at += strlen(at) + 1)
        bd_array_push(&strings, (char *)(uintptr_t)at);
    const bool ok = strings.len > ARGUMENTS && bd_parse_int64(strings.items[COUNT], &argc) && argc >= 1 &&
                    (uint64_t)argc <= strings.len - ARGUMENTS;
    if (ok) {
        out->directory = strings.items[DIRECTORY];
        out->program = strings.items[PROGRAM];
        out->argc = (int)argc;
        out->argv = bd_calloc((size_t)argc + 1, sizeof *out->argv);
        memcpy(out->argv, strings.items + ARGUMENTS, (size_t)argc * sizeof *out->argv);
        out->variable_count = (int)(strings.len - ARGUMENTS - (size_t)argc);
        out->variables = bd_calloc((size_t)out->variable_count + 1, sizeof *out->variables);
        memcpy(out->variables, strings.items + ARGUMENTS + argc,
               (size_t)out->variable_count * sizeof *out->variables);
    }
    bd_array_free(&strings);
    return ok;
}

void bd_start_fini(bd_start *s)
{
    bd_free(s->argv);
    bd_free(s->variables);
}
