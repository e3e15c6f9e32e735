// The table of ops: every definition parses and agrees with the published registry, with additions at most.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "graph/op_parse.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/op_def.pb-c.h"
#include <braid/op_list.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST BD_TEST_DATA_DIR "/ops.md"

static void every_op_parses(void **state)
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

// The list is TensorFlow 1.15's. Additions of TensorFlow 2 are allowed if each node that the list allows
// keeps its meaning: new attrs have a default, types and strings are supersets, and where a type was fixed an
// attr has it as its default.

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_type(const bd_op_def *ours, const bd_arg_def *a, const bd_arg_def *b)
{
    if (a->type == b->type && same_text(a->type_attr, b->type_attr)) return true;
    const bd_attr_def *attr = a->type_attr && !b->type_attr ? bd_op_def_attr(ours, a->type_attr) : NULL;
    return attr && attr->has_default && attr->default_value.type == b->type;
}

static void compare_args(const bd_op_def *ours, const bd_arg_def *a, int a_count, const bd_arg_def *b,
                         int b_count)
{
    if (a_count != b_count) differ(ours->name, "another number of arguments", "");
    for (int i = 0; i < a_count && i < b_count; i++) {
        bool same = same_text(a[i].name, b[i].name) && same_type(ours, &a[i], &b[i]) &&
                    same_text(a[i].number_attr, b[i].number_attr) &&
                    same_text(a[i].type_list_attr, b[i].type_list_attr) && a[i].is_ref == b[i].is_ref;
        if (!same) differ(ours->name, "argument", b[i].name);
    }
}

static bool allows_type(const bd_attr_def *a, const bd_attr_def *listed)
{
    return a->allowed_types == 0 ||
           (listed->allowed_types != 0 && (listed->allowed_types & ~a->allowed_types) == 0);
}

static bool allows_string(const bd_attr_def *a, const char *value)
{
    for (int i = 0; i < a->allowed_string_count; i++)
        if (strcmp(a->allowed_strings[i], value) == 0) return true;
    return !a->allowed_strings;
}

static bool fits_attr(const bd_attr_def *a, const bd_attr_def *listed)
{
    for (int i = 0; i < listed->allowed_string_count; i++)
        if (!allows_string(a, listed->allowed_strings[i])) return false;
    return a->kind == listed->kind && a->item_kind == listed->item_kind &&
           a->has_minimum == listed->has_minimum && a->minimum == listed->minimum && allows_type(a, listed) &&
           (listed->allowed_strings || !a->allowed_strings) && a->has_default == listed->has_default &&
           (!a->has_default || bd_attr_equal(&a->default_value, &listed->default_value));
}

static void compare(const bd_op_def *ours, const bd_op_def *listed, const char *flags)
{
    compare_args(ours, ours->inputs, ours->input_count, listed->inputs, listed->input_count);
    compare_args(ours, ours->outputs, ours->output_count, listed->outputs, listed->output_count);
    for (int i = 0; i < listed->attr_count; i++) {
        const bd_attr_def *attr = bd_op_def_attr(ours, listed->attrs[i].name);
        if (!attr || !fits_attr(attr, &listed->attrs[i])) differ(ours->name, "attr", listed->attrs[i].name);
    }
    for (int i = 0; i < ours->attr_count; i++) {
        if (!bd_op_def_attr(listed, ours->attrs[i].name) && !ours->attrs[i].has_default)
            differ(ours->name, "attr of ours only, without a default:", ours->attrs[i].name);
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

static void agrees_with_the_registry(void **state)
{
    (void)state;
    FILE *list = fopen(LIST, "r");
    assert_non_null(list);
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, list) > 0)
        compare_line(line);
    free(line);
    fclose(list);
    assert_int_equal(differences, 0);
}

static void every_definition_is_given_as_a_message(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    void *data = braid_op_def_list(&len, st);
    assert_ok(st);
    const Tensorflow__OpList *list = bd_proto_unpack(&tensorflow__op_list__descriptor, data, len, arena, st);
    assert_ok(st);
    assert_int_equal(list->n_op, bd_op_table_len);
    for (size_t i = 0; i < list->n_op; i++) {
        const bd_op_def *def = bd_op_lookup(list->op[i]->name);
        assert_int_equal(list->op[i]->n_input_arg, def->input_count);
        assert_int_equal(list->op[i]->n_output_arg, def->output_count);
        assert_int_equal(list->op[i]->n_attr, def->attr_count);
        for (int k = 0; k < def->attr_count; k++)
            assert_int_equal(list->op[i]->attr[k]->default_value != NULL, def->attrs[k].has_default);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_parses),
        cmocka_unit_test(agrees_with_the_registry),
        cmocka_unit_test(every_definition_is_given_as_a_message),
    };
    return BD_RUN_TESTS(tests);
}
