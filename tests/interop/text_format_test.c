// The text format beside protobuf's own (Debian's python3-protobuf), both ways: random messages of every
// type, recorded graphs.
// timeout: 120
#include "base/alloc.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "io/file.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/example/example.pb-c.h"
#include "tensorflow/core/framework/summary.pb-c.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include "tensorflow/core/protobuf/meta_graph.pb-c.h"
#include "tensorflow/core/protobuf/saved_model.pb-c.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb-c.h"
#include "tensorflow/core/protobuf/tensorflow_server.pb-c.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include "tensorflow/core/util/event.pb-c.h"
#include "tensorflow/python/training/checkpoint_state.pb-c.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static const ProtobufCMessageDescriptor *const types[] = {
    &tensorflow__attr_value__descriptor,
    &tensorflow__bundle_entry_proto__descriptor,
    &tensorflow__bundle_header_proto__descriptor,
    &tensorflow__checkpoint_state__descriptor,
    &tensorflow__cluster_def__descriptor,
    &tensorflow__config_proto__descriptor,
    &tensorflow__create_session_request__descriptor,
    &tensorflow__device_attributes__descriptor,
    &tensorflow__event__descriptor,
    &tensorflow__example__descriptor,
    &tensorflow__graph_def__descriptor,
    &tensorflow__job_def__descriptor,
    &tensorflow__meta_graph_def__descriptor,
    &tensorflow__node_def__descriptor,
    &tensorflow__op_list__descriptor,
    &tensorflow__recv_tensor_response__descriptor,
    &tensorflow__register_graph_request__descriptor,
    &tensorflow__run_graph_request__descriptor,
    &tensorflow__run_step_request__descriptor,
    &tensorflow__saved_model__descriptor,
    &tensorflow__sequence_example__descriptor,
    &tensorflow__server_def__descriptor,
    &tensorflow__step_stats__descriptor,
    &tensorflow__summary__descriptor,
    &tensorflow__tensor_proto__descriptor,
};

#define FILE_MAX ((size_t)1 << 30)

// Runs the other side; its exit code.
static int run_peer(const char *arguments)
{
    char *command =
        bd_asprintf("/usr/bin/python3 '%s/tests/interop/text_format_peer.py' %s", BD_SOURCE_DIR, arguments);
    int status = system(command);
    bd_free(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *read_file(const char *dir, int number, const char *suffix, size_t *len)
{
    BD_STATUS(st);
    char *path = bd_asprintf("%s/%d%s", dir, number, suffix), *data;
    if (bd_file_read_all(bd_fs_current, path, FILE_MAX, &data, len, st)) fail_msg("%s", st->message);
    bd_free(path);
    return data;
}

static void write_file(const char *dir, int number, const char *suffix, const void *data, size_t len)
{
    char *path = bd_asprintf("%s/%d%s", dir, number, suffix);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    bd_free(path);
}

static const ProtobufCMessageDescriptor *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i]->short_name, name)) return types[i];
    fail_msg("no type %s", name);
    return NULL;
}

static void print_case(const char *dir, int number, const ProtobufCMessageDescriptor *type)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    char *data = read_file(dir, number, ".bin", &len);
    const ProtobufCMessage *m = bd_proto_unpack(type, data, len, arena, st);
    if (!m) fail_msg("%d: %s", number, st->message);
    char *text = bd_text_format_print(m);
    write_file(dir, number, ".out.txt", text, strlen(text));
    bd_free(text);
    bd_free(data);
}

static void parse_case(const char *dir, int number, const ProtobufCMessageDescriptor *type)
{
    BD_STATUS(st);
    size_t len;
    char *text = read_file(dir, number, ".txt", &len);
    bd_message m; // not packed by protobuf-c, which drops a -0
    bd_message_init(&m);
    if (bd_text_format_to_wire(type, text, len, &m, st)) fail_msg("%d: %s", number, st->message);
    uint8_t *bytes = bd_malloc(m.bytes);
    bd_message_gather(&m, bytes);
    write_file(dir, number, ".out.bin", bytes, m.bytes);
    bd_free(bytes);
    bd_message_fini(&m);
    bd_free(text);
}

static int answer_all(const char *dir)
{
    int number = 0;
    for (;; number++) {
        char *path = bd_asprintf("%s/%d.type", dir, number);
        bool there = bd_file_exists(bd_fs_current, path);
        bd_free(path);
        if (!there) return number;
        size_t len;
        char *name = read_file(dir, number, ".type", &len);
        const ProtobufCMessageDescriptor *type = find_type(name);
        print_case(dir, number, type);
        parse_case(dir, number, type);
        bd_free(name);
    }
}

static char dir[] = "/tmp/braid-text-format-XXXXXX";

static void agrees_with_protobuf(void **state)
{
    (void)state;
    assert_true(answer_all(dir) >= (int)(sizeof types / sizeof *types));
    char *arguments = bd_asprintf("check %s", dir);
    assert_int_equal(run_peer(arguments), 0);
    bd_free(arguments);
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
    const char *given = getenv("BRAID_TEST_SEED"); // to repeat a run
    uint64_t seed;
    bd_random_bytes(&seed, sizeof seed);
    char *arguments =
        given ? bd_asprintf("make %s '%s/golden' %s", dir, BD_TEST_DATA_DIR, given)
              : bd_asprintf("make %s '%s/golden' %llu", dir, BD_TEST_DATA_DIR, (unsigned long long)seed);
    int status = run_peer(arguments); // 77 where it is not installed
    bd_free(arguments);
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_protobuf)};
    if (status == 0) status = cmocka_run_group_tests(tests, NULL, NULL);
    char *remove = bd_asprintf("rm -r %s", dir);
    if (system(remove)) status = 1;
    bd_free(remove);
    return status;
}
