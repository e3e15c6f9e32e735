// The table of ops: every definition parses and says what the published registry says of the op.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "graph/op_parse.h"
#include <stdio.h>
#include <stdlib.h>

#define LIST BD_SHARED_DIR "/facts/ops.md"

static void test_every_op_parses(void **state)
{
    (void)state;
    assert_true(bd_op_table_len > 0);
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const bd_op_def *def = bd_op_lookup(bd_op_table[i].name);
        assert_non_null(def);
        assert_string_equal(def->name, bd_op_table[i].name);
        assert_ptr_equal(bd_op_lookup(bd_op_table[i].name), def); // parsed once
        if (i) assert_true(strcmp(bd_op_table[i - 1].name, bd_op_table[i].name) < 0);
    }
    assert_null(bd_op_lookup(""));
    assert_null(bd_op_lookup("NobodyKnows"));
}

// ---- Against the registry ----

static int differences;

static void differ(const char *op, const char *what, const char *name)
{
    print_message("%s: %s %s\n", op, what, name);
    differences++;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void compare_args(const char *op, const bd_arg_def *a, int a_count, const bd_arg_def *b, int b_count)
{
    if (a_count != b_count) differ(op, "another number of arguments", "");
    for (int i = 0; i < a_count && i < b_count; i++) {
        bool same = same_text(a[i].name, b[i].name) && a[i].type == b[i].type &&
                    same_text(a[i].type_attr, b[i].type_attr) &&
                    same_text(a[i].number_attr, b[i].number_attr) &&
                    same_text(a[i].type_list_attr, b[i].type_list_attr) && a[i].is_ref == b[i].is_ref;
        if (!same) differ(op, "argument", b[i].name);
    }
}

static bool same_strings(const bd_attr_def *a, const bd_attr_def *b)
{
    if (a->allowed_string_count != b->allowed_string_count) return false;
    for (int i = 0; i < a->allowed_string_count; i++) {
        if (strcmp(a->allowed_strings[i], b->allowed_strings[i]) != 0) return false;
    }
    return true;
}

static bool same_attr(const bd_attr_def *a, const bd_attr_def *b)
{
    return a->kind == b->kind && a->item_kind == b->item_kind && a->has_minimum == b->has_minimum &&
           a->minimum == b->minimum && a->allowed_types == b->allowed_types && same_strings(a, b) &&
           a->has_default == b->has_default &&
           (!a->has_default || bd_attr_equal(&a->default_value, &b->default_value));
}

// What TensorFlow 2 has added to ops of 1.15. A client of 1.15 does not set them, so each has a default.
static bool is_added(const bd_attr_def *attr)
{
    static const char *const names[] = {
        "auto_shard_policy",  "buffer_size_min", "cardinality_options", "external_state_policy",
        "force_synchronous",  "is_files",        "log_warning",         "metadata",
        "num_replicas",       "ram_budget",      "replicate_on_split",  "stop_on_empty_dataset",
        "use_default_device",
    };
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        if (strcmp(attr->name, names[i]) == 0) return attr->has_default;
    return attr->name[0] == '_';
}

static void compare(const bd_op_def *ours, const bd_op_def *listed, const char *flags)
{
    compare_args(ours->name, ours->inputs, ours->input_count, listed->inputs, listed->input_count);
    compare_args(ours->name, ours->outputs, ours->output_count, listed->outputs, listed->output_count);
    for (int i = 0; i < listed->attr_count; i++) {
        const bd_attr_def *attr = bd_op_def_attr(ours, listed->attrs[i].name);
        if (!attr || !same_attr(attr, &listed->attrs[i])) differ(ours->name, "attr", listed->attrs[i].name);
    }
    for (int i = 0; i < ours->attr_count; i++) {
        if (!bd_op_def_attr(listed, ours->attrs[i].name) && !is_added(&ours->attrs[i]))
            differ(ours->name, "attr of ours only", ours->attrs[i].name);
    }
    static const struct {
        const char *word;
        unsigned flag;
    } words[] = {{"stateful", BD_OP_STATEFUL},
                 {"commutative", BD_OP_COMMUTATIVE},
                 {"aggregate", BD_OP_AGGREGATE},
                 {"uninitialized-input", BD_OP_ALLOWS_UNINITIALIZED}};
    for (size_t i = 0; i < BD_COUNTOF(words); i++) {
        if ((strstr(flags, words[i].word) != NULL) != ((ours->op->flags & words[i].flag) != 0))
            differ(ours->name, "flag", words[i].word);
    }
}

// "- `Name(inputs) -> (outputs)` attrs: `...` [flags]"
static void compare_line(char *line)
{
    BD_STATUS(st);
    if (strncmp(line, "- `", 3) != 0) return;
    char *name = line + 3, *end = strchr(name, '`'), *paren = strchr(name, '(');
    assert_true(end && paren && paren < end);
    *end = 0;
    char *signature = bd_strdup(paren);
    *paren = 0;
    char *from = strstr(end + 1, "attrs: `"), *attrs = from ? from + strlen("attrs: `") : NULL;
    char *flags = attrs ? strrchr(attrs, '`') : end;
    *flags++ = 0;
    const bd_op_def *ours = bd_op_lookup(name);
    if (ours) {
        bd_op_def listed = {0};
        bd_arena arena = {0};
        bd_attr_tensors tensors = {0};
        bd_op_def_parse(&listed, name, signature, attrs, &arena, &tensors, st);
        assert_ok(st);
        compare(ours, &listed, flags);
        for (size_t i = 0; i < tensors.len; i++)
            braid_tensor_free(tensors.items[i]);
        bd_array_free(&tensors);
        bd_arena_fini(&arena);
    }
    bd_free(signature);
}

static void test_agrees_with_the_registry(void **state)
{
    (void)state;
    FILE *list = fopen(LIST, "r");
    if (!list) skip();
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, list) > 0)
        compare_line(line);
    free(line);
    fclose(list);
    assert_int_equal(differences, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_parses),
        cmocka_unit_test(test_agrees_with_the_registry),
    };
    return BD_RUN_TESTS(tests);
}
