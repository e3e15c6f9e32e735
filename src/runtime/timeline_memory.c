// The memory of a traced step over time. An output exists from the start of its node to the end of its last
// consumer. Outputs that lie at the same address at the same time are one: a node has passed its input on.
#include "base/alloc.h"
#include "base/check.h"
#include "runtime/timeline.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tensor {
    const Tensorflow__AllocationDescription *memory;
    int64_t slot, from_ns, until_ns;
    int pid;      // of its device
    bool is_part; // of an earlier one
} tensor;

typedef struct change {
    const char *allocator;
    int pid;
    int64_t ns;
    uint64_t added; // a number to be taken away is a negative one, modulo 2^64
} change;

typedef struct memory {
    BD_ARRAY(tensor) tensors;
    BD_ARRAY(size_t) first; // [spans + 1] the first tensor of each span
    BD_ARRAY(change) changes;
} memory;

static void list_tensors(memory *m, const bd_timeline *t)
{
    for (size_t i = 0; i < t->spans.len; i++) {
        const bd_timeline_span *s = &t->spans.items[i];
        bd_array_push(&m->first, m->tensors.len);
        for (size_t k = 0; k < s->node->n_output; k++) {
            const Tensorflow__NodeOutput *out = s->node->output[k];
            const Tensorflow__TensorDescription *d = out->tensor_description;
            if (!d || !d->allocation_description || d->allocation_description->requested_bytes <= 0) continue;
            const tensor made = {d->allocation_description, out->slot, s->start_ns, s->end_ns, s->pid, false};
            bd_array_push(&m->tensors, made);
        }
    }
    bd_array_push(&m->first, m->tensors.len);
}

// Makes the tensor of an input "NAME:SLOT" live until its consumer has ended.
static void extend(memory *m, const bd_timeline *t, const char *input, int64_t end_ns)
{
    const int maker = bd_timeline_maker(t, input);
    if (maker < 0) return;
    const char *colon = strchr(input, ':');
    const int64_t slot = colon ? strtoll(colon + 1, NULL, 10) : 0;
    for (size_t i = m->first.items[maker]; i < m->first.items[maker + 1]; i++) {
        tensor *made = &m->tensors.items[i];
        if (made->slot == slot) made->until_ns = bd_max(made->until_ns, end_ns);
    }
}

static void extend_all(memory *m, const bd_timeline *t)
{
    for (size_t i = 0; i < t->spans.len; i++) {
        const bd_timeline_span *s = &t->spans.items[i];
        for (int k = 0; k < s->label.input_count; k++)
            extend(m, t, s->label.inputs[k], s->end_ns);
    }
}

static void add_change(memory *m, const tensor *made, int64_t ns, uint64_t added)
{
    const change c = {made->memory->allocator_name, made->pid, ns, added};
    bd_array_push(&m->changes, c);
}

// Makes tensors of the same memory one. Those of a device come in the order of their start, so that one at an
// address that is known begins no earlier.
static void merge(memory *m)
{
    bd_map at = {0}; // tensor (number + 1) by device and address
    for (size_t i = 0; i < m->tensors.len; i++) {
        tensor *made = &m->tensors.items[i];
        if (!made->memory->ptr) continue;
        char key[64];
        snprintf(key, sizeof key, "%d/%" PRIx64, made->pid, made->memory->ptr);
        const size_t known = (size_t)(uintptr_t)bd_map_get(&at, key);
        tensor *earlier = known ? &m->tensors.items[known - 1] : NULL;
        if (earlier && made->from_ns <= earlier->until_ns) {
            earlier->until_ns = bd_max(earlier->until_ns, made->until_ns);
            made->is_part = true;
        } else {
            bd_map_put(&at, key, (void *)(uintptr_t)(i + 1));
        }
    }
    bd_map_fini(&at);
}

static void list_changes(memory *m)
{
    for (size_t i = 0; i < m->tensors.len; i++) {
        const tensor *made = &m->tensors.items[i];
        if (made->is_part) continue;
        const uint64_t bytes = (uint64_t)made->memory->requested_bytes;
        add_change(m, made, made->from_ns, bytes);
        add_change(m, made, made->until_ns, 0 - bytes);
    }
}

static int by_counter_and_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    const int order = strcmp(x->allocator, y->allocator);
    if (order) return order;
    return x->ns == y->ns ? 0 : x->ns < y->ns ? -1 : 1;
}

static bool is_same_counter(const change *a, const change *b)
{
    return a->pid == b->pid && strcmp(a->allocator, b->allocator) == 0;
}

static void add_counter(bd_timeline *t, const change *c, uint64_t bytes)
{
    json_array_append_new(t->events, json_pack("{s:s, s:s, s:o, s:i, s:i, s:f, s:{s:I}}", "ph", "C", "cat",
                                               "Memory", "name", bd_timeline_text(c->allocator), "pid",
                                               c->pid, "tid", 0, "ts", bd_timeline_micros(t->first_ns, c->ns),
                                               "args", "bytes", (json_int_t)(bytes & INT64_MAX)));
}

static void add_counters(bd_timeline *t, const memory *m)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->changes.len; i++) {
        const change *c = &m->changes.items[i], *next = i + 1 < m->changes.len ? c + 1 : NULL;
        if (i > 0 && !is_same_counter(c - 1, c)) bytes = 0;
        bytes += c->added;
        if (!next || next->ns != c->ns || !is_same_counter(c, next)) add_counter(t, c, bytes);
    }
}

void bd_timeline_add_memory(bd_timeline *t)
{
    memory m = {0};
    list_tensors(&m, t);
    extend_all(&m, t);
    merge(&m);
    list_changes(&m);
    if (m.changes.len > 1)
        qsort(m.changes.items, m.changes.len, sizeof *m.changes.items, by_counter_and_time);
    add_counters(t, &m);
    bd_array_free(&m.tensors);
    bd_array_free(&m.first);
    bd_array_free(&m.changes);
}
