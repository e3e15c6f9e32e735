// Every op signature of the published registry parses.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "graph/op_parse.h"
#include <stdio.h>
#include <stdlib.h>

#define LIST BD_TEST_DATA_DIR "/ops.md"

static FILE *list;

// "- `Name(inputs) -> (outputs)` attrs: `...` [flags]": cuts the line into its parts.
static bool split_line(char *line, char **name, char **signature, char **attrs)
{
    if (strncmp(line, "- `", 3) != 0) return false;
    *name = line + 3;
    char *end = strchr(*name, '`'), *paren = strchr(*name, '(');
    assert_true(end && paren && paren < end);
    *end = 0;
    *signature = bd_strdup(paren);
    *paren = 0;
    char *from = strstr(end + 1, "attrs: `");
    *attrs = from ? from + strlen("attrs: `") : NULL;
    if (from) *strrchr(*attrs, '`') = 0;
    return true;
}

static void each_published_signature_parses(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *line = NULL, *name, *signature, *attrs;
    size_t cap = 0;
    int count = 0;
    assert_non_null(list);
    while (getline(&line, &cap, list) > 0) {
        if (!split_line(line, &name, &signature, &attrs)) continue;
        bd_op_def def = {0};
        bd_arena arena = {0};
        bd_attr_tensors tensors = {0};
        bd_op_def_parse(&def, name, signature, attrs, &arena, &tensors, st);
        assert_ok(st);
        for (size_t i = 0; i < tensors.len; i++)
            braid_tensor_free(tensors.items[i]);
        bd_array_free(&tensors);
        bd_arena_fini(&arena);
        bd_free(signature);
        count++;
    }
    free(line);
    fclose(list);
    assert_true(count > 1200);
}

int main(void)
{
    list = fopen(LIST, "r");
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_published_signature_parses)};
    return BD_RUN_TESTS(tests);
}
