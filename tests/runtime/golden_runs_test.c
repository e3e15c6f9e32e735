// Recorded programs of TensorFlow: each of their graphs is placed as a cluster would, and each of their runs
// pruned to just the ops that TensorFlow's own pruning touched, then cut into one graph a task.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "graph/device_name.h"
#include "graph/graph.h"
#include "runtime/client_graph.h"
#include "runtime/optimize.h"
#include "runtime/partition.h"
#include "runtime/placer.h"
#include "runtime/plan.h"
#include <glob.h>
#include <jansson.h>
#include <stdio.h>

enum {
    SESSIONS_MAX = 4,
    DEVICES_MAX = 16
};

// One recorded program.
typedef struct program {
    const char *path; // of its runs.json
    json_t *root;
    bd_device_info devices[DEVICES_MAX];
    int device_count;
    braid_graph *graphs[SESSIONS_MAX];
    bool soft[SESSIONS_MAX];
} program;

static int runs_checked;

// ---- Devices ----

static void add_device(program *p, const char *job, const char *task)
{
    assert_true(p->device_count < DEVICES_MAX);
    char *name = bd_asprintf("/job:%s/replica:0/task:%s/device:CPU:0", job, task);
    p->devices[p->device_count] =
        (bd_device_info){.name = name, .type = "CPU", .incarnation = 1 + (uint64_t)p->device_count};
    p->device_count++;
}

static void make_devices(program *p)
{
    json_t *event, *tasks, *address;
    size_t i;
    const char *job, *task;
    json_array_foreach(json_object_get(p->root, "events"), i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ev")), "server_new") != 0 || p->device_count)
            continue;
        json_object_foreach(json_object_get(event, "cluster"), job, tasks)
        {
            json_object_foreach(tasks, task, address) add_device(p, job, task);
        }
    }
    if (!p->device_count) add_device(p, "localhost", "0");
}

// ---- Graphs ----

static void *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    void *data = bd_malloc(*len + 1);
    assert_int_equal(fread(data, 1, *len, f), *len);
    fclose(f);
    return data;
}

static void extend(program *p, int session, const char *file)
{
    const char *slash = strrchr(p->path, '/');
    char *path = bd_asprintf("%.*s/%s", (int)(slash - p->path), p->path, file);
    size_t len;
    void *data = read_file(path, &len);
    braid_graph *g = p->graphs[session];
    int from = braid_graph_num_ops(g);
    BD_STATUS(st);
    if (braid_graph_import(g, data, len, st)) fail_msg("%s: %s", path, braid_status_message(st));
    const bd_placer_options options = {
        .devices = p->devices, .device_count = p->device_count, .allow_soft_placement = p->soft[session]};
    if (bd_place(g, from, &options, st)) fail_msg("%s: %s", path, braid_status_message(st));
    bd_free(data);
    bd_free(path);
}

// Each node is on a device with the requested fields, except those that soft placement drops.
static void check_placement(const program *p, int session)
{
    const braid_graph *g = p->graphs[session];
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        bd_device_name asked, given;
        BD_STATUS(st);
        bd_device_name_parse(n->device, &asked, st);
        bd_device_name_parse(n->assigned_device, &given, st);
        assert_ok(st);
        if (p->soft[session]) asked.has_type = asked.has_id = false;
        if (!bd_device_name_matches(&asked, &given))
            fail_msg("%s: '%s' asks for '%s' and is on '%s'", p->path, n->name, n->device,
                     n->assigned_device);
    }
}

// ---- Runs ----

static const char **names_of(json_t *list, int *count)
{
    const char **names = bd_calloc(json_array_size(list) + 1, sizeof *names);
    json_t *item;
    size_t i;
    json_array_foreach(list, i, item) names[i] =
        json_string_value(json_is_object(item) ? json_object_get(item, "name") : item);
    *count = (int)json_array_size(list);
    return names;
}

// Counts ops of the prepared graph, without the nodes of feeds and fetches, and compares.
static void check_ops(const program *p, const braid_graph *g, json_t *expected)
{
    json_t *found = json_object();
    for (size_t i = 0; i < g->nodes.len; i++) {
        const char *op = g->nodes.items[i]->op_type;
        if (strcmp(op, "_Recv") == 0 || strcmp(op, "_Send") == 0) continue;
        json_object_set_new(found, op, json_integer(json_integer_value(json_object_get(found, op)) + 1));
    }
    if (!json_equal(found, expected)) {
        char *a = json_dumps(found, JSON_SORT_KEYS), *b = json_dumps(expected, JSON_SORT_KEYS);
        fail_msg("%s:\n got %s\nwant %s", p->path, a, b);
    }
    json_decref(found);
}

// ---- Rewrites ----

static int nodes_built, nodes_rewritten;

static bool is_kept_by_rewrites(const braid_op *n)
{
    bd_op_role role = bd_node_role(n);
    return bd_node_is_stateful(n) || role == BD_ROLE_SEND || role == BD_ROLE_RECV || role == BD_ROLE_VARIABLE;
}

// A part can still be compiled when it has been rewritten, and everything that has an effect is still in it.
static void check_rewritten(const program *p, const char *location, braid_graph *part)
{
    bd_map kept = {0};
    for (size_t i = 0; i < part->nodes.len; i++) {
        const braid_op *n = part->nodes.items[i];
        if (is_kept_by_rewrites(n)) bd_map_put(&kept, n->name, part);
    }
    nodes_built += (int)part->nodes.len;
    BD_STATUS(st);
    bd_optimize(part, 0, st);
    assert_ok(st);
    nodes_rewritten += (int)part->nodes.len;
    for (size_t i = 0; i < part->nodes.len; i++)
        bd_map_remove(&kept, part->nodes.items[i]->name);
    if (bd_map_count(&kept)) fail_msg("%s: %d nodes are gone", p->path, (int)bd_map_count(&kept));
    bd_map_fini(&kept);
    bd_device *device = bd_device_new(location, "CPU", 0, NULL);
    bd_plan *plan;
    if (bd_plan_compile(part, device, NULL, &plan, st)) fail_msg("%s: %s", p->path, braid_status_message(st));
    bd_plan_unref(plan);
    bd_device_free(device);
}

static void check_parts(const program *p, const braid_graph *g)
{
    const bd_partition_options options = {.devices = p->devices, .device_count = p->device_count};
    bd_partitions parts;
    BD_STATUS(st);
    if (bd_partition_graph(g, &options, &parts, st) == BRAID_NOT_FOUND) {
        print_message("not cut: %s\n", braid_status_message(st)); // an op that is not there yet
        return;
    }
    assert_ok(st);
    int sends = 0, recvs = 0;
    for (int i = 0; i < parts.count; i++) {
        const braid_graph *part = &parts.items[i].graph;
        for (size_t k = 0; k < part->nodes.len; k++) {
            const braid_op *n = part->nodes.items[k];
            assert_true(
                strncmp(n->assigned_device, parts.items[i].location, strlen(parts.items[i].location)) == 0);
            for (int e = 0; e < n->input_count; e++)
                assert_ptr_equal(n->inputs[e].op->graph, part);
            bool crosses = (bd_node_role(n) == BD_ROLE_SEND || bd_node_role(n) == BD_ROLE_RECV) &&
                           !bd_node_attr_bool(n, "client_terminated");
            if (crosses && bd_node_role(n) == BD_ROLE_SEND) sends++;
            if (crosses && bd_node_role(n) == BD_ROLE_RECV) recvs++;
        }
    }
    assert_int_equal(sends, recvs);
    for (int i = 0; i < parts.count; i++)
        check_rewritten(p, parts.items[i].location, &parts.items[i].graph);
    bd_partitions_fini(&parts);
}

static void check_run(const program *p, int session, json_t *sig)
{
    bd_run_signature s = {0};
    s.feeds = names_of(json_object_get(sig, "feeds"), &s.feed_count);
    s.fetches = names_of(json_object_get(sig, "fetches"), &s.fetch_count);
    s.targets = names_of(json_object_get(sig, "targets"), &s.target_count);
    bd_client_graph prepared;
    BD_STATUS(st);
    if (bd_client_graph_build(p->graphs[session], &s, BD_FEED_BY_RENDEZVOUS, &p->devices[0], &prepared, st))
        fail_msg("%s: %s", p->path, braid_status_message(st));
    check_ops(p, &prepared.graph, json_object_get(sig, "ops"));
    check_parts(p, &prepared.graph);
    bd_client_graph_fini(&prepared);
    bd_free((void *)s.feeds);
    bd_free((void *)s.fetches);
    bd_free((void *)s.targets);
    runs_checked++;
}

// ---- Programs ----

static void replay_event(program *p, json_t *event)
{
    const char *what = json_string_value(json_object_get(event, "ev"));
    int session = (int)json_integer_value(json_object_get(event, "sess"));
    assert_true(session < SESSIONS_MAX);
    if (strcmp(what, "new_session") == 0) {
        if (!p->graphs[session]) p->graphs[session] = braid_graph_new();
        const char *config = json_string_value(json_object_get(event, "config"));
        p->soft[session] = config && strstr(config, "allow_soft_placement: true");
    } else if (strcmp(what, "extend") == 0) {
        extend(p, session, json_string_value(json_object_get(event, "file")));
        check_placement(p, session);
    } else if (strcmp(what, "run") == 0) {
        json_t *sig = json_array_get(json_object_get(p->root, "signatures"),
                                     (size_t)json_integer_value(json_object_get(event, "sig")));
        check_run(p, session, sig);
    }
}

static void check_program(const char *path)
{
    program p = {.path = path};
    json_error_t error;
    p.root = json_load_file(path, 0, &error);
    if (!p.root) fail_msg("%s: %s", path, error.text);
    make_devices(&p);
    json_t *event;
    size_t i;
    json_array_foreach(json_object_get(p.root, "events"), i, event) replay_event(&p, event);
    for (int k = 0; k < SESSIONS_MAX; k++)
        braid_graph_free(p.graphs[k]);
    for (int k = 0; k < p.device_count; k++)
        bd_free((char *)p.devices[k].name);
    json_decref(p.root);
}

static void recorded_programs_are_placed_pruned_and_cut(void **state)
{
    (void)state;
    static const char *const patterns[] = {BD_TEST_DATA_DIR "/golden/*/runs.json",
                                           BD_TEST_DATA_DIR "/golden/*/*/runs.json"};
    for (size_t i = 0; i < BD_COUNTOF(patterns); i++) {
        glob_t files;
        if (glob(patterns[i], 0, NULL, &files) == 0) {
            for (size_t k = 0; k < files.gl_pathc; k++)
                check_program(files.gl_pathv[k]);
        }
        globfree(&files);
    }
    assert_true(runs_checked > 50);
    print_message("rewrites leave %d of %d nodes\n", nodes_rewritten, nodes_built);
    assert_true(nodes_rewritten < nodes_built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_programs_are_placed_pruned_and_cut)};
    return BD_RUN_TESTS(tests);
}
