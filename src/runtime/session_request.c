// The request of a session's call: validates it, and converts operations to names.
#include "runtime/session_internal.h"

#include "base/alloc.h"
#include "graph/turns.h"
#include <string.h>

// ---- Checking ----

braid_code bd_session_check_output(const braid_session *s, const char *what, int i, braid_out out,
                                   braid_status *st)
{
    if (!out.op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d is no output", what, i);
    if (out.op->graph != s->graph)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d, '%s', is of another graph", what, i, out.op->name);
    if (out.index < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d: '%s' has no output %d", what, i, out.op->name,
                       out.index);
    return BRAID_OK;
}

braid_code bd_session_check_feed(int i, braid_out out, const braid_tensor *value, braid_status *st)
{
    if (!value) return bd_fail(st, BRAID_INVALID_ARGUMENT, "feed %d, '%s', has no value", i, out.op->name);
    if (out.index >= braid_op_num_outputs(out.op)) return BRAID_OK; // the session reports it
    const braid_dtype dtype = bd_dtype_base(braid_out_dtype(out));
    if (value->dtype != dtype)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Cannot feed a value of type %s for '%s:%d', which has type %s",
                       braid_dtype_name(value->dtype), out.op->name, out.index, braid_dtype_name(dtype));
    const braid_shape shape = bd_node_read_shape(out.op, out.index);
    braid_shape merged;
    if (bd_shape_merge(&shape, &value->shape, &merged)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Cannot feed a value of shape %s for '%s:%d', which has shape %s",
                   bd_shape_str(&value->shape, (char[BD_SHAPE_STR_MAX]){0}), out.op->name, out.index,
                   bd_shape_str(&shape, (char[BD_SHAPE_STR_MAX]){0}));
}

braid_code bd_session_check_args(const braid_session *s, const braid_run_args *args, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; !code && i < args->feed_count; i++) {
        code = bd_session_check_output(s, "feed", i, args->feeds[i].out, st);
        if (!code) code = bd_session_check_feed(i, args->feeds[i].out, args->feeds[i].value, st);
    }
    for (int i = 0; !code && i < args->fetch_count; i++) {
        code = bd_session_check_output(s, "fetch", i, args->fetches[i].out, st);
        if (!code && !args->fetches[i].value)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "fetch %d has no place to be stored", i);
    }
    for (int i = 0; !code && i < args->target_count; i++)
        code = bd_session_check_output(s, "target", i, (braid_out){.op = args->targets[i]}, st);
    return code;
}

// ---- Names ----

enum {
    INDEX_DIGITS_MAX = 11
};

static const char *put_text(bd_session_request *q, const char *text)
{
    size_t len = strlen(text);
    char *at = q->next;
    memcpy(at, text, len + 1);
    q->next += len; // a suffix may follow
    return at;
}

static const char *put_output(bd_session_request *q, braid_out out)
{
    char *at = (char *)put_text(q, out.op->name);
    char digits[INDEX_DIGITS_MAX];
    int count = 0, left = out.index;
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    *q->next++ = ':';
    while (count > 0)
        *q->next++ = digits[--count];
    *q->next++ = 0;
    return at;
}

static size_t text_needed(const braid_run_args *args)
{
    size_t len = 0;
    for (int i = 0; i < args->feed_count; i++)
        len += strlen(args->feeds[i].out.op->name) + INDEX_DIGITS_MAX + 2;
    for (int i = 0; i < args->fetch_count; i++)
        len += strlen(args->fetches[i].out.op->name) + INDEX_DIGITS_MAX + 2;
    for (int i = 0; i < args->target_count; i++)
        len += strlen(args->targets[i]->name) + 1;
    return len;
}

// The value that is fed for an output; NULL: it is not fed.
static const braid_tensor *fed_value(const braid_run_args *args, braid_out out)
{
    for (int i = 0; i < args->feed_count; i++)
        if (args->feeds[i].out.op == out.op && args->feeds[i].out.index == out.index)
            return args->feeds[i].value;
    return NULL;
}

// An output that is both fed and fetched is not part of the step: the caller gets the feed back.
static void fill_names(bd_session_request *q, const braid_run_args *args)
{
    const char **name = q->names;
    q->signature =
        (bd_run_signature){.feeds = name, .feed_count = args->feed_count, .fetches = name + args->feed_count};
    for (int i = 0; i < args->feed_count; i++) {
        *name++ = put_output(q, args->feeds[i].out);
        q->feed_values[i] = args->feeds[i].value;
    }
    for (int i = 0; i < args->fetch_count; i++) {
        if (fed_value(args, args->fetches[i].out)) continue;
        *name++ = put_output(q, args->fetches[i].out);
        q->fetch_values[q->signature.fetch_count++] = (braid_tensor){0};
    }
    q->signature.targets = name;
    q->signature.target_count = args->target_count;
    for (int i = 0; i < args->target_count; i++) {
        *name++ = put_text(q, args->targets[i]->name);
        q->next++;
    }
}

void bd_session_request_open(bd_session_request *q, const braid_run_args *args)
{
    size_t feeds = (size_t)args->feed_count, fetches = (size_t)args->fetch_count;
    size_t names = feeds + fetches + (size_t)args->target_count, text = text_needed(args);
    q->text = text <= BD_REQUEST_BYTES ? q->inline_text : bd_malloc(text);
    q->names = names <= BD_REQUEST_NAMES ? q->inline_names : bd_malloc(names * sizeof *q->names);
    q->feed_values = feeds <= BD_REQUEST_NAMES ? q->inline_feeds : bd_malloc(feeds * sizeof *q->feed_values);
    q->fetch_values =
        fetches <= BD_REQUEST_NAMES ? q->inline_fetches : bd_malloc(fetches * sizeof *q->fetch_values);
    q->next = q->text;
    fill_names(q, args);
}

void bd_session_request_close(bd_session_request *q)
{
    if (q->text != q->inline_text) bd_free(q->text);
    if (q->names != q->inline_names) bd_free(q->names);
    if (q->feed_values != q->inline_feeds) bd_free(q->feed_values);
    if (q->fetch_values != q->inline_fetches) bd_free(q->fetch_values);
}

braid_tensor *bd_session_box(braid_tensor *value)
{
    braid_tensor *box = bd_malloc(sizeof *box);
    bd_tensor_move(box, value);
    return box;
}

void bd_session_store_fetches(const braid_run_args *args, braid_tensor *values)
{
    for (int i = 0; i < args->fetch_count; i++) {
        const braid_tensor *fed = fed_value(args, args->fetches[i].out);
        braid_tensor again;
        if (fed) bd_tensor_ref(&again, fed);
        *args->fetches[i].value = bd_session_box(fed ? &again : values++);
    }
}
