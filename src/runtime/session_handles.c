// Handles of the public session: callables and partial runs.
//
// Either may outlive the session: it references the session's struct, in which every call finds that the
// session is closed.
#include "runtime/session_internal.h"

#include "base/alloc.h"
#include "runtime/debug_nodes.h"
#include "runtime/run_metadata.h"

// A copy of a signature, with the names it refers to.
typedef struct signature_copy {
    bd_session_request request;
    braid_feed *feeds;    // of `args`, without values
    braid_fetch *fetches; // the same
    braid_run_args args;
    const char **connections; // from, then to
} signature_copy;

static braid_code check_signature(const braid_session *s, const braid_signature *g, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; !code && i < g->feed_count; i++)
        code = bd_session_check_output(s, "feed", i, g->feeds[i], st);
    for (int i = 0; !code && i < g->fetch_count; i++)
        code = bd_session_check_output(s, "fetch", i, g->fetches[i], st);
    for (int i = 0; !code && i < g->target_count; i++)
        code = bd_session_check_output(s, "target", i, (braid_out){.op = g->targets[i]}, st);
    return code;
}

static void signature_copy_init(signature_copy *k, const braid_signature *g)
{
    k->feeds = bd_calloc((size_t)g->feed_count, sizeof *k->feeds);
    k->fetches = bd_calloc((size_t)g->fetch_count, sizeof *k->fetches);
    for (int i = 0; i < g->feed_count; i++)
        k->feeds[i].out = g->feeds[i];
    for (int i = 0; i < g->fetch_count; i++)
        k->fetches[i].out = g->fetches[i];
    k->args = (braid_run_args){.feeds = k->feeds,
                               .feed_count = g->feed_count,
                               .fetches = k->fetches,
                               .fetch_count = g->fetch_count,
                               .targets = g->targets,
                               .target_count = g->target_count};
    bd_session_request_open(&k->request, &k->args);
}

static void signature_copy_fini(signature_copy *k)
{
    bd_session_request_close(&k->request);
    bd_free(k->feeds);
    bd_free(k->fetches);
    for (int i = 0; k->connections && i < 2 * k->request.signature.connection_count; i++)
        bd_free((char *)k->connections[i]);
    bd_free(k->connections);
}

// ---- Callables ----

struct braid_callable {
    braid_session *session; // a reference
    signature_copy signature;
    int64_t handle;
    unsigned records;     // 0: its runs are not traced
    bd_proto_arena arena; // of the options of the debugger
};

static char *name_of(braid_out out)
{
    return bd_asprintf("%s:%d", out.op->name, out.index);
}

static braid_code set_connections(braid_callable *c, const braid_callable_options *o, braid_status *st)
{
    const int count = o->connection_count;
    for (int i = 0; i < count; i++) {
        if (bd_session_check_output(c->session, "end of connection", i, o->connections[i].from, st) ||
            bd_session_check_output(c->session, "end of connection", i, o->connections[i].to, st))
            return st->code;
    }
    c->signature.connections = bd_calloc(2 * (size_t)count, sizeof *c->signature.connections);
    bd_run_signature *s = &c->signature.request.signature;
    for (int i = 0; i < count; i++) {
        c->signature.connections[i] = name_of(o->connections[i].from);
        c->signature.connections[count + i] = name_of(o->connections[i].to);
    }
    s->connect_from = c->signature.connections;
    s->connect_to = c->signature.connections + count;
    s->connection_count = count;
    return BRAID_OK;
}

static braid_code make(braid_callable *c, const braid_callable_options *o, braid_status *st)
{
    braid_session *s = c->session;
    const bd_callable_options options = {.timeout_ms = o->timeout_ms,
                                         .records = bd_records(o->is_traced, o->records)};
    if (o->debug_options)
        c->signature.request.signature.debug =
            bd_debug_parse(o->debug_options, o->debug_options_len, &c->arena, st);
    if (st->code || set_connections(c, o, st) || bd_session_send_new_nodes(s, st)) return st->code;
    return s->impl->ops->make_callable(s->impl, &c->signature.request.signature, &options, &c->handle, st);
}

static void callable_drop(braid_callable *c)
{
    signature_copy_fini(&c->signature);
    bd_proto_arena_fini(&c->arena);
    bd_session_unref(c->session);
    bd_free(c);
}

static braid_callable *callable_new(braid_session *session, const braid_signature *signature,
                                    const braid_callable_options *options, braid_status *st)
{
    static const braid_callable_options none;
    if (!options) options = &none;
    if (bd_session_check_graph(session, st) || check_signature(session, signature, st)) return NULL;
    braid_callable *c = bd_calloc(1, sizeof *c);
    c->session = bd_session_ref(session);
    c->records = bd_records(options->is_traced, options->records);
    signature_copy_init(&c->signature, signature);
    if (!make(c, options, st)) return c;
    callable_drop(c);
    return NULL;
}

braid_callable *braid_callable_new(braid_session *session, const braid_signature *signature,
                                   const braid_callable_options *options, braid_status *status)
{
    BD_STATUS(st);
    braid_callable *c = NULL;
    if (bd_session_enter(session, st)) {
        c = callable_new(session, signature, options, st);
        bd_session_leave(session, st);
    }
    bd_session_report(status, st);
    return c;
}

static braid_code run_callable(const braid_callable *c, const braid_tensor *const *feeds,
                               braid_tensor **fetches, braid_run_metadata *metadata,
                               const braid_cancellation *cancellation, braid_status *st)
{
    const bd_run_signature *signature = &c->signature.request.signature;
    for (int i = 0; i < signature->feed_count; i++)
        if (bd_session_check_feed(i, c->signature.feeds[i].out, feeds[i], st)) return st->code;
    if (metadata && !c->records)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Metadata of a callable whose runs are not traced: set is_traced in its options");
    bd_cancellation *token;
    if (bd_session_check_cancellation(c->session, cancellation, &token, st)) return st->code;
    bd_session *impl = c->session->impl;
    braid_tensor *values = bd_calloc((size_t)signature->fetch_count, sizeof *values);
    bd_message message;
    bd_message_init(&message);
    const bd_session_run run = {.signature = signature,
                                .feeds = feeds,
                                .fetches = values,
                                .metadata = metadata ? &message : NULL,
                                .records = metadata ? c->records : 0,
                                .cancellation = token};
    if (!impl->ops->run_callable(impl, c->handle, &run, st)) {
        for (int i = 0; i < signature->fetch_count; i++)
            fetches[i] = bd_session_box(&values[i]);
        if (metadata) bd_run_metadata_set(metadata, &message);
    }
    bd_message_fini(&message);
    bd_free(values);
    return st->code;
}

braid_code braid_callable_run(braid_callable *callable, const braid_tensor *const *feeds,
                              braid_tensor **fetches, braid_run_metadata *metadata, braid_status *status)
{
    return braid_callable_run_with(callable, feeds, fetches, metadata, NULL, status);
}

braid_code braid_callable_run_with(braid_callable *callable, const braid_tensor *const *feeds,
                                   braid_tensor **fetches, braid_run_metadata *metadata,
                                   braid_cancellation *cancellation, braid_status *status)
{
    BD_STATUS(st);
    if (bd_session_enter(callable->session, st)) {
        run_callable(callable, feeds, fetches, metadata, cancellation, st);
        bd_session_leave(callable->session, st);
    }
    return bd_session_report(status, st);
}

void braid_callable_free(braid_callable *callable)
{
    if (!callable) return;
    BD_STATUS(unwanted);
    braid_session *s = callable->session;
    if (bd_session_enter(s, unwanted)) {
        s->impl->ops->release_callable(s->impl, callable->handle);
        bd_session_leave(s, unwanted);
    }
    callable_drop(callable);
}

// ---- Partial runs ----

struct braid_partial_run {
    braid_session *session; // a reference
    char *handle;
};

static braid_partial_run *partial_new(braid_session *s, const braid_signature *signature, braid_status *st)
{
    if (bd_session_check_graph(s, st) || check_signature(s, signature, st) ||
        bd_session_send_new_nodes(s, st))
        return NULL;
    signature_copy copy = {0};
    char *handle = NULL;
    signature_copy_init(&copy, signature);
    s->impl->ops->setup_partial_run(s->impl, &copy.request.signature, &handle, st);
    signature_copy_fini(&copy);
    if (st->code) return NULL;
    braid_partial_run *r = bd_calloc(1, sizeof *r);
    r->session = bd_session_ref(s);
    r->handle = handle;
    return r;
}

braid_partial_run *braid_partial_run_new(braid_session *session, const braid_signature *signature,
                                         braid_status *status)
{
    BD_STATUS(st);
    braid_partial_run *r = NULL;
    if (bd_session_enter(session, st)) {
        r = partial_new(session, signature, st);
        bd_session_leave(session, st);
    }
    bd_session_report(status, st);
    return r;
}

static braid_code call_partial(const braid_partial_run *r, const braid_run_args *args, braid_status *st)
{
    braid_session *s = r->session;
    if (bd_session_check_args(s, args, st)) return st->code;
    if (args->target_count > 0 || args->metadata)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "A call of a partial run has %s: only the signature may have them",
                       args->metadata ? "metadata" : "targets");
    if (args->debug_options)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "A partial run cannot be watched by the debugger");
    bd_cancellation *cancellation;
    if (bd_session_check_cancellation(s, args->cancellation, &cancellation, st)) return st->code;
    bd_session_request q;
    bd_session_request_open(&q, args);
    const bd_session_run run = {.signature = &q.signature,
                                .feeds = q.feed_values,
                                .fetches = q.fetch_values,
                                .timeout_ms = args->timeout_ms,
                                .cancellation = cancellation};
    if (!s->impl->ops->run_partial(s->impl, r->handle, &run, st))
        bd_session_store_fetches(args, q.fetch_values);
    bd_session_request_close(&q);
    return st->code;
}

braid_code braid_partial_run_call(braid_partial_run *run, const braid_run_args *args, braid_status *status)
{
    BD_STATUS(st);
    if (bd_session_enter(run->session, st)) {
        call_partial(run, args, st);
        bd_session_leave(run->session, st);
    }
    return bd_session_report(status, st);
}

void braid_partial_run_free(braid_partial_run *run)
{
    if (!run) return;
    BD_STATUS(unwanted);
    braid_session *s = run->session;
    if (bd_session_enter(s, unwanted)) {
        s->impl->ops->end_partial_run(s->impl, run->handle);
        bd_session_leave(s, unwanted);
    }
    bd_session_unref(s);
    bd_free(run->handle);
    bd_free(run);
}
