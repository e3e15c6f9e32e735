// The state of a partial run: the feeds and fetches that are done, and the validation of the next call.
#include "runtime/partial_run_state.h"

#include "base/alloc.h"
#include "base/array.h"
#include <string.h>

static const char *const *copy_names(bd_arena *arena, const char *const *names, int count)
{
    const char **copy = BD_ARENA_ARRAY(arena, const char *, (size_t)count);
    for (int i = 0; i < count; i++)
        copy[i] = bd_arena_strdup(arena, names[i]);
    return copy;
}

void bd_partial_run_state_init(bd_partial_run_state *p, const bd_run_signature *s)
{
    *p = (bd_partial_run_state){.left = s->feed_count + s->fetch_count};
    p->signature = (bd_run_signature){.feeds = copy_names(&p->arena, s->feeds, s->feed_count),
                                      .feed_count = s->feed_count,
                                      .fetches = copy_names(&p->arena, s->fetches, s->fetch_count),
                                      .fetch_count = s->fetch_count,
                                      .is_partial = true};
    p->is_over = BD_ARENA_ARRAY(&p->arena, bool, (size_t)p->left);
    for (int i = 0; i < p->left; i++)
        p->is_over[i] = false;
}

void bd_partial_run_state_fini(bd_partial_run_state *p)
{
    bd_arena_fini(&p->arena);
}

// ---- Names ----

static int position(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

// One of the two lists of a call.
typedef struct name_list {
    const char *what, *again; // "feed", "fed"
    const char *const *names, *const *known;
    int count, known_count, first;
} name_list;

static braid_code find_names(const bd_partial_run_state *p, const name_list *l, int *positions,
                             braid_status *st)
{
    for (int i = 0; i < l->count; i++) {
        const int at = position(l->known, l->known_count, l->names[i]);
        if (at < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "The %s %s was not specified in partial_run_setup.",
                           l->what, l->names[i]);
        bool is_over = p->is_over[l->first + at];
        for (int k = 0; k < i; k++)
            is_over = is_over || positions[k] == l->first + at;
        if (is_over)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "The %s %s has already been %s.", l->what, l->names[i],
                           l->again);
        positions[i] = l->first + at;
    }
    return BRAID_OK;
}

braid_code bd_partial_run_state_find(const bd_partial_run_state *p, const bd_run_signature *call,
                                     int *positions, braid_status *st)
{
    const bd_run_signature *known = &p->signature;
    const name_list feeds = {.what = "feed",
                             .again = "fed",
                             .names = call->feeds,
                             .count = call->feed_count,
                             .known = known->feeds,
                             .known_count = known->feed_count};
    const name_list fetches = {.what = "fetch",
                               .again = "fetched",
                               .names = call->fetches,
                               .count = call->fetch_count,
                               .known = known->fetches,
                               .known_count = known->fetch_count,
                               .first = known->feed_count};
    if (find_names(p, &feeds, positions, st)) return st->code;
    return find_names(p, &fetches, positions + call->feed_count, st);
}

bool *bd_partial_run_state_copy_over(const bd_partial_run_state *p)
{
    return bd_memdup(p->is_over,
                     (size_t)(p->signature.feed_count + p->signature.fetch_count) * sizeof *p->is_over);
}

bool bd_partial_run_state_take(bd_partial_run_state *p, const int *positions, int count)
{
    for (int i = 0; i < count; i++)
        p->is_over[positions[i]] = true;
    p->left -= count;
    return p->left == 0;
}

// ---- Whether a call can compute what it fetches ----

typedef struct search {
    braid_out *missing; // feeds that have no value yet
    int missing_count;
    bool *seen; // [nodes]
    BD_ARRAY(const braid_op *) open;
} search;

static void visit(search *s, const braid_op *n)
{
    if (s->seen[n->id]) return;
    s->seen[n->id] = true;
    bd_array_push(&s->open, n);
}

static braid_code check_out(const search *s, braid_out out, braid_status *st)
{
    for (int i = 0; i < s->missing_count; i++)
        if (s->missing[i].op == out.op && s->missing[i].index == out.index)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Fetch %s:%d can't be computed from the feeds that have been fed so far.",
                           out.op->name, out.index);
    return BRAID_OK;
}

// As in TensorFlow, all ancestors of a fetch count, also those of a feed.
static braid_code search_up(search *s, braid_status *st)
{
    while (s->open.len) {
        const braid_op *n = s->open.items[--s->open.len];
        for (int i = 0; i < n->input_count; i++) {
            if (check_out(s, n->inputs[i], st)) return st->code;
            visit(s, n->inputs[i].op);
        }
        for (int i = 0; i < n->control_count; i++)
            visit(s, n->controls[i]);
    }
    return BRAID_OK;
}

static bool is_among(const int *positions, int count, int feed)
{
    for (int i = 0; i < count; i++)
        if (positions[i] == feed) return true;
    return false;
}

braid_code bd_partial_run_state_check(const bd_run_signature *set_up, const bool *is_over,
                                      const bd_run_signature *call, const int *positions,
                                      const braid_graph *g, braid_status *st)
{
    search s = {0};
    s.missing = bd_calloc((size_t)set_up->feed_count, sizeof *s.missing);
    s.seen = bd_calloc(g->nodes.len, sizeof *s.seen);
    for (int i = 0; i < set_up->feed_count; i++)
        if (!is_over[i] && !is_among(positions, call->feed_count, i))
            s.missing[s.missing_count++] = braid_graph_find_out(g, set_up->feeds[i]);
    for (int i = 0; i < call->fetch_count && !st->code; i++) {
        const braid_out out = braid_graph_find_out(g, call->fetches[i]);
        if (!check_out(&s, out, st)) visit(&s, out.op);
    }
    if (!st->code) search_up(&s, st);
    bd_array_free(&s.open);
    bd_free(s.seen);
    bd_free(s.missing);
    return st->code;
}
