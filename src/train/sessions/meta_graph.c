// MetaGraphDef: a graph with what a program needs to use it, as tf.train.import_meta_graph reads it.
#include "base/alloc.h"
#include "train/sessions/queue_runner.h"
#include "train/sessions/saver.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <string.h>

// Fields of MetaGraphDef, SaverDef, CollectionDef, VariableDef and QueueRunnerDef.
enum {
    META_GRAPH_DEF = 2,
    META_SAVER_DEF = 3,
    META_COLLECTION_DEF = 4,
    SAVER_FILENAME = 1,
    SAVER_SAVE = 2,
    SAVER_RESTORE = 3,
    SAVER_MAX_TO_KEEP = 4,
    SAVER_SHARDED = 5,
    SAVER_KEEP_HOURS = 6,
    SAVER_VERSION = 7,
    COLLECTION_BYTES_LIST = 2,
    VARIABLE_NAME = 1,
    VARIABLE_INITIALIZER = 2,
    VARIABLE_SNAPSHOT = 3,
    VARIABLE_SLICE = 4,
    VARIABLE_IS_RESOURCE = 5,
    VARIABLE_INITIAL_VALUE = 6,
    VARIABLE_TRAINABLE = 7,
    RUNNER_QUEUE = 1,
    RUNNER_ENQUEUE = 2,
    RUNNER_CLOSE = 3,
    RUNNER_CANCEL = 4,
    RUNNER_CLOSED_CODES = 5,
    VERSION_V2 = 2,
    MAX_TO_KEEP_DEFAULT = 5 // braid_checkpoint_policy; 0 in SaverDef: all stay
};

static void put_text(bd_wire_writer *w, uint32_t field, const char *text)
{
    bd_wire_put_bytes(w, field, text, strlen(text));
}

static void put_out(bd_wire_writer *w, uint32_t field, braid_out out)
{
    if (!out.op) return;
    char *name = bd_asprintf("%s:%d", braid_op_name(out.op), out.index);
    put_text(w, field, name);
    bd_free(name);
}

static void begin(bd_message *m, bd_wire_writer *w)
{
    bd_message_init(m);
    bd_wire_writer_init(w, m);
}

static void end(bd_message *m, bd_wire_writer *w, bd_wire_writer *to, uint32_t field)
{
    bd_wire_writer_finish(w);
    bd_wire_put_message(to, field, m);
    bd_message_fini(m);
}

static void put_float(bd_wire_writer *w, uint32_t field, float value)
{
    uint8_t bytes[4];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    bd_wire_put_tag(w, field, BD_WIRE_FIXED32);
    bd_wire_put_raw(w, bytes, sizeof bytes);
}

static void put_saver(bd_wire_writer *to, const braid_saver *s)
{
    bd_message m;
    bd_wire_writer w;
    begin(&m, &w);
    const int keep = s->policy.max_to_keep < 0   ? 0
                     : s->policy.max_to_keep > 0 ? s->policy.max_to_keep
                                                 : MAX_TO_KEEP_DEFAULT;
    put_out(&w, SAVER_FILENAME, s->filename);
    put_out(&w, SAVER_SAVE, s->saved);
    put_text(&w, SAVER_RESTORE, braid_op_name(s->restore));
    bd_wire_put_uint(&w, SAVER_MAX_TO_KEEP, (uint64_t)keep);
    bd_wire_put_uint(&w, SAVER_SHARDED, s->sharded);
    put_float(&w, SAVER_KEEP_HOURS, (float)s->policy.keep_every_n_hours);
    bd_wire_put_uint(&w, SAVER_VERSION, VERSION_V2);
    end(&m, &w, to, META_SAVER_DEF);
}

static bool is_in(const braid_graph *g, const char *collection, braid_out ref)
{
    int count;
    const braid_out *vars = braid_collection(g, collection, &count);
    for (int i = 0; i < count; i++)
        if (vars[i].op == ref.op) return true;
    return false;
}

static void put_numbers(bd_wire_writer *w, uint32_t field, const int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        bd_wire_put_uint(w, field, (uint64_t)numbers[i]);
}

// SaveSliceInfoDef
static void put_slice(bd_wire_writer *to, const train_slice *s)
{
    bd_message m;
    bd_wire_writer w;
    begin(&m, &w);
    put_text(&w, 1, s->full_name);
    put_numbers(&w, 2, s->full_shape.dims, s->full_shape.rank);
    put_numbers(&w, 3, s->offset, s->full_shape.rank);
    put_numbers(&w, 4, s->shape.dims, s->shape.rank);
    end(&m, &w, to, VARIABLE_SLICE);
}

static void put_variable(const braid_graph *g, bd_wire_writer *to, braid_out ref)
{
    const braid_variable v = braid_variable_find(ref);
    bd_message m;
    bd_wire_writer w;
    begin(&m, &w);
    put_out(&w, VARIABLE_NAME, ref);
    if (v.initializer) put_text(&w, VARIABLE_INITIALIZER, braid_op_name(v.initializer));
    put_out(&w, VARIABLE_SNAPSHOT, v.read);
    const train_slice *slice = train_slice_of(g, ref);
    if (slice) put_slice(&w, slice);
    bd_wire_put_uint(&w, VARIABLE_IS_RESOURCE, train_kind_of(ref) == TRAIN_RESOURCE);
    put_out(&w, VARIABLE_INITIAL_VALUE, v.initial_value);
    bd_wire_put_uint(&w, VARIABLE_TRAINABLE, is_in(g, BRAID_TRAINABLE_VARIABLES, ref));
    end(&m, &w, to, 1); // an element of the list
}

static void put_queue_runner(bd_wire_writer *to, const braid_queue_runner *r)
{
    bd_message m;
    bd_wire_writer w;
    begin(&m, &w);
    put_text(&w, RUNNER_QUEUE, braid_op_name(r->queue));
    for (size_t i = 0; i < r->enqueue_ops.len; i++)
        put_text(&w, RUNNER_ENQUEUE, braid_op_name(r->enqueue_ops.items[i]));
    put_text(&w, RUNNER_CLOSE, braid_op_name(r->close));
    put_text(&w, RUNNER_CANCEL, braid_op_name(r->cancel));
    for (size_t i = 0; i < r->closed_codes.len; i++)
        bd_wire_put_uint(&w, RUNNER_CLOSED_CODES, r->closed_codes.items[i]);
    end(&m, &w, to, 1); // an element of the list
}

// The collection's variables and queue runners.
static void put_collection(const braid_graph *g, bd_wire_writer *to, const char *name)
{
    int count, object_count;
    const braid_out *vars = braid_collection(g, name, &count);
    void *const *runners = braid_collection_objects(g, name, &object_count);
    if (count + object_count == 0) return;
    bd_message entry, value, list;
    bd_wire_writer e, v, l;
    begin(&entry, &e);
    put_text(&e, 1, name); // key and value of a map
    begin(&value, &v);
    begin(&list, &l);
    for (int i = 0; i < count; i++)
        put_variable(g, &l, vars[i]);
    for (int i = 0; i < object_count; i++)
        put_queue_runner(&l, runners[i]);
    end(&list, &l, &v, COLLECTION_BYTES_LIST);
    end(&value, &v, &e, 2);
    end(&entry, &e, to, META_COLLECTION_DEF);
}

void *train_meta_graph_write(const braid_saver *saver, size_t *len, braid_status *st)
{
    static const char *const collections[] = {BRAID_GLOBAL_VARIABLES, BRAID_TRAINABLE_VARIABLES,
                                              BRAID_LOCAL_VARIABLES, BRAID_GLOBAL_STEP, BRAID_QUEUE_RUNNERS};
    const braid_graph *g = saver->graph;
    size_t graph_len;
    void *graph = braid_graph_export(g, &graph_len, st);
    if (!graph) return NULL;
    bd_message m;
    bd_wire_writer w;
    begin(&m, &w);
    bd_wire_put_bytes(&w, META_GRAPH_DEF, graph, graph_len);
    bd_free(graph);
    put_saver(&w, saver);
    for (size_t i = 0; i < sizeof collections / sizeof *collections; i++)
        put_collection(g, &w, collections[i]);
    bd_wire_writer_finish(&w);
    *len = m.bytes;
    void *out = bd_malloc(*len);
    bd_message_gather(&m, out);
    bd_message_fini(&m);
    return out;
}
