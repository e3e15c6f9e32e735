// Writers of summaries as resources: making, opening, flushing and closing them.
#include "ops/io/summary_writer.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "op/io_pool.h"
#include "ops/common/file_arg.h"
#include "ops/common/handle.h"

typedef struct summary_writer {
    bd_resource base;
    bd_mutex mu;
    bd_event_writer *events; // guarded by mu while it is opened; NULL before
} summary_writer;

static void destroy(bd_resource *r)
{
    BD_STATUS(st);
    summary_writer *w = BD_CONTAINER_OF(r, summary_writer, base);
    if (bd_event_writer_close(w->events, st)) bd_log(BD_WARNING, "%s", braid_status_message(st));
    bd_mutex_fini(&w->mu);
    bd_free(w);
}

static const bd_resource_type writer_type = {.name = "SummaryWriter", .destroy = destroy};

// The file is opened later, not under the lock of the table of resources.
static braid_code create(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg;
    (void)st;
    summary_writer *w = bd_calloc(1, sizeof *w);
    bd_resource_init(&w->base, &writer_type);
    bd_mutex_init(&w->mu);
    *out = &w->base;
    return BRAID_OK;
}

bd_event_writer *bd_input_event_writer(bd_op_ctx *c, int i, bd_resource **r)
{
    *r = bd_input_resource(c, i, &writer_type);
    if (!*r) return NULL;
    summary_writer *w = BD_CONTAINER_OF(*r, summary_writer, base);
    bd_mutex_lock(&w->mu);
    bd_event_writer *events = w->events;
    bd_mutex_unlock(&w->mu);
    if (events) return events;
    bd_op_fail(c, BRAID_FAILED_PRECONDITION, "The summary writer was not properly initialized.");
    bd_resource_unref(*r);
    *r = NULL;
    return NULL;
}

// ---- SummaryWriter ----

// Only names the resource; it need not exist.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &writer_type);
}

BD_OP(SummaryWriter) = {
    .signature = "() -> (writer: resource)",
    .attrs = "shared_name:string=''; container:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to a writer of summaries.",
};

// ---- CreateSummaryFileWriter ----

enum {
    WRITER,
    LOGDIR,
    MAX_QUEUE,
    FLUSH_MILLIS,
    FILENAME_SUFFIX
};

// TensorFlow's numbers as ours: without a queue, or without any time, each event is written at once.
static bd_event_options read_options(const bd_op_ctx *c, const char *suffix)
{
    const int32_t max_queue = bd_tensor_i32(bd_input(c, MAX_QUEUE))[0],
                  millis = bd_tensor_i32(bd_input(c, FLUSH_MILLIS))[0];
    bd_event_options o = {
        .suffix = suffix, .queue_len = max_queue < 0 ? INT32_MAX : max_queue, .flush_ms = millis};
    if (max_queue == 0 || millis <= 0) o.queue_len = o.flush_ms = -1;
    return o;
}

static void open_writer(bd_op_ctx *c, summary_writer *w, const char *dir, const char *suffix)
{
    BD_STATUS(st);
    const bd_event_options options = read_options(c, suffix);
    bd_event_writer *events = NULL;
    bd_mutex_lock(&w->mu);
    if (!w->events && !bd_event_writer_open(bd_op_fs(c), dir, &options, &events, st)) w->events = events;
    bd_mutex_unlock(&w->mu);
    if (st->code) bd_op_fail_status(c, st);
}

// The writer of this name, open: the first one to ask opens it.
static void find_writer(bd_op_ctx *c, const char *dir, const char *suffix)
{
    BD_STATUS(st);
    bd_resource *r;
    const bd_resource_handle *h = bd_tensor_handle(bd_input(c, WRITER));
    if (!bd_handle_check_kind(c, h, &writer_type)) return;
    if (bd_resources_lookup_or_create(c->step->resources,
                                      &(bd_resource_spec){h->container, h->name, &writer_type, create, NULL},
                                      &r, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    open_writer(c, BD_CONTAINER_OF(r, summary_writer, base), dir, suffix);
    if (bd_op_failed(c)) bd_resources_delete(c->step->resources, h->container, h->name, &writer_type, st);
    bd_resource_unref(r);
}

static void create_blocking(bd_op_ctx *c)
{
    for (int i = LOGDIR; i <= FILENAME_SUFFIX; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar", c->node->def->inputs[i].name);
        return;
    }
    const braid_tensor *handle = bd_input(c, WRITER);
    if (bd_tensor_count(handle) != 1 || !bd_tensor_handle(handle)->name) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': input 0 is no handle of a %s", c->node->op_type,
                   c->node->name, writer_type.name);
        return;
    }
    char *dir = bd_input_text(c, LOGDIR, 0), *suffix = dir ? bd_input_text(c, FILENAME_SUFFIX, 0) : NULL;
    if (suffix) find_writer(c, dir, suffix);
    bd_free(dir);
    bd_free(suffix);
}

static void create_start(bd_op_ctx *c)
{
    bd_op_run_io(c, create_blocking);
}

BD_OP(CreateSummaryFileWriter) = {
    .signature =
        "(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.start = create_start}),
    .doc = "Opens a new file of events for a writer of summaries that has none yet.",
};

// ---- FlushSummaryWriter, CloseSummaryWriter ----

static void flush_blocking(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    bd_event_writer *events = bd_input_event_writer(c, 0, &r);
    if (!events) return;
    if (bd_event_writer_flush(events, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void flush_start(bd_op_ctx *c)
{
    bd_op_run_io(c, flush_blocking);
}

// The file is closed with the last reference: here, unless a kernel is writing.
static void close_blocking(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r = bd_input_resource(c, 0, &writer_type);
    if (!r) return;
    const bd_resource_handle *h = bd_tensor_handle(bd_input(c, 0));
    if (bd_resources_delete(c->step->resources, h->container, h->name, &writer_type, st))
        bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void close_start(bd_op_ctx *c)
{
    bd_op_run_io(c, close_blocking);
}

BD_OP(FlushSummaryWriter) = {
    .signature = "(writer: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.start = flush_start}),
    .doc = "Hands all events of a writer of summaries to the system.",
};

BD_OP(CloseSummaryWriter) = {
    .signature = "(writer: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.start = close_start}),
    .doc = "Flushes a writer of summaries and ends it.",
};
