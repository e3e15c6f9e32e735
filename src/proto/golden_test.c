// Recorded GraphDefs go through our messages unchanged.
#include "proto/pack.h"

#include "base/alloc.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = bd_malloc(*len);
    assert_int_equal(fread(data, 1, *len, f), *len);
    fclose(f);
    return data;
}

static void check_graph(const char *path)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    uint8_t *data = read_file(path, &len);
    Tensorflow__GraphDef *graph = bd_proto_unpack(&tensorflow__graph_def__descriptor, data, len, arena, st);
    if (!graph) fail_msg("%s: %s", path, st->message);
    assert_true(graph->n_node > 0);
    for (size_t i = 0; i < graph->n_node; i++) {
        assert_true(graph->node[i]->name[0] != '\0');
        assert_true(graph->node[i]->op[0] != '\0');
    }
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&graph->base, &m);
    assert_int_equal(m.bytes, len);
    uint8_t *again = bd_malloc(len);
    bd_message_gather(&m, again);
    assert_memory_equal(again, data, len);
    bd_message_fini(&m);
    bd_free(again);
    bd_free(data);
}

static glob_t files;

static void recorded_graphs_survive_a_round_trip(void **state)
{
    (void)state;
    assert_true(files.gl_pathc > 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_graph(files.gl_pathv[i]);
}

int main(void)
{
    glob(BD_TEST_DATA_DIR "/golden/*/*.pb", 0, NULL, &files);
    glob(BD_TEST_DATA_DIR "/golden/*/*/*.pb", files.gl_pathc ? GLOB_APPEND : 0, NULL, &files);
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_graphs_survive_a_round_trip)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    globfree(&files);
    return failed;
}
