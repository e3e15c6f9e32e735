// The descriptors of services: files by name and by the symbols they declare.
#include "base/check.h"
#include "proto/descriptors.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

// FileDescriptorProto begins with its name.
static void assert_file(const bd_proto_file *file, const char *name)
{
    assert_true(file->len > strlen(name) + 2);
    assert_int_equal(file->data[0], 0x0a);
    assert_int_equal(file->data[1], strlen(name));
    assert_memory_equal(file->data + 2, name, strlen(name));
}

static void files_are_found_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"tensorflow/core/protobuf/master_service.proto",
                                        "tensorflow/core/framework/graph.proto", "google/protobuf/any.proto"};
    bd_proto_file file;
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        assert_true(bd_proto_file_find(names[i], &file));
        assert_file(&file, names[i]);
    }
    assert_false(bd_proto_file_find("", &file));
    assert_false(bd_proto_file_find("tensorflow/core/protobuf/master_service.prot", &file));
}

static void descriptors_are_found_by_declared_symbol(void **state)
{
    (void)state;
    static const struct {
        const char *symbol, *file; // NULL: none
    } cases[] = {
        {"tensorflow.MasterService", "tensorflow/core/protobuf/master_service.proto"},
        {"tensorflow.MasterService.RunStep", "tensorflow/core/protobuf/master_service.proto"},
        {"tensorflow.RunOptions.TraceLevel", "tensorflow/core/protobuf/config.proto"},
        {"tensorflow.AttrValue.ListValue", "tensorflow/core/framework/attr_value.proto"},
        {"tensorflow.error.Code", "tensorflow/core/lib/core/error_codes.proto"},
        {"tensorflow.MasterService.RunStep.x", NULL},
        {"tensorflow.MasterServic", NULL},
        {"tensorflow.AttrValue.", NULL},
        {"tensorflow.", NULL},
        {"tensorflow", NULL},
        {"", NULL},
        {".", NULL},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_proto_file file;
        assert_int_equal(bd_proto_file_declaring(cases[i].symbol, &file), cases[i].file != NULL);
        if (cases[i].file) assert_file(&file, cases[i].file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_by_name),
        cmocka_unit_test(descriptors_are_found_by_declared_symbol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
