// Records the cases that tests have run of each op.
#include "ops/testing/op_rows.h"

#include "base/alloc.h"
#include "base/thread.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *notes; // NULL: not asked for; closed when the program ends

static void open_notes(void *arg)
{
    (void)arg;
    const char *dir = getenv("BRAID_OP_ROWS");
    if (!dir) return;
    char *path = bd_asprintf("%s/%s", dir, program_invocation_short_name);
    notes = fopen(path, "w");
    if (!notes) perror(path);
    bd_free(path);
}

// One write a line: tests have threads.
static void note(const op_row *row, const char *op, char outcome, const char *outputs)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, open_notes, NULL);
    if (notes) fprintf(notes, "%s %c %s; %s\n", op, outcome, row->inputs, outputs);
}

static char letter_of_shape(const braid_shape *shape)
{
    if (shape->rank == 0) return 's';
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0) return 'e';
    }
    return 'n';
}

static bool has_own_shape(braid_dtype type)
{
    return type != BRAID_RESOURCE && type != BRAID_VARIANT;
}

static char letter_of_value(const bd_value *v)
{
    braid_tensor content = {0};
    if (v->ref) {
        bd_variable_read(v->ref, &content);
    } else if (bd_tensor_is_set(&v->tensor)) {
        bd_tensor_ref(&content, &v->tensor);
    }
    char letter =
        bd_tensor_is_set(&content) && has_own_shape(content.dtype) ? letter_of_shape(&content.shape) : '-';
    bd_tensor_fini(&content);
    return letter;
}

static void letters_of_values(const bd_value *values, int count, char letters[2 * OP_TEXT_MAX + 1])
{
    int n = count < 2 * OP_TEXT_MAX ? count : 2 * OP_TEXT_MAX;
    for (int i = 0; i < n; i++)
        letters[i] = letter_of_value(&values[i]);
    letters[n] = 0;
}

op_row op_row_of_values(const bd_value *inputs, int count)
{
    op_row row;
    letters_of_values(inputs, count, row.inputs);
    return row;
}

op_row op_row_of_texts(const op_text *inputs, int count)
{
    op_row row = {{0}};
    for (int i = 0; i < count; i++)
        row.inputs[i] =
            inputs[i].is_var || !has_own_shape(inputs[i].dtype) ? '-' : letter_of_shape(&inputs[i].shape);
    return row;
}

void op_row_note_outputs(const op_row *row, const char *op, const bd_value *outputs, int count)
{
    char letters[2 * OP_TEXT_MAX + 1];
    letters_of_values(outputs, count, letters);
    note(row, op, 'V', letters);
}

void op_row_note_error(const op_row *row, const char *op)
{
    note(row, op, 'E', "");
}

void op_row_note_shapes(const op_row *row, const char *op)
{
    note(row, op, 'S', "");
}

// ---- In sessions ----

static char letter_of_inferred(braid_dtype type, const braid_shape *shape)
{
    if (!has_own_shape(bd_dtype_base(type)) || shape->rank < 0) return '-';
    return letter_of_shape(shape);
}

op_row op_row_of_node(const braid_op *node)
{
    op_row row = {{0}};
    for (int i = 0; i < node->input_count && i < 2 * OP_TEXT_MAX; i++) {
        const braid_out from = node->inputs[i];
        row.inputs[i] = letter_of_inferred(node->input_types[i], &from.op->output_shapes[from.index]);
    }
    return row;
}

static void note_node(const braid_op *node)
{
    const op_row row = op_row_of_node(node);
    char letters[2 * OP_TEXT_MAX + 1] = {0};
    for (int i = 0; i < node->output_count && i < 2 * OP_TEXT_MAX; i++)
        letters[i] = letter_of_inferred(node->output_types[i], &node->output_shapes[i]);
    note(&row, node->op_type, 'V', letters);
}

static void note_with_inputs(const braid_op *node, bool *seen)
{
    if (seen[node->id]) return;
    seen[node->id] = true;
    note_node(node);
    for (int i = 0; i < node->input_count; i++)
        note_with_inputs(node->inputs[i].op, seen);
    for (int i = 0; i < node->control_count; i++)
        note_with_inputs(node->controls[i], seen);
}

void op_row_note_ran(const braid_op *node)
{
    bool *seen = bd_calloc(node->graph->nodes.len, sizeof *seen);
    note_with_inputs(node, seen);
    bd_free(seen);
}

void op_row_note_failed(const braid_graph *g, const char *message, const char *otherwise)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *node = g->nodes.items[i];
        char *named = bd_asprintf("{{node %s}}", node->name);
        const bool is_it = strstr(message, named) || (otherwise && strcmp(node->name, otherwise) == 0);
        bd_free(named);
        if (!is_it) continue;
        const op_row row = op_row_of_node(node);
        op_row_note_error(&row, node->op_type);
    }
}
