// A traced step in Chrome's trace format.
//
// Each device is a process (two: tools sort by number, and TensorFlow's timeline has its tensors in the
// second one). Nodes that ran at the same time are in different lanes: a node takes the first lane that is
// free when it begins.
#include "runtime/timeline.h"
#include "base/alloc.h"
#include "io/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *bd_timeline_text(const char *s)
{
    json_t *j = json_string(s);
    return j ? j : json_string("(not UTF-8)");
}

double bd_timeline_micros(int64_t from_ns, int64_t to_ns)
{
    int64_t ns;
    return (double)(__builtin_sub_overflow(to_ns, from_ns, &ns) ? INT64_MAX : ns) / 1e3;
}

static int by_start(const void *a, const void *b)
{
    const bd_timeline_span *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->node->node_name, y->node->node_name);
}

static void set_lanes(bd_timeline_span *spans, size_t count)
{
    BD_ARRAY(int64_t) free_from = {0}; // by lane
    for (size_t i = 0; i < count; i++) {
        size_t lane = 0;
        while (lane < free_from.len && free_from.items[lane] > spans[i].start_ns)
            lane++;
        if (lane == free_from.len) bd_array_push(&free_from, 0);
        free_from.items[lane] = spans[i].end_ns;
        spans[i].lane = (int)lane;
    }
    bd_array_free(&free_from);
}

static void add_device(bd_timeline *t, const Tensorflow__DeviceStepStats *device, int pid)
{
    const size_t first = t->spans.len;
    for (size_t i = 0; i < device->n_node_stats; i++) {
        const Tensorflow__NodeExecStats *n = device->node_stats[i];
        bd_timeline_span s = {.node = n, .start_ns = bd_stats_start_ns(n), .pid = pid};
        if (__builtin_add_overflow(s.start_ns, bd_stats_duration_ns(n), &s.end_ns)) s.end_ns = INT64_MAX;
        bd_timeline_label_parse(n, &s.label);
        bd_array_push(&t->spans, s);
    }
    const size_t count = t->spans.len - first;
    if (count > 1) qsort(t->spans.items + first, count, sizeof *t->spans.items, by_start);
    set_lanes(t->spans.items + first, count);
    json_array_append_new(t->events, json_pack("{s:s, s:s, s:i, s:{s:o}}", "name", "process_name", "ph", "M",
                                               "pid", pid, "args", "name", bd_timeline_text(device->device)));
}

static json_t *arguments(const bd_timeline_span *s)
{
    json_t *args = json_pack("{s:o, s:o}", "name", bd_timeline_text(s->node->node_name), "op",
                             bd_timeline_text(s->label.op));
    char key[32];
    for (int i = 0; i < s->label.input_count; i++) {
        snprintf(key, sizeof key, "input%d", i);
        json_object_set_new(args, key, bd_timeline_text(s->label.inputs[i]));
    }
    if (!strcmp(s->label.op, "RecvTensor"))
        json_object_set_new(args, "transfer", bd_timeline_text(s->label.text));
    json_object_set_new(args, "output bytes", json_integer(bd_stats_output_bytes(s->node)));
    return args;
}

static void add_span(bd_timeline *t, const bd_timeline_span *s)
{
    json_array_append_new(t->events,
                          json_pack("{s:s, s:s, s:o, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "cat", "Op",
                                    "name", bd_timeline_text(s->label.op), "pid", s->pid, "tid", s->lane,
                                    "ts", bd_timeline_micros(t->first_ns, s->start_ns), "dur",
                                    bd_timeline_micros(s->start_ns, s->end_ns), "args", arguments(s)));
}

static void add_flow_end(bd_timeline *t, const char *phase, const bd_timeline_span *s, int64_t ns,
                         const char *name)
{
    json_array_append_new(t->events,
                          json_pack("{s:s, s:s, s:o, s:i, s:i, s:f, s:i}", "ph", phase, "cat", "DataFlow",
                                    "name", bd_timeline_text(name), "pid", s->pid, "tid", s->lane, "ts",
                                    bd_timeline_micros(t->first_ns, ns), "id", t->flows));
}

int bd_timeline_maker(const bd_timeline *t, const char *input)
{
    return (int)(uintptr_t)bd_map_get_n(&t->makers, input, strcspn(input, ":")) - 1;
}

// Adds arrows from the producers of the inputs of `s`.
static void add_flows(bd_timeline *t, const bd_timeline_span *s)
{
    for (int i = 0; i < s->label.input_count; i++) {
        const char *input = s->label.inputs[i];
        const int maker = bd_timeline_maker(t, input);
        if (maker < 0) continue;
        const bd_timeline_span *from = &t->spans.items[maker];
        add_flow_end(t, "s", from, from->end_ns, input);
        add_flow_end(t, "t", s, s->start_ns, input);
        t->flows++;
    }
}

static json_t *build(bd_timeline *t, const Tensorflow__StepStats *stats, const braid_timeline_options *o)
{
    t->events = json_array();
    for (size_t d = 0; d < stats->n_dev_stats; d++)
        add_device(t, stats->dev_stats[d], (int)(2 * d));
    t->first_ns = INT64_MAX;
    for (size_t i = 0; i < t->spans.len; i++) {
        if (t->spans.items[i].start_ns < t->first_ns) t->first_ns = t->spans.items[i].start_ns;
        bd_map_put(&t->makers, t->spans.items[i].node->node_name, (void *)(uintptr_t)(i + 1));
    }
    for (size_t i = 0; i < t->spans.len; i++) {
        add_span(t, &t->spans.items[i]);
        if (!o->hide_dataflow) add_flows(t, &t->spans.items[i]);
    }
    if (o->show_memory) bd_timeline_add_memory(t);
    return json_pack("{s:o}", "traceEvents", t->events);
}

char *braid_run_metadata_timeline(const braid_run_metadata *m, const braid_timeline_options *options,
                                  braid_status *status)
{
    static const braid_timeline_options defaults;
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    BD_PROTO_ARENA(arena);
    const Tensorflow__StepStats *stats = bd_run_metadata_stats(m, arena, st);
    if (!stats) return NULL;
    bd_timeline t = {0};
    json_t *trace = build(&t, stats, options ? options : &defaults);
    char *json = json_dumps(trace, JSON_INDENT(1)); // the caller's, by free(): as jansson has it
    if (!json) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "No memory for the timeline of %zu nodes", t.spans.len);
    json_decref(trace);
    for (size_t i = 0; i < t.spans.len; i++)
        bd_timeline_label_fini(&t.spans.items[i].label);
    bd_array_free(&t.spans);
    bd_map_fini(&t.makers);
    return json;
}

braid_code braid_run_metadata_timeline_write(const braid_run_metadata *m,
                                             const braid_timeline_options *options, const char *path,
                                             braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    char *json = braid_run_metadata_timeline(m, options, st);
    if (json) bd_file_write_atomic(bd_fs_current, path, json, strlen(json), st);
    free(json); // the caller's, by free(): we are the caller
    return st->code;
}
