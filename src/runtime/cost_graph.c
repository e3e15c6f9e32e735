// The cost model of a step, from its statistics and the graphs of its tasks.
#include "runtime/cost_graph.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "graph/op.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/cost_graph.pb-c.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include <string.h>

typedef Tensorflow__CostGraphDef__Node cost_node;
typedef Tensorflow__CostGraphDef__Node__InputInfo input_info;
typedef Tensorflow__CostGraphDef__Node__OutputInfo output_info;

typedef struct builder {
    bd_arena arena;
    bd_map ran; // name of a node -> its Tensorflow__NodeExecStats
    BD_ARRAY(cost_node *) nodes;
} builder;

// ---- Measured costs ----

static void note_ran(builder *b, const Tensorflow__StepStats *stats)
{
    for (size_t d = 0; d < stats->n_dev_stats; d++)
        for (size_t i = 0; i < stats->dev_stats[d]->n_node_stats; i++) {
            Tensorflow__NodeExecStats *n = stats->dev_stats[d]->node_stats[i];
            bd_map_put(&b->ran, n->node_name, n);
        }
}

static output_info *make_output(builder *b, const Tensorflow__NodeOutput *from)
{
    output_info *out = BD_ARENA_NEW(&b->arena, output_info);
    tensorflow__cost_graph_def__node__output_info__init(out);
    out->alias_input_port = -1;
    const Tensorflow__TensorDescription *t = from ? from->tensor_description : NULL;
    if (!t) return out;
    out->dtype = t->dtype;
    out->shape = t->shape;
    if (t->allocation_description) out->size = t->allocation_description->requested_bytes;
    return out;
}

// An output that the step did not make leaves its place empty.
static void set_outputs(builder *b, cost_node *to, const Tensorflow__NodeExecStats *ran)
{
    enum {
        OUTPUTS_MAX = 65536 // a client determines the number
    };
    int last = -1;
    for (size_t i = 0; i < ran->n_output; i++)
        if (ran->output[i]->slot > last && ran->output[i]->slot < OUTPUTS_MAX) last = ran->output[i]->slot;
    const int count = last + 1;
    to->n_output_info = (size_t)count;
    to->output_info = BD_ARENA_ARRAY(&b->arena, output_info *, to->n_output_info);
    for (int i = 0; i < count; i++)
        to->output_info[i] = NULL;
    for (size_t i = 0; i < ran->n_output; i++)
        if (ran->output[i]->slot >= 0 && ran->output[i]->slot <= last)
            to->output_info[ran->output[i]->slot] = make_output(b, ran->output[i]);
    for (int i = 0; i < count; i++)
        if (!to->output_info[i]) to->output_info[i] = make_output(b, NULL);
}

// ---- Nodes and their inputs ----

static void set_inputs(builder *b, cost_node *to, const Tensorflow__NodeDef *n, const bd_map *ids)
{
    to->input_info = BD_ARENA_ARRAY(&b->arena, input_info *, n->n_input);
    to->control_input = BD_ARENA_ARRAY(&b->arena, int32_t, n->n_input);
    for (size_t i = 0; i < n->n_input; i++) {
        const char *text = n->input[i];
        const bool is_control = *text == '^';
        text += is_control;
        const char *colon = is_control ? NULL : strrchr(text, ':');
        int64_t port = 0;
        if (colon && !bd_parse_int64(colon + 1, &port)) colon = NULL;
        const size_t len = colon ? (size_t)(colon - text) : strlen(text);
        const uintptr_t id = (uintptr_t)bd_map_get_n(ids, text, len);
        if (!id) continue;
        if (is_control) {
            to->control_input[to->n_control_input++] = (int32_t)(id - 1);
        } else {
            input_info *in = BD_ARENA_NEW(&b->arena, input_info);
            tensorflow__cost_graph_def__node__input_info__init(in);
            in->preceding_node = (int32_t)(id - 1);
            in->preceding_port = (int32_t)port;
            to->input_info[to->n_input_info++] = in;
        }
    }
}

// Returns whether the op takes a value out of the graph.
static bool is_final(const char *op)
{
    const bd_op_def *def = bd_op_lookup(op);
    return def && (def->op->role == BD_ROLE_SEND || def->op->role == BD_ROLE_RETVAL);
}

static void add_graph(builder *b, const Tensorflow__GraphDef *g)
{
    const size_t first = b->nodes.len;
    bd_map ids = {0}; // name -> id + 1
    for (size_t i = 0; i < g->n_node; i++)
        bd_map_put(&ids, g->node[i]->name, (void *)(uintptr_t)(first + i + 1));
    for (size_t i = 0; i < g->n_node; i++) {
        const Tensorflow__NodeDef *n = g->node[i];
        const Tensorflow__NodeExecStats *ran = bd_map_get(&b->ran, n->name);
        cost_node *c = BD_ARENA_NEW(&b->arena, cost_node);
        tensorflow__cost_graph_def__node__init(c);
        c->name = n->name;
        c->device = n->device;
        c->id = (int32_t)(first + i);
        c->is_final = is_final(n->op);
        set_inputs(b, c, n, &ids);
        if (ran) {
            c->compute_cost = c->compute_time = ran->op_end_rel_micros - ran->op_start_rel_micros;
            set_outputs(b, c, ran);
        }
        bd_array_push(&b->nodes, c);
    }
    bd_map_fini(&ids);
}

braid_code bd_cost_graph_put(const bd_message *stats, const bd_message *graphs, uint32_t field,
                             bd_wire_writer *out, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    const Tensorflow__StepStats *ran =
        bd_proto_unpack_message(&tensorflow__step_stats__descriptor, stats, arena, st);
    const Tensorflow__RunMetadata *parts =
        ran ? bd_proto_unpack_message(&tensorflow__run_metadata__descriptor, graphs, arena, st) : NULL;
    if (!parts) return st->code;
    builder b = {0};
    note_ran(&b, ran);
    for (size_t i = 0; i < parts->n_partition_graphs; i++)
        add_graph(&b, parts->partition_graphs[i]);
    Tensorflow__CostGraphDef costs = TENSORFLOW__COST_GRAPH_DEF__INIT;
    costs.n_node = b.nodes.len;
    costs.node = b.nodes.items;
    bd_proto_put(&costs.base, field, out);
    bd_array_free(&b.nodes);
    bd_map_fini(&b.ran);
    bd_arena_fini(&b.arena);
    return BRAID_OK;
}
