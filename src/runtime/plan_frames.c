// Which frame each node runs in: the root, or the body of a loop that Enter nodes lead into and Exit nodes out of.
#include "runtime/plan_internal.h"

#include <string.h>

typedef struct finder {
    bd_plan *plan;
    int32_t *frame_of;
    BD_ARRAY(bd_plan_frame) frames;
    bd_op_list work; // nodes whose frame is known and whose consumers are to be looked at
} finder;

static int32_t add_frame(finder *f, const char *name, int32_t parent, int32_t parallel_iterations)
{
    bd_plan_frame frame = {.name = name, .parent = parent, .parallel_iterations = parallel_iterations};
    bd_array_push(&f->frames, frame);
    return (int32_t)f->frames.len - 1;
}

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
    const char *name;
    int64_t parallel_iterations;
    braid_code code = read_enter(enter, &name, &parallel_iterations, st);
    if (code) return code;
    int32_t parent = f->frame_of[enter->id], found = -1;
    for (size_t i = 1; i < f->frames.len && found < 0; i++) {
        if (f->frames.items[i].parent == parent && strcmp(f->frames.items[i].name, name) == 0)
            found = (int32_t)i;
    }
    if (found < 0) found = add_frame(f, name, parent, (int32_t)parallel_iterations);
    f->frames.items[found].enter_count++;
    f->plan->frame_of_enter[enter->id] = found;
    *frame = found;
    return BRAID_OK;
}

// The frame of what `n` feeds.
static braid_code frame_after(finder *f, const braid_op *n, int32_t *frame, braid_status *st)
{
    bd_op_role role = bd_node_role(n);
    *frame = f->frame_of[n->id];
    if (role == BD_ROLE_ENTER) return frame_entered(f, n, frame, st);
    if (role == BD_ROLE_EXIT) {
        *frame = f->frames.items[*frame].parent;
        if (*frame < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' leaves a frame but is in none", n->name);
    }
    return BRAID_OK;
}

static braid_code reach(finder *f, const braid_op *from, braid_op *to, int32_t frame, braid_status *st)
{
    int32_t known = f->frame_of[to->id];
    if (known < 0) {
        f->frame_of[to->id] = frame;
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

braid_code bd_plan_find_frames(bd_plan *p, int32_t *frame_of, const bd_consumers *consumers, braid_status *st)
{
    finder f = {.plan = p, .frame_of = frame_of};
    add_frame(&f, "", -1, 1);
    for (int i = 0; i < p->item_count; i++) {
        braid_op *n = p->graph.nodes.items[i];
        bool is_source = n->input_count == 0 && n->control_count == 0;
        frame_of[i] = is_source ? 0 : -1;
        p->frame_of_enter[i] = -1;
        if (is_source) bd_array_push(&f.work, n);
    }
    braid_code code = spread(&f, consumers, st);
    // What no source reaches (a cycle without a way in) never runs.
    for (int i = 0; i < p->item_count; i++) {
        if (frame_of[i] < 0) frame_of[i] = 0;
    }
    p->frames = bd_arena_memdup(&p->arena, f.frames.items, f.frames.len * sizeof *f.frames.items);
    p->frame_count = (int)f.frames.len;
    bd_array_free(&f.frames);
    bd_array_free(&f.work);
    return code;
}
