// Finding the frame of each node.
#include "graph/frames.h"

#include <string.h>

typedef struct finder {
    bd_frames *out;
    BD_ARRAY(bd_graph_frame) frames;
    bd_op_list work; // nodes whose frame is known and whose consumers must be visited
} finder;

static braid_code read_enter(const braid_op *enter, const char **name, int64_t *parallel_iterations,
                             braid_status *st)
{
    const bd_attr *frame_name = bd_node_attr(enter, "frame_name");
    const bd_attr *parallel = bd_node_attr(enter, "parallel_iterations");
    if (!frame_name || frame_name->kind != BD_ATTR_STRING || frame_name->s.len == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' enters a frame without a name", enter->name);
    *name = frame_name->s.data;
    *parallel_iterations = parallel && parallel->kind == BD_ATTR_INT ? parallel->i : 10;
    if (*parallel_iterations < 1 || *parallel_iterations > 1 << 20) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "parallel_iterations of '%s' is %lld, not between 1 and 2^20", enter->name,
                       (long long)*parallel_iterations);
    }
    return BRAID_OK;
}

static braid_code frame_entered(finder *f, const braid_op *enter, int32_t *frame, braid_status *st)
{
    const char *name = "";
    int64_t parallel_iterations = 0;
    braid_code code = read_enter(enter, &name, &parallel_iterations, st);
    if (code) return code;
    int32_t parent = f->out->of[enter->id], found = -1;
    for (size_t i = 1; i < f->frames.len && found < 0; i++) {
        if (f->frames.items[i].parent == parent && strcmp(f->frames.items[i].name, name) == 0)
            found = (int32_t)i;
    }
    if (found < 0) {
        bd_graph_frame added = {.name = name,
                                .parent = parent,
                                .parent_node = enter,
                                .parallel_iterations = (int32_t)parallel_iterations};
        found = (int32_t)f->frames.len;
        bd_array_push(&f->frames, added);
    }
    f->frames.items[found].enter_count++;
    f->out->entered[enter->id] = found;
    *frame = found;
    return BRAID_OK;
}

// The frame of the consumers of `n`.
static braid_code frame_after(finder *f, const braid_op *n, int32_t *frame, braid_status *st)
{
    bd_op_role role = bd_node_role(n);
    *frame = f->out->of[n->id];
    if (role == BD_ROLE_ENTER) return frame_entered(f, n, frame, st);
    if (role == BD_ROLE_EXIT) {
        *frame = f->frames.items[*frame].parent;
        if (*frame < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' leaves a frame but is in none", n->name);
    }
    if (role == BD_ROLE_NEXT_ITERATION && *frame == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' begins an iteration of a frame but is in none",
                       n->name);
    return BRAID_OK;
}

static braid_code reach(finder *f, const braid_op *from, braid_op *to, int32_t frame, braid_status *st)
{
    int32_t known = f->out->of[to->id];
    if (known < 0) {
        f->out->of[to->id] = frame;
        bd_array_push(&f->work, to);
        return BRAID_OK;
    }
    if (known == frame) return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "The node '%s' has inputs from different frames: the input '%s' is in frame '%s', others are in "
        "frame '%s'",
        to->name, from->name, f->frames.items[frame].name, f->frames.items[known].name);
}

static braid_code spread(finder *f, const bd_consumers *consumers, braid_status *st)
{
    while (f->work.len > 0) {
        const braid_op *n = f->work.items[--f->work.len];
        int32_t frame;
        braid_code code = frame_after(f, n, &frame, st);
        for (int i = consumers->offsets[n->id]; !code && i < consumers->offsets[n->id + 1]; i++)
            code = reach(f, n, consumers->items[i].node, frame, st);
        if (code) return code;
    }
    return BRAID_OK;
}

braid_code bd_frames_find(const braid_graph *g, const bd_consumers *consumers, bd_frames *out,
                          braid_status *st)
{
    size_t n = g->nodes.len;
    *out = (bd_frames){.of = bd_calloc(n + 1, sizeof *out->of),
                       .entered = bd_calloc(n + 1, sizeof *out->entered)};
    finder f = {.out = out};
    bd_graph_frame root = {.name = "", .parent = -1, .parallel_iterations = 1};
    bd_array_push(&f.frames, root);
    for (size_t i = 0; i < n; i++) {
        braid_op *node = g->nodes.items[i];
        bool is_source = node->input_count == 0 && node->control_count == 0;
        out->of[i] = is_source ? 0 : -1;
        out->entered[i] = -1;
        if (is_source) bd_array_push(&f.work, node);
    }
    braid_code code = spread(&f, consumers, st);
    // A node that no source reaches (a cycle without an Enter) never runs.
    for (size_t i = 0; i < n; i++) {
        if (out->of[i] < 0) out->of[i] = 0;
    }
    out->items = f.frames.items;
    out->count = (int)f.frames.len;
    bd_array_free(&f.work);
    return code;
}

void bd_frames_fini(bd_frames *f)
{
    bd_free(f->items);
    bd_free(f->of);
    bd_free(f->entered);
    *f = (bd_frames){0};
}
