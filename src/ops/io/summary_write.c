// Ops that write summaries to files: each makes one event of its inputs, at a step that they say.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "op/io_pool.h"
#include "ops/io/summary.h"
#include "ops/io/summary_writer.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include "tensorflow/core/framework/summary.pb-c.h"
#include "tensorflow/core/util/event.pb-c.h"

enum {
    WRITER,
    STEP,
    TAG,   // WriteSummary has the tensor here, and the tag behind it
    VALUE, // of the other ops
};

static bool check_scalar(bd_op_ctx *c, int input)
{
    const braid_shape *s = &bd_input(c, input)->shape;
    if (s->rank == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be scalar, got shape %s", c->node->def->inputs[input].name,
               bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

// Writes what put() has made of the inputs as the summary of one event.
static void write_summary(bd_op_ctx *c, void (*put)(bd_op_ctx *c, bd_wire_writer *out))
{
    BD_STATUS(st);
    bd_message m;
    bd_wire_writer out;
    bd_resource *r;
    bd_event_writer *events = check_scalar(c, STEP) ? bd_input_event_writer(c, 0, &r) : NULL;
    if (!events) return;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    put(c, &out);
    bd_wire_writer_finish(&out);
    void *bytes = bd_op_failed(c) ? NULL : bd_try_malloc(m.bytes);
    if (bytes) {
        bd_message_gather(&m, bytes);
        if (bd_event_put_summary(events, bd_tensor_i64(bd_input(c, STEP))[0], bytes, m.bytes, st))
            bd_op_fail_status(c, st);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for a summary of %zu bytes", m.bytes);
    }
    bd_free(bytes);
    bd_message_fini(&m);
    bd_resource_unref(r);
}

// ---- WriteSummary ----

static void put_tensor(bd_op_ctx *c, bd_wire_writer *out)
{
    BD_STATUS(ignored);
    BD_PROTO_ARENA(arena);
    if (!check_scalar(c, TAG + 1) || !check_scalar(c, TAG + 2)) return;
    bd_string metadata = *bd_tensor_str(bd_input(c, TAG + 2));
    if (!bd_proto_unpack(&tensorflow__summary_metadata__descriptor, metadata.data, metadata.len, arena,
                         ignored))
        metadata.len = 0; // left out, as in TensorFlow: a reader could make nothing of the whole event
    bd_summary_put_tensor(out, bd_input_tag(c, TAG + 1, 0), bd_input(c, TAG), metadata.data, metadata.len);
}

static void tensor_blocking(bd_op_ctx *c)
{
    write_summary(c, put_tensor);
}

static void tensor_start(bd_op_ctx *c)
{
    bd_op_run_io(c, tensor_blocking);
}

// ---- WriteScalarSummary, WriteHistogramSummary ----

static void put_scalar(bd_op_ctx *c, bd_wire_writer *out)
{
    double value = 0;
    const braid_tensor *t = bd_input(c, VALUE);
    if (!check_scalar(c, TAG)) return;
    if (bd_tensor_count(t) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "value must be a scalar, got shape %s",
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    bd_real_element(t, 0, &value);
    bd_summary_put_scalar(out, bd_input_tag(c, TAG, 0), (float)value);
}

static void scalar_blocking(bd_op_ctx *c)
{
    write_summary(c, put_scalar);
}

static void scalar_start(bd_op_ctx *c)
{
    bd_op_run_io(c, scalar_blocking);
}

static void put_histogram(bd_op_ctx *c, bd_wire_writer *out)
{
    BD_STATUS(st);
    bd_histogram h;
    if (!check_scalar(c, TAG)) return;
    const bd_summary_tag tag = bd_input_tag(c, TAG, 0);
    bd_histogram_init(&h);
    if (bd_histogram_add_tensor(&h, bd_input(c, VALUE), st)) {
        bd_status_suffix(st, " for: %.*s", (int)bd_min((int64_t)tag.len, 1024), tag.len ? tag.text : "");
        bd_op_fail_status(c, st);
    } else {
        bd_summary_put_histogram(out, tag, &h);
    }
    bd_histogram_fini(&h);
}

static void histogram_blocking(bd_op_ctx *c)
{
    write_summary(c, put_histogram);
}

static void histogram_start(bd_op_ctx *c)
{
    bd_op_run_io(c, histogram_blocking);
}

// ---- WriteImageSummary, WriteAudioSummary ----

static void put_images(bd_op_ctx *c, bd_wire_writer *out)
{
    const bd_summary_images in = {.c = c,
                                  .tag = TAG,
                                  .max_images = bd_node_attr_int(c->node, "max_images"),
                                  .bad_color = bd_input(c, VALUE + 1)};
    if (in.bad_color->shape.rank == 1)
        bd_summary_put_images(&in, out);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "bad_color must be a vector, got shape %s",
                   bd_shape_str(&in.bad_color->shape, (char[BD_SHAPE_STR_MAX]){0}));
}

static void images_blocking(bd_op_ctx *c)
{
    write_summary(c, put_images);
}

static void images_start(bd_op_ctx *c)
{
    bd_op_run_io(c, images_blocking);
}

static braid_code images_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    if (bd_node_attr_int(node, "max_images") <= INT32_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "max_images must be < 2^31");
}

static void put_sounds(bd_op_ctx *c, bd_wire_writer *out)
{
    bd_summary_put_sounds(c, TAG, out);
}

static void sounds_blocking(bd_op_ctx *c)
{
    write_summary(c, put_sounds);
}

static void sounds_start(bd_op_ctx *c)
{
    bd_op_run_io(c, sounds_blocking);
}

// ---- WriteRawProtoSummary ----

// Summaries one after the other are one summary of all.
static void put_raw(bd_op_ctx *c, bd_wire_writer *out)
{
    const braid_tensor *t = bd_input(c, TAG);
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        BD_STATUS(ignored);
        BD_PROTO_ARENA(arena);
        const bd_string *s = &bd_tensor_str(t)[i];
        if (!bd_proto_unpack(&tensorflow__summary__descriptor, s->data, s->len, arena, ignored)) {
            bd_op_fail(c, BRAID_DATA_LOSS,
                       "Bad tf.compat.v1.Summary binary proto tensor string at index %lld", (long long)i);
            return;
        }
        bd_wire_put_ref(out, (bd_slice){.data = (const uint8_t *)s->data, .len = s->len});
    }
}

static void raw_blocking(bd_op_ctx *c)
{
    write_summary(c, put_raw);
}

static void raw_start(bd_op_ctx *c)
{
    bd_op_run_io(c, raw_blocking);
}

// ---- WriteGraphSummary, ImportEvent ----

// The message in a string input; NULL: the kernel has failed.
static const bd_string *input_message(bd_op_ctx *c, int input, const ProtobufCMessageDescriptor *type,
                                      const char *what)
{
    BD_STATUS(ignored);
    BD_PROTO_ARENA(arena);
    if (!check_scalar(c, input)) return NULL;
    const bd_string *s = bd_tensor_str(bd_input(c, input));
    if (bd_proto_unpack(type, s->data, s->len, arena, ignored)) return s;
    bd_op_fail(c, BRAID_DATA_LOSS, "Bad %s binary proto tensor string", what);
    return NULL;
}

static void graph_blocking(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    bd_event_writer *events = check_scalar(c, STEP) ? bd_input_event_writer(c, 0, &r) : NULL;
    if (!events) return;
    const bd_string *graph = input_message(c, TAG, &tensorflow__graph_def__descriptor, "tf.GraphDef");
    if (graph && bd_event_put_graph(events, bd_tensor_i64(bd_input(c, STEP))[0], graph->data, graph->len, st))
        bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void graph_start(bd_op_ctx *c)
{
    bd_op_run_io(c, graph_blocking);
}

static void import_blocking(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    bd_event_writer *events = bd_input_event_writer(c, 0, &r);
    if (!events) return;
    const bd_string *event = input_message(c, 1, &tensorflow__event__descriptor, "tf.Event");
    if (event && bd_event_put(events, event->data, event->len, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void import_start(bd_op_ctx *c)
{
    bd_op_run_io(c, import_blocking);
}

// ---- The ops ----

#define WRITE_OP(SIGNATURE, ATTRS, CREATE, START, DOC)                                                       \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = (ATTRS), .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,      \
        .kernels = BD_KERNELS({.create = (CREATE), .start = (START)}), .doc = (DOC)                          \
    }

BD_OP(WriteSummary) = WRITE_OP(
    "(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string) -> ()", "T:type", NULL,
    tensor_start, "Writes a tensor to a file of events, with metadata for a plugin of TensorBoard.");
BD_OP(WriteScalarSummary) = WRITE_OP("(writer: resource, step: int64, tag: string, value: T) -> ()",
                                     "T:type{realnumber}", NULL, scalar_start,
                                     "Writes a number to a file of events.");
BD_OP(WriteHistogramSummary) = WRITE_OP(
    "(writer: resource, step: int64, tag: string, values: T) -> ()", "T:type{realnumber}=float", NULL,
    histogram_start, "Writes how the elements of a tensor are distributed to a file of events.");
BD_OP(WriteImageSummary) =
    WRITE_OP("(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8) -> ()",
             "max_images:int>=1=3; T:type{double,float,half,uint8}=float", images_create, images_start,
             "Writes the first images of a batch to a file of events, as ImageSummary makes them.");
BD_OP(WriteAudioSummary) =
    WRITE_OP("(writer: resource, step: int64, tag: string, tensor: float, sample_rate: float) -> ()",
             "max_outputs:int>=1=3", NULL, sounds_start,
             "Writes the first sounds of a batch to a file of events, as AudioSummaryV2 makes them.");
BD_OP(WriteRawProtoSummary) = WRITE_OP("(writer: resource, step: int64, tensor: string) -> ()", NULL, NULL,
                                       raw_start,
                                       "Writes serialized Summary messages to a file of events, as one.");
BD_OP(WriteGraphSummary) = WRITE_OP("(writer: resource, step: int64, tensor: string) -> ()", NULL, NULL,
                                    graph_start, "Writes a serialized GraphDef to a file of events.");
BD_OP(ImportEvent) = WRITE_OP("(writer: resource, event: string) -> ()", NULL, NULL, import_start,
                              "Writes a serialized Event message to a file of events, as it is.");
