// The beam search of CTCBeamSearchDecoder: prefix search (A. Graves, "Supervised sequence labelling with
// recurrent neural networks", 2012, section 7.5.2) that keeps the `width` most likely prefixes at each time.
//
// A prefix is a node of a tree; its labels are those on the way from the root. For each prefix there are the
// probabilities of the paths that end in a blank and of those that end in its last label. At each time a
// prefix goes on as itself (a blank, or its last label again), or as a longer one by one label.
#include "base/alloc.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "ops/nn/ctc.h"

#include <math.h>
#include <string.h>

#define NONE (-1)

typedef struct node {
    int64_t parent;         // NONE: the root
    int64_t child, sibling; // the list of the nodes whose parent it is
    int64_t place;          // in the beam, NONE: it is not there
    int32_t label;          // the last label
} node;

// A prefix in the beam; probabilities are logarithms.
typedef struct prefix {
    int64_t node;
    double blank, label, total;
} prefix;

// What may be in the next beam: a prefix as it is (label NONE), or with one label more.
typedef struct candidate {
    prefix p;       // of a longer one: `node` is the node to be continued
    int64_t number; // in the order of discovery; of equal ones the first goes before
    int32_t label;
} candidate;

typedef struct search {
    const bd_ctc_inputs *in;
    int64_t b, width;
    node *nodes;
    size_t node_count, node_cap;
    prefix *beam; // the most likely one first
    size_t beam_count, beam_cap;
    candidate *heap; // at most `width`, the least likely one first
    size_t heap_count, heap_cap;
    double *log_y; // [classes], at the time in work
    int64_t
        *taken;    // [classes]: the last place of the beam whose longer prefix with that label is in the beam
    int64_t found; // candidates at this time
} search;

// Room for `need` items; false: memory is short.
static bool make_room(void **items, size_t item_size, size_t *cap, size_t need)
{
    if (need <= *cap) return true;
    size_t wanted = *cap < 16 ? 16 : *cap, bytes;
    while (wanted < need && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < need || __builtin_mul_overflow(wanted, item_size, &bytes)) return false;
    void *grown = bd_try_realloc(*items, bytes);
    if (!grown) return false;
    *items = grown;
    *cap = wanted;
    return true;
}

static double log_sum(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    return most == -INFINITY ? a + b : most + log1p(exp(least - most)); // nan if one is
}

// ---- The candidates: a heap ----

static bool is_less_likely(const candidate *a, const candidate *b)
{
    return a->p.total < b->p.total || (a->p.total == b->p.total && a->number > b->number);
}

static void swap(candidate *a, candidate *b)
{
    const candidate kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(candidate *heap, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_less_likely(&heap[child], &heap[least])) least = child;
        if (least == at) return;
        swap(&heap[at], &heap[least]);
        at = least;
    }
}

// Takes a candidate in place of the least likely one when the heap is full. False: memory is short.
static bool push(search *s, prefix p, int32_t label)
{
    const candidate c = {.p = p, .number = s->found++, .label = label};
    if (s->heap_count > 0 && (int64_t)s->heap_count == s->width) {
        if (!is_less_likely(&s->heap[0], &c)) return true;
        s->heap[0] = c;
        sink(s->heap, s->heap_count, 0);
        return true;
    }
    if (!make_room((void **)&s->heap, sizeof *s->heap, &s->heap_cap, s->heap_count + 1)) return false;
    size_t at = s->heap_count++;
    s->heap[at] = c;
    for (; at > 0 && is_less_likely(&s->heap[at], &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&s->heap[at], &s->heap[(at - 1) / 2]);
    return true;
}

// Whether a candidate of that probability has a place: it is above zero and above the least likely one.
static bool has_place(const search *s, double total)
{
    return total > -INFINITY && ((int64_t)s->heap_count < s->width || total > s->heap[0].p.total);
}

// ---- One time ----

static void read_row(search *s, int64_t t)
{
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < s->in->classes; k++) {
        s->log_y[k] = bd_ctc_logit(s->in, t, s->b, k);
        most = fmax(most, s->log_y[k]);
    }
    for (int64_t k = 0; k < s->in->classes; k++)
        sum += exp(s->log_y[k] - most);
    for (int64_t k = 0; k < s->in->classes; k++)
        s->log_y[k] -= most + log(sum);
}

// The probability of the paths that a label can follow after prefix `p`: its own last label follows a blank
// only.
static double before_label(const search *s, const prefix *p, int32_t label)
{
    return s->nodes[p->node].label == label ? p->blank : p->total;
}

// The prefixes of the beam as they are.
static bool keep_prefixes(search *s)
{
    const double blank = s->log_y[s->in->classes - 1];
    for (size_t i = 0; i < s->beam_count; i++) {
        const prefix *old = &s->beam[i];
        const node *n = &s->nodes[old->node];
        prefix p = {.node = old->node, .blank = old->total + blank, .label = old->label};
        if (n->parent != NONE) {
            const int64_t place = s->nodes[n->parent].place;
            if (place != NONE) p.label = log_sum(p.label, before_label(s, &s->beam[place], n->label));
            p.label += s->log_y[n->label];
        }
        p.total = log_sum(p.blank, p.label);
        if (!push(s, p, NONE)) return false;
    }
    return true;
}

// The prefixes of the beam with one label more, unless these are in the beam themselves.
static bool extend_prefixes(search *s)
{
    for (size_t i = 0; i < s->beam_count && !bd_interrupted(); i++) {
        const prefix *old = &s->beam[i];
        if (!has_place(s, old->total)) continue; // no longer prefix is more likely
        for (int64_t n = s->nodes[old->node].child; n != NONE; n = s->nodes[n].sibling)
            if (s->nodes[n].place != NONE) s->taken[s->nodes[n].label] = (int64_t)i;
        for (int32_t label = 0; label < s->in->classes - 1; label++) {
            const double total = before_label(s, old, label) + s->log_y[label];
            if (s->taken[label] == (int64_t)i || !has_place(s, total)) continue;
            const prefix p = {.node = old->node, .blank = -INFINITY, .label = total, .total = total};
            if (!push(s, p, label)) return false;
        }
    }
    return true;
}

// The node after `parent` by a label; NONE: memory is short.
static int64_t node_after(search *s, int64_t parent, int32_t label)
{
    for (int64_t n = s->nodes[parent].child; n != NONE; n = s->nodes[n].sibling)
        if (s->nodes[n].label == label) return n;
    if (!make_room((void **)&s->nodes, sizeof *s->nodes, &s->node_cap, s->node_count + 1)) return NONE;
    s->nodes[s->node_count] = (node){
        .parent = parent, .child = NONE, .sibling = s->nodes[parent].child, .place = NONE, .label = label};
    s->nodes[parent].child = (int64_t)s->node_count;
    return (int64_t)s->node_count++;
}

// Makes the candidates the beam, the most likely one first.
static bool take_candidates(search *s)
{
    for (size_t i = 0; i < s->beam_count; i++)
        s->nodes[s->beam[i].node].place = NONE;
    if (!make_room((void **)&s->beam, sizeof *s->beam, &s->beam_cap, s->heap_count)) return false;
    s->beam_count = s->heap_count;
    for (size_t left = s->heap_count; left > 0; left--) {
        const candidate least = s->heap[0];
        prefix *into = &s->beam[left - 1];
        s->heap[0] = s->heap[left - 1];
        sink(s->heap, left - 1, 0);
        *into = least.p;
        if (least.label != NONE) into->node = node_after(s, least.p.node, least.label);
        if (into->node == NONE) return false;
        s->nodes[into->node].place = (int64_t)left - 1;
    }
    s->heap_count = 0;
    return true;
}

static bool go_on(search *s, int64_t t)
{
    s->found = 0;
    for (int64_t k = 0; k < s->in->classes; k++)
        s->taken[k] = NONE;
    read_row(s, t);
    return keep_prefixes(s) && extend_prefixes(s) && take_candidates(s);
}

// ---- The search ----

static bool start(search *s)
{
    s->log_y = bd_try_calloc((size_t)s->in->classes, sizeof *s->log_y);
    s->taken = bd_try_calloc((size_t)s->in->classes, sizeof *s->taken);
    if (!s->log_y || !s->taken || !make_room((void **)&s->nodes, sizeof *s->nodes, &s->node_cap, 1) ||
        !make_room((void **)&s->beam, sizeof *s->beam, &s->beam_cap, 1))
        return false;
    s->nodes[s->node_count++] = (node){.parent = NONE, .child = NONE, .sibling = NONE, .label = NONE};
    s->beam[s->beam_count++] = (prefix){.label = -INFINITY};
    return true;
}

static bool read_path(const search *s, const prefix *p, bd_ctc_path *path)
{
    int64_t count = 0;
    for (int64_t n = p->node; s->nodes[n].parent != NONE; n = s->nodes[n].parent)
        count++;
    path->labels = bd_try_calloc((size_t)count, sizeof *path->labels);
    if (!path->labels) return false;
    path->count = count;
    path->log_probability = p->total;
    for (int64_t n = p->node; s->nodes[n].parent != NONE; n = s->nodes[n].parent)
        path->labels[--count] = s->nodes[n].label;
    return true;
}

bd_ctc_outcome bd_ctc_search(const bd_ctc_inputs *in, int64_t b, int64_t width, int64_t count,
                             bd_ctc_path *paths)
{
    search s = {.in = in, .b = b, .width = width};
    BD_ASSERT(width > 0); // the op's attribute is
    bool has_memory = start(&s);
    for (int64_t t = 0; t < in->lengths[b] && has_memory && !bd_interrupted(); t++)
        has_memory = go_on(&s, t);
    const bool is_enough = count <= (int64_t)s.beam_count;
    for (int64_t i = 0; i < count && has_memory && is_enough; i++)
        has_memory = read_path(&s, &s.beam[i], &paths[i]);
    bd_free(s.nodes);
    bd_free(s.beam);
    bd_free(s.heap);
    bd_free(s.log_y);
    bd_free(s.taken);
    return !has_memory ? BD_CTC_OUT_OF_MEMORY : is_enough ? BD_CTC_FOUND : BD_CTC_TOO_FEW;
}
